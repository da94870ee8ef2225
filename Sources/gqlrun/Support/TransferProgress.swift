import GQLRunPipeline
import GQLRunPlugins

/// The line about a transfer that takes longer than a second.
struct TransferProgress {
  /// The number of bytes of files to send.
  private let uploaded: Int
  private var start: (received: Int, sent: Int, time: Duration)?

  /// - Parameter count: The number of bytes of files to send.
  init(uploading count: Int = 0) { uploaded = count }

  /// The line to show.
  ///
  /// - Parameters:
  ///   - received: The number of bytes received so far.
  ///   - sent: The number of bytes sent so far.
  ///   - now: The time, from any origin.
  /// - Returns: The bytes and their rate; `nil` within the first second after the first bytes. Of an
  ///   upload, what was sent until all of it was.
  mutating func line(received: Int, sent: Int = 0, now: Duration) -> String? {
    guard received > 0 || uploaded > 0 && sent > 0 else { return nil }
    guard let start else {
      start = (received, sent, now)
      return nil
    }
    let time = now - start.time
    guard time >= .seconds(1) else { return nil }
    if sent < uploaded {
      let rate = Format.rate(bytes: sent - start.sent, seconds: time.seconds)
      return "sent \(Format.size(sent)) of \(Format.size(uploaded)), \(rate)"
    }
    let rate = Format.rate(bytes: received - start.received, seconds: time.seconds)
    return "received \(Format.size(received)), \(rate)"
  }

  /// Shows the progress on standard error until the task is cancelled.
  ///
  /// - Parameters:
  ///   - count: The number of bytes of files to send.
  ///   - meter: Counts the bytes.
  static func show(
    clock: ServiceClock = ServiceClock(ContinuousClock()), uploading count: Int = 0,
    _ meter: ConnectionMeter
  ) async {
    var progress = TransferProgress(uploading: count)
    while !Task.isCancelled {
      if let line = progress.line(
        received: meter.receivedBytes, sent: meter.sentBytes, now: clock.now())
      {
        Terminal.showStatus(line)
      }
      try? await clock.sleep(for: .milliseconds(250))
    }
    Terminal.showStatus(nil)
  }
}
