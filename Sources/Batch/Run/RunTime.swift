import GQLRunPipeline

/// The time of a run, in seconds since 1970: the time of day at its start, advanced by a monotonic
/// clock. Later events of a run, or of a later run with the same journal, have later times.
struct RunTime: Sendable {
  private let clock: ServiceClock
  private let beginning: Double
  private let start: Duration

  /// Creates the time of a run that starts now.
  ///
  /// - Parameter earlier: The latest time in the journal; the time of day may have been set back
  ///   since.
  init(_ services: Services, after earlier: Double) {
    clock = services.clock
    beginning = max(services.secondsSince1970(), earlier)
    start = clock.now()
  }

  func now() -> Double { beginning + (clock.now() - start).seconds }
}
