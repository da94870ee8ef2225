import Crypto
import Foundation
import GQLRunCache
import GQLRunPostgres

/// A run in a queue.
struct QueueRun: Sendable {
  var id: String
  /// `open` or `cancelled`.
  var state: String

  /// The error of tasks that a cancelled run did not send.
  static let cancelled = "the run was cancelled"

  /// The newest run of a manifest; `nil` if there is none.
  static func newest(_ manifest: Manifest, _ connection: PostgresConnection) throws -> QueueRun? {
    try QueueSchema.check(connection)
    let rows = try connection.run(
      """
      SELECT id::text, state, sha FROM gq_run WHERE name = $1 ORDER BY started_at DESC LIMIT 1
      """, .text(manifest.name))
    guard rows.count > 0 else { return nil }
    guard try Array(rows.bytes(0, 2)) == manifest.digest() else {
      throw JournalError(
        "the run of `\(manifest.name)` in \(connection.database) began with other operations or sinks than "
          + "\(manifest.file) has now; use the manifest that it began with, or begin a new run with "
          + "`gqlrun batch init \(manifest.file) --new`")
    }
    return QueueRun(id: rows.text(0, 0), state: rows.text(0, 1))
  }

  /// The newest run of a manifest, which must exist.
  static func current(_ manifest: Manifest, _ connection: PostgresConnection) throws -> QueueRun {
    guard let run = try newest(manifest, connection) else {
      throw JournalError(
        "there is no run of `\(manifest.name)` in \(connection.database); begin one with `gqlrun batch init "
          + "\(manifest.file)`")
    }
    return run
  }

  static func begin(_ manifest: Manifest, _ connection: PostgresConnection) throws -> QueueRun {
    let run = QueueRun(id: UUID().uuidString.lowercased(), state: "open")
    try connection.run(
      "INSERT INTO gq_run (id, name, manifest, sha) VALUES ($1::uuid, $2, $3, $4)",
      .text(run.id), .text(manifest.name), .text(manifest.file), .bytes(try manifest.digest()))
    return run
  }

  /// The condition of a statement for tasks that are not finished.
  ///
  /// Two partial indexes answer it, whatever the number of tasks.
  static let hasOpenTasks = """
    EXISTS (SELECT FROM gq_task WHERE run = $1::uuid AND state = 'queued')
    OR EXISTS (SELECT FROM gq_worker w JOIN gq_task t ON t.worker = w.id AND t.state IN ('leased', 'sent')
      WHERE w.run = $1::uuid)
    """
}

extension Manifest {
  /// Identifies what workers of one run must have in common: operations, documents and sinks.
  func digest() throws -> [UInt8] {
    var hash = SHA256()
    func add(_ text: String) {
      let bytes = Array(text.utf8)
      withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { hash.update(bufferPointer: $0) }
      hash.update(data: bytes)
    }
    for operation in operations {
      add(operation.id)
      add(operation.template.document)
      add(operation.emit?.description ?? "")
      add(operation.idempotency ?? "")
      for need in operation.needs { add("needs \(self.operations[need].id)") }
      for capture in operation.capture {
        add("capture \(capture.name) \(capture.path.description)")
      }
    }
    let base = OutputPath(folder: folder)
    for entry in try SinkPlan(self).entries {
      for text in [base.relative(entry.path), entry.table, entry.format.name] { add(text) }
      for text in entry.columns + entry.key { add(text) }
      for take in entry.takes.sorted(by: { $0.key < $1.key }) { add("\(take.key) \(take.value)") }
    }
    return Array(hash.finalize())
  }

  /// The URL of the queue.
  ///
  /// - Throws: ``JournalError`` if the journal of the manifest is a folder.
  func requiredQueueURL() throws -> String {
    guard let url = queueURL else {
      throw JournalError(
        "the journal of \(file) is a folder; workers need a database: `run: { journal: \"postgres://\" }`, or use "
          + "`gqlrun batch run`")
    }
    return url
  }
}
