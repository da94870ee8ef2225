import Foundation
import GQLRunJSON
import GQLRunSupport
import GRDB

/// A user's decision about tasks that a run left failed or in an unknown state.
///
/// A task that is recorded as done counts as done from then on and has no output: no record, no captured value, no
/// bookmark. A task that is queued again keeps its attempts and its pages. The journal notes in the task's error who
/// decided, when, and what the error was before. Tasks that were skipped because they need the operation of a resolved
/// task are queued again.
public struct TaskResolution: Sendable {
  /// What becomes of the tasks.
  public enum Decision: Sendable {
    /// They count as done, because the server executed them.
    case done
    /// They are run again.
    case retry
  }

  /// The state of the tasks: ``TaskState/unknown`` or ``TaskState/failed``.
  public var state: TaskState
  /// What becomes of the tasks.
  public var decision: Decision
  /// The keys of the tasks; empty for all tasks in the state. A task of an operation without rows has the operation's id
  /// as its key.
  public var keys: [String]
  /// The id of the operation of the tasks; `nil` for all operations.
  public var operation: String?
  /// Who decides, for the journal, such as `ada@build7`.
  public var user: String
  /// The time of the decision, in seconds since 1970.
  public var time: Double

  /// Creates a decision.
  ///
  /// - Parameters:
  ///   - decision: What becomes of the tasks.
  ///   - state: The state of the tasks: unknown or failed.
  ///   - keys: The keys of the tasks; empty for all tasks in the state.
  ///   - operation: The id of the operation of the tasks; `nil` for all operations.
  ///   - user: Who decides, for the journal; `nil`, the default, is the user of this process.
  ///   - time: The time of the decision, in seconds since 1970; `nil`, the default, is now.
  public init(
    _ decision: Decision, of state: TaskState, keys: [String] = [], operation: String? = nil,
    user: String? = nil, time: Double? = nil
  ) {
    self.state = state
    self.decision = decision
    self.keys = keys
    self.operation = operation
    let process = ProcessInfo.processInfo
    self.user = user ?? "\(process.userName)@\(process.hostName)"
    self.time = time ?? Date().timeIntervalSince1970
  }

  /// What a decision changed.
  public struct Resolved: Sendable, Equatable {
    /// The number of tasks that were recorded as done or queued again.
    public var count = 0
    /// The number of tasks that were skipped and are queued again.
    public var released = 0
    /// The number of failed tasks that cannot be queued again, because their rows do not fit.
    public var unfit = 0
  }

  /// Applies the decision to a run of a manifest: all of it, or nothing.
  ///
  /// - Parameters:
  ///   - manifest: The manifest of the run.
  ///   - path: The journal; `nil` for the newest one. Ignored if the journal is a queue.
  /// - Throws: ``JournalError`` if a key names no task in the state or tasks of several operations, if there is no run, or
  ///   if another process uses the journal.
  public func apply(to manifest: Manifest, journal path: String? = nil) throws -> Resolved {
    if let operation, !manifest.operations.contains(where: { $0.id == operation }) {
      let ids = manifest.operations.map(\.id)
      let meant = suggestion(for: operation, in: ids).map { "did you mean `\($0)`?" }
      throw JournalError(
        "\(manifest.file) has no operation `\(operation)`; "
          + (meant ?? "there are \(ids.prefix(12).joined(separator: ", "))"))
    }
    guard manifest.queueURL == nil else { return try BatchQueue(manifest).apply(self) }
    let journal = try Journal(path: RunInspection.journal(of: manifest, path))
    try journal.require(manifest)
    return try journal.apply(self, manifest)
  }

  /// The beginning of the error of a resolved task, before its former error.
  var note: String {
    let at = Date(timeIntervalSince1970: time).formatted(.iso8601)
    return
      "\(decision == .done ? "recorded as done" : "queued again") by \(user) at \(at); before: "
  }

  /// A task with one of the keys.
  typealias Keyed = (operation: String, key: String, state: String)

  /// Throws if a key names no task in the state, or tasks of several operations.
  func check(_ matches: [Keyed], _ manifest: Manifest) throws {
    let byKey = Dictionary(grouping: matches) { $0.key.isEmpty ? $0.operation : $0.key }
    let problems = keys.compactMap { problem($0, found: byKey[$0] ?? [], manifest: manifest) }
    guard !problems.isEmpty else { return }
    let more = problems.count > 20 ? ["and \(problems.count - 20) further keys"] : []
    throw JournalError((problems.prefix(20) + more).joined(separator: "\n"))
  }

  private func problem(_ key: String, found: [Keyed], manifest: Manifest) -> String? {
    let fitting = Set(found.filter { $0.state == state.name }.map(\.operation)).sorted()
    if fitting.count > 1 {
      return "the key `\(key)` names tasks of "
        + fitting.map { "`\($0)`" }.joined(separator: " and ") + "; add --operation ID"
    }
    guard fitting.isEmpty else { return nil }
    let (file, word) = (manifest.shellPath, QuotedText.shellPath(key))
    guard let other = found.first else {
      let part = operation.map { " of `\($0)`" } ?? ""
      return "no task\(part) has the key `\(key)`; gqlrun batch errors \(file) lists them"
    }
    let task = "the task `\(key)` of `\(other.operation)`"
    switch (state, other.state) {
    case (.failed, TaskState.unknown.name):
      return "\(task) has an unknown outcome: look on the server whether it was executed; if not, "
        + "gqlrun batch resolve \(file) --retry \(word) sends it again"
    case (.unknown, TaskState.failed.name):
      return "\(task) failed, so its outcome is known; "
        + "gqlrun batch retry \(file) \(word) runs it again"
    default:
      return "\(task) is \(other.state), not \(state.name)"
    }
  }
}

