import GQLRunPipeline

/// The line about a download that takes longer than a second.
struct DownloadProgress {
  private var start: (bytes: Int, time: Duration)?

  /// The line to show.
  ///
  /// - Parameters:
  ///   - received: The number of bytes received so far.
  ///   - now: The time, from any origin.
  /// - Returns: The bytes and their rate; `nil` within the first second after the first bytes.
  mutating func line(received: Int, now: Duration) -> String? {
    guard received > 0 else { return nil }
    guard let start else {
      start = (received, now)
      return nil
    }
    let time = now - start.time
    guard time >= .seconds(1) else { return nil }
    let rate = Format.rate(bytes: received - start.bytes, seconds: time.seconds)
    return "received \(Format.size(received)), \(rate)"
  }

  /// Shows the progress on standard error until the task is cancelled.
  ///
  /// - Parameter received: Returns the number of bytes received so far.
  static func show(
    clock: ServiceClock = ServiceClock(ContinuousClock()), _ received: @Sendable () -> Int
  ) async {
    var progress = DownloadProgress()
    while !Task.isCancelled {
      if let line = progress.line(received: received(), now: clock.now()) {
        Terminal.showStatus(line)
      }
      try? await clock.sleep(for: .milliseconds(250))
    }
    Terminal.showStatus(nil)
  }
}
