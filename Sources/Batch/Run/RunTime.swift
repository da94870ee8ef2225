import GQLRunPipeline

/// The time of a run, in seconds since 1970: the time of day at its beginning, and from there the clock
/// that nobody sets. What happens later in a run, or in a later run of the same journal, has a later time.
struct RunTime: Sendable {
  private let clock: ServiceClock
  private let beginning: Double
  private let start: Duration

  /// - Parameter earlier: A time in an earlier run of the same journal; the time of day may have been
  ///   set back since.
  init(_ services: Services, after earlier: Double) {
    clock = services.clock
    beginning = max(services.secondsSince1970(), earlier)
    start = clock.now()
  }

  func now() -> Double { beginning + (clock.now() - start).seconds }
}
