/// Why a run ends before all tasks have.
public enum StopReason: Sendable, Equatable {
  case interrupted
  case deadline
  case tooManyFailures
  case throttled
  case unreachable
  case unauthorized
}

/// How a run stands.
public struct RunCounters: Sendable {
  /// How many tasks there are, when that is known.
  public var total: Int?
  public var started = 0
  public var done = 0
  public var failed = 0
  public var unknown = 0
  public var skipped = 0
  /// Ended in an earlier part of the run.
  public var alreadyDone = 0
  public var failedBefore = 0
  /// Rows that ask for the same as an earlier one.
  public var duplicates = 0
  public var bytes = 0
  public var records = 0
  public var ended: Int { done + failed + unknown + skipped }

  mutating func note(_ state: TaskState, bytes: Int, records: Int, milliseconds: Double) {
    switch state {
    case .done: done += 1
    case .failed: failed += 1
    case .unknown: unknown += 1
    case .skipped: skipped += 1
    case .queued, .running: break
    }
    self.bytes += bytes
    self.records += records
  }
}
