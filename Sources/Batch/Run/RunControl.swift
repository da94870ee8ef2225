/// Stops a run and reports its progress.
public actor RunControl {
  private var runStop: RunStop?
  private var feed: (any TaskSupply)?
  private var governor: Governor?
  private var isStopped = false

  /// Creates a control for one run.
  public init() {}

  func begin(_ stop: RunStop, _ feed: any TaskSupply, _ governor: Governor) async {
    runStop = stop
    self.feed = feed
    self.governor = governor
    if isStopped { stop.stop(.interrupted) }
  }

  /// Starts no further tasks; returns at once, and the run ends after the tasks in flight.
  public func stop() async {
    isStopped = true
    runStop?.stop(.interrupted)
  }

  /// The progress of the run; `nil` before the first task.
  public func standing() async -> RunStanding? {
    guard let feed, let governor else { return nil }
    return RunStanding(
      counters: feed.counters, inFlight: governor.inFlight,
      limit: governor.currentLimit, budget: governor.budgetLeft, outage: governor.outage)
  }
}

/// The progress of a run at one moment.
public struct RunStanding: Sendable {
  /// The counters of the run.
  public var counters: RunCounters
  /// The number of requests in flight.
  public var inFlight: Int
  /// The current concurrency limit.
  public var limit: Int
  /// The server's remaining and total budget; `nil` if the server does not report it.
  public var budget: (left: Double, all: Double?)?
  /// Why the run waits for the server; `nil` if the server responds.
  public var outage: Outage?

  /// Creates a progress value.
  ///
  /// - Parameters:
  ///   - counters: The counters of the run.
  ///   - inFlight: The number of requests in flight.
  ///   - limit: The current concurrency limit.
  ///   - budget: The server's remaining and total budget; `nil` if unknown.
  ///   - outage: Why the run waits for the server; `nil` if the server responds.
  public init(
    counters: RunCounters, inFlight: Int, limit: Int, budget: (left: Double, all: Double?)? = nil,
    outage: Outage? = nil
  ) {
    self.counters = counters
    self.inFlight = inFlight
    self.limit = limit
    self.budget = budget
    self.outage = outage
  }
}
