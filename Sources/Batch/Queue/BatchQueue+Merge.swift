import Foundation
import GQLRunPostgres
import GQLRunSupport

extension BatchQueue {
  /// Joins the segments that workers wrote to the files of the manifest, up to their acknowledged lengths.
  ///
  /// The segments remain.
  ///
  /// - Parameter overwrites: Whether files that are not earlier outputs of the manifest may be overwritten.
  /// - Returns: The paths of the files, in the manifest's order.
  /// - Throws: ``JournalError`` if tasks are left or a segment is missing, ``StoppedByStorage`` if a segment differs from
  ///   what its worker recorded, ``OutputProblems`` if a file must not be overwritten.
  public func merge(overwrites: Bool = false) throws -> [String] {
    let segments = try endedSegments()
    let base = OutputPath(folder: manifest.folder)
    let plan = try SinkPlan(manifest)
    var ledger = try OutputLedger(manifest)
    let check = OutputCheck(manifest, plan)
    var problems = check.conflicts()
    if problems.isEmpty, !overwrites { problems = try check.foreignFiles(ledger) }
    guard problems.isEmpty else { throw OutputProblems(problems: problems) }
    // Verify all segments before writing anything.
    for segment in segments { try segment.verify(base) }
    let entries = plan.entries.filter { !$0.isTable }
    let paths = entries.map(\.path)
    try ledger.willReplace(paths)
    for entry in entries {
      let own = segments.filter { base.shown($0.position.path) == entry.path }
      try Self.join(own, into: entry, base)
    }
    try ledger.end(paths)
    return paths
  }

  /// A file that a worker wrote.
  private struct Segment {
    var worker: QueueWorker
    /// The position, with the path of the output.
    var position: SinkPosition

    func path(_ base: OutputPath) -> String {
      worker.segment(of: base.shown(position.path)) + ".part"
    }

    func verify(_ base: OutputPath) throws {
      let path = path(base)
      guard FileManager.default.fileExists(atPath: path) else {
        throw JournalError(
          "the segment \(path) of a worker is missing; bring the segments of all workers into the folder"
        )
      }
      try FileSink.verify(path, position)
    }
  }

  private func endedSegments() throws -> [Segment] {
    try use("read the segments") { connection in
      let run = try QueueRun.current(manifest, connection)
      let waiting =
        run.state == "open" ? try QueueLevels.waiting(of: manifest, run: run.id, connection) : 0
      if try waiting > 0
        || connection.run("SELECT \(QueueRun.hasOpenTasks)", .text(run.id)).int(0, 0) == 1
      {
        throw JournalError(
          "the run of `\(manifest.name)` has tasks that have not ended; run `gqlrun batch worker \(manifest.file)` "
            + "until none are left, or cancel it with `gqlrun batch cancel \(manifest.file)`")
      }
      let rows = try connection.run(
        """
        SELECT s.worker::text, s.path, s.position, s.records, s.checksum
        FROM gq_segment s JOIN gq_worker w ON w.id = s.worker WHERE w.run = $1::uuid
        ORDER BY w.started_at, w.id, s.path
        """, .text(run.id))
      return (0..<rows.count).map { row in
        Segment(
          worker: QueueWorker(id: rows.text(row, 0), run: run.id),
          position: SinkPosition(
            path: rows.text(row, 1), position: rows.int(row, 2), records: rows.int(row, 3),
            checksum: Checksum(UInt32(truncatingIfNeeded: rows.int(row, 4)))))
      }
    }
  }

  private static func join(
    _ segments: [Segment], into entry: SinkPlan.Entry, _ base: OutputPath
  ) throws {
    // Gzip members are copied unchanged.
    var format = entry.format
    format.isCompressed = false
    let output = try FileSink(path: entry.path, format: format, recorded: nil, base: base)
    do {
      for segment in segments {
        try output.append(
          contentsOf: segment.path(base), upTo: segment.position.position,
          records: segment.position.records)
      }
      _ = try output.sync()
      try output.finish(isComplete: true)
    } catch {
      output.abandon()
      throw error
    }
  }
}