extension Journal {
  /// Applies a decision in one transaction.
  func apply(_ resolution: TaskResolution, _ manifest: Manifest) throws -> TaskResolution.Resolved {
    var result = TaskResolution.Resolved()
    let keys =
      resolution.keys.isEmpty
      ? nil : JSONValue.array(resolution.keys.map { .string($0) }).jsonText()
    let filter = """
      (?1 IS NULL OR op IN (SELECT number FROM operations WHERE id = ?1)) AND (?2 IS NULL
        OR CASE key WHEN '' THEN (SELECT id FROM operations WHERE number = op) ELSE key END
          IN (SELECT value FROM json_each(?2)))
      """
    try write { db in
      if keys != nil {
        let rows = try GRDB.Row.fetchAll(
          db,
          sql: """
            SELECT operations.id, key, state FROM tasks JOIN operations ON number = op WHERE \(filter)
            """, arguments: [resolution.operation, keys])
        try resolution.check(
          rows.map { row in
            let state = TaskState(rawValue: try row.decode(atIndex: 2)) ?? .queued
            return (try row.decode(atIndex: 0), try row.decode(atIndex: 1), state.name)
          }, manifest)
      }
      let operations = try String.fetchSet(
        db,
        sql: """
          SELECT id FROM operations
          WHERE number IN (SELECT op FROM tasks WHERE state = ?3 AND \(filter))
          """, arguments: [resolution.operation, keys, resolution.state.rawValue])
      try db.execute(
        sql: """
          UPDATE tasks SET state = ?4, error = ?5 || coalesce(error, 'failed')
          WHERE state = ?3 AND \(filter)
          """,
        arguments: [
          resolution.operation, keys, resolution.state.rawValue,
          (resolution.decision == .done ? TaskState.done : .queued).rawValue, resolution.note,
        ])
      result.count = db.changesCount
      let dependents = manifest.dependents(of: operations).map { JSONValue.string($0) }
      try db.execute(
        sql: """
          UPDATE tasks SET state = ?1, error = NULL WHERE state = ?2 AND op IN (
            SELECT number FROM operations WHERE id IN (SELECT value FROM json_each(?3)))
          """,
        arguments: [
          TaskState.queued.rawValue, TaskState.skipped.rawValue,
          JSONValue.array(dependents).jsonText(),
        ])
      result.released = db.changesCount
      guard result.released > 0 || result.count > 0 && resolution.decision == .retry else { return }
      // A run that had ended needs --resume now.
      try db.execute(
        sql: """
          UPDATE meta SET value = ? WHERE name = 'stop' AND value = ''
            AND EXISTS (SELECT 1 FROM meta WHERE name = 'ended' AND value <> '')
          """, arguments: [StopReason.repetition.rawValue])
    }
    return result
  }
}

extension Manifest {
  /// The operations that need each operation directly, by index.
  func dependents() -> [[Int]] {
    var dependents: [[Int]] = Array(repeating: [], count: operations.count)
    for operation in operations {
      for need in operation.needs { dependents[need].append(operation.index) }
    }
    return dependents
  }

  /// The ids of the operations that need one of the given ones, directly or through others.
  func dependents(of ids: Set<String>) -> Set<String> {
    let dependents = dependents()
    var found: Set<Int> = []
    var next = operations.filter { ids.contains($0.id) }.map(\.index)
    while let index = next.popLast() {
      next += dependents[index].filter { found.insert($0).inserted }
    }
    return Set(found.map { operations[$0].id })
  }
}

/// The state of a task.
public enum TaskState: Int, Sendable, CaseIterable {
  /// Not started, or to be started again.
  case queued = 0
  /// Started and not finished; recorded between pages.
  case running = 1
  /// Finished successfully.
  case done = 2
  /// Finished with an error.
  case failed = 3
  /// A mutation was sent without receiving a response; the server may have executed it.
  case unknown = 4
  /// Not run, because something it needs is missing.
  case skipped = 5

  /// The states of tasks that have ended.
  static let ended = [TaskState.done, .failed, .unknown, .skipped]

  /// The name of the state in journals and reports, such as `done`.
  public var name: String { "\(self)" }
}

/// The identity of a task: the first 16 bytes of the SHA-256 of its operation's id, normalized
/// document, canonical variables and key.
public struct TaskID: Sendable, Hashable {
  let high: UInt64
  let low: UInt64

  init(_ digest: some Sequence<UInt8>) {
    var high: UInt64 = 0
    var low: UInt64 = 0
    for (index, byte) in digest.prefix(16).enumerated() {
      if index < 8 { high = high << 8 | UInt64(byte) } else { low = low << 8 | UInt64(byte) }
    }
    self.high = high
    self.low = low
  }

  var bytes: [UInt8] {
    Array(unsafeUninitializedCapacity: 16) { bytes, count in
      for index in 0..<16 { bytes[index] = byte(at: index) }
      count = 16
    }
  }

  private func byte(at index: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> (56 - 8 * (index & 7)))
  }

  /// The id as 32 hexadecimal digits.
  var text: String {
    String(unsafeUninitializedCapacity: 32) { text in
      for index in 0..<32 {
        let digit = byte(at: index >> 1) >> (index & 1 == 0 ? 4 : 0) & 15
        text[index] = digit + UInt8(ascii: digit < 10 ? "0" : "W")
      }
      return 32
    }
  }

  /// Whether the task belongs to a shard.
  func belongs(to shard: Shard) -> Bool { Int(high % UInt64(shard.count)) == shard.number - 1 }
}
