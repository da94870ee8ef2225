/// The options of one run of a manifest.
public struct RunOptions: Sendable {
  /// Whether to resume the newest journal; if there is none, a new run starts.
  public var resumes = false
  /// Whether to run only tasks that failed in the newest journal.
  public var onlyFailed = false
  /// The shard to run; `nil`, the default, runs all tasks.
  public var shard: Shard?
  /// Whether to replace snapshots that differ from the data, instead of failing the task.
  public var updatesSnapshots = false
  /// Whether to validate all rows before the first request, however long that takes.
  public var checksAllRows = false
  /// Whether to overwrite files that are not earlier outputs of the manifest, and to write into
  /// tables that no batch created.
  public var overwrites = false

  /// The default options: a new run of all tasks.
  public init() {}
}

/// The result of a run.
public struct RunSummary: Sendable {
  /// The counters of this run.
  public var counters: RunCounters
  /// The tasks of the journal by state, including earlier parts of a resumed run.
  public var counts: TaskCounts
  /// Why the run stopped early; `nil` if all tasks finished.
  public var stop: StopReason?
  /// The error of the server or the network that stopped the run.
  public var stopDetail: String?
  /// The outage that stopped the run; `nil` if it stopped for another reason.
  public var outage: Outage?
  /// The reasons of the tasks that failed in this run; `nil` if none failed.
  public var failures: FailureReasons?
  /// The duration of the run, in seconds.
  public var seconds: Double
  /// The path of the journal.
  public var journal: String
  /// The thresholds that were not met, with the measured values; empty for a run that stopped
  /// early.
  public var missedThresholds: [String]
  /// Warnings, such as columns of a sink that no record had.
  public var warnings: [String] = []
  /// The outputs with their records, if the run stopped early; empty for a run that has ended.
  public var outputs: [RunOutput] = []
  /// Time spent writing the journal, in seconds.
  public var journalSeconds: Double
  /// Time spent writing the sinks, in seconds.
  public var sinkSeconds: Double

  /// The tasks that ended in earlier parts of the run, by state.
  public var earlier: TaskCounts {
    var earlier = counts
    let own: [(TaskState, Int)] = [
      (.done, counters.done), (.failed, counters.failed), (.unknown, counters.unknown),
      (.skipped, counters.skipped),
    ]
    for (state, count) in own { earlier.byState[state] = max(counts[state] - count, 0) }
    return earlier
  }
  /// Whether `--resume` can continue the run: it stopped early.
  public var isResumable: Bool { stop != nil }
  /// Whether a task failed, was skipped or ended in an unknown state, or a threshold was not met.
  public var hasFailures: Bool {
    counts[.failed] + counts[.unknown] + counts[.skipped] > 0 || !missedThresholds.isEmpty
  }
}
