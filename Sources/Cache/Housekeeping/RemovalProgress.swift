import GQLRunSupport

/// How far a removal of records has come, for a task that shows it while another one waits for the removal.
public final class RemovalProgress: Sendable {
  private struct State {
    var readRecords = 0
    var removed = RemovalSummary()
    var isCancelled = false
  }

  private let state = Locked(State())

  /// Creates the progress of a removal that has not begun.
  public init() {}

  /// The number of records and segments that were read; those that are read twice count twice.
  public var readRecords: Int { state.withLock { $0.readRecords } }

  /// What was removed for good, without the changed fields. After an error or a cancellation, this remains removed.
  public var removed: RemovalSummary { state.withLock { $0.removed } }

  /// Makes the removal end before its next change.
  func cancel() { state.withLock { $0.isCancelled = true } }

  /// - Throws: `CancellationError` after ``cancel()``.
  fileprivate func noteRead(_ count: Int) throws {
    let isCancelled = state.withLock { state in
      state.readRecords += count
      return state.isCancelled
    }
    if isCancelled { throw CancellationError() }
  }

  /// Counts what a transaction has removed, after its commit.
  func noteRemoved(_ step: RemovalSummary) {
    var counts = step
    counts.changes = []
    state.withLock { $0.removed.add(counts) }
  }
}

/// Counts what housekeeping reads and removes, in the transactions of one task.
final class RemovalLog {
  private let progress: RemovalProgress
  private let collection: ChangeCollection
  /// What was removed by transactions that were committed.
  private(set) var summary = RemovalSummary()
  /// What the current transaction has removed.
  private(set) var step = RemovalSummary()
  private var readRecords = 0

  /// The number of records that are read between two reports.
  private static let reported = 1000

  /// - Parameter collection: Whether the removed fields are collected.
  init(_ collection: ChangeCollection, _ progress: RemovalProgress) {
    self.collection = collection
    self.progress = progress
  }

  /// Counts a record that was read.
  ///
  /// - Throws: `CancellationError` if the task was cancelled.
  func noteRead() throws {
    readRecords += 1
    guard readRecords == Self.reported else { return }
    readRecords = 0
    try progress.noteRead(Self.reported)
  }

  /// Adds a removed record or segment.
  func noteRemoved(_ key: Bytes, _ text: Bytes) {
    step.bytes += key.count + text.count
    if Segments.isSegment(key: key) {
      step.segments += 1
      return
    }
    if !ErrorRecord.isErrors(key: key) { step.records += 1 }
    if collection != .none { step.changes.insert(fieldsOf: text, key: key) }
  }

  /// Adds the removed fields of a record.
  func noteRemoved(_ fields: [[UInt8]], of key: Bytes, bytes: Int) {
    step.bytes += bytes
    if !ErrorRecord.isErrors(key: key) { step.changedRecords += 1 }
    if collection != .none { step.changes.insert(fields, of: key) }
  }

  /// Ends a transaction, after its commit.
  ///
  /// - Returns: What it has removed.
  func endStep() -> RemovalSummary {
    let ended = step
    step = RemovalSummary()
    progress.noteRemoved(ended)
    summary.add(ended)
    return ended
  }
}
