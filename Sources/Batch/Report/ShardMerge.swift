import Foundation
import GQLRunJSON
import GRDB

/// Merges the outputs and journals of the shards of a batch.
public struct ShardMerge {
  /// The number of tasks in all shards.
  public private(set) var tasks = 0
  /// The paths of the merged outputs, in the manifest's order.
  public private(set) var files: [String] = []
  /// The path of the merged journal.
  public private(set) var journal = ""

  /// Merges the newest journal and the outputs of each shard of a manifest.
  ///
  /// - Parameters:
  ///   - manifest: The manifest of the shards.
  ///   - overwrites: Whether files that are not earlier outputs of the manifest may be overwritten.
  /// - Throws: ``JournalError`` if a shard is missing or unfinished, ``StoppedByStorage`` if an
  ///   output of a shard differs from what its journal recorded, ``OutputProblems`` if a file must
  ///   not be overwritten.
  public init(_ manifest: Manifest, overwrites: Bool = false) throws {
    let shards = try Self.shards(manifest)
    let journals = try shards.map { try Self.endedJournal(manifest, $0) }
    guard let start = journals.first?.start,
      journals.allSatisfy({ $0.start.hasTasks(of: start, manifest) })
    else {
      throw JournalError(
        "the shards have started from different bookmarks or values of `since`, so that tasks may be in none of them; run "
          + "all shards again without --resume, with the same state file and merged tables")
    }
    var merge = try OutputMerge(manifest, overwrites: overwrites)
    let (whole, base) = (merge.plan, merge.base)
    var step = JournalStep()
    let plans = try shards.map { try SinkPlan(manifest, suffix: $0.label) }
    let parts = whole.entries.indices.map { location in
      zip(plans, journals).map { Part(entry: $0.entries[location], journal: $1, base: base) }
    }
    // Verify all parts before writing anything.
    for part in parts.joined() where part.entry.path != "-" { try part.verify(merge) }
    try Self.checkRows(of: journals, whole, manifest)
    let identity = UUID().uuidString
    let owner = TableMarker.Owner(name: manifest.name, journal: identity)
    var databases: [String: TableFile] = [:]
    try merge.replaceFiles { [merge] in
      for (location, entry) in whole.entries.enumerated() where entry.path != "-" {
        if entry.isTable {
          let database = try databases[entry.path] ?? TableFile(path: entry.path, base: base)
          databases[entry.path] = database
          let sink = try Self.merge(tables: parts[location], into: entry, of: database, owner)
          let id = OutputID(path: base.relative(entry.path), table: entry.table)
          step.tables[id] = try sink.endStep()
        } else {
          step.sinks.append(try merge.join(parts[location].map(\.file), into: entry))
        }
        files.append(entry.path)
      }
      // A database has all tables, or none.
      for database in databases.values { try database.sync() }
    }
    let target = try JournalFolder(manifest).open(resumes: false, at: Date().timeIntervalSince1970)
    journal = target.path
    try target.set(start.recorded.merging(["id": identity]) { $1 })
    try target.register(whole.outputs(base, cache: nil))
    let numbers = try target.register(manifest.operations.map(\.id))
    for (operation, number) in zip(manifest.operations, numbers) {
      for (name, fold) in operation.folds {
        let values = journals.compactMap { $0.bookmarks[name] }
        step.bookmarks[name] = fold.value(of: values).map { (operation: number, value: $0) }
      }
    }
    try target.record(step)
    for journal in journals {
      try target.add(tasksOf: journal.path)
      try target.add(rowsOf: journal.path, whole.fileRelations)
    }
    var bookmarks: [String: JSONValue] = [:]
    for (operation, number) in zip(manifest.operations, numbers)
    where try target.isComplete(operation: number) {
      for (name, _) in operation.bookmarks { bookmarks[name] = step.bookmarks[name]?.value }
      guard let tables = operation.tables, let since = tables.since,
        let name = operation.sinceName, let value = step.bookmarks[since.bookmark]?.value
      else { continue }
      try SinceStore(tables.target, base: base)?.save(value, as: name)
    }
    try merge.ledger.save(bookmarks, of: manifest)
    try target.setEnded(manifest, at: Date().timeIntervalSince1970)
    tasks = try target.counts().total
  }

  /// The contents of a finished shard's journal.
  fileprivate struct Ended {
    var path: String
    var sinks: [String: SinkPosition]
    var outputs: [OutputRecord]
    var bookmarks: [String: JSONValue]
    var identity: String?
    var start: RunStart
  }

  /// Throws ``JournalError`` if shards have an object under several parents in files of tables.
  private static func checkRows(
    of journals: [Ended], _ plan: SinkPlan, _ manifest: Manifest
  ) throws {
    let relations = plan.fileRelations
    guard !relations.isEmpty else { return }
    try Journal.withTemporary { all in
      _ = try all.register(manifest.operations.map(\.id))
      for journal in journals { try all.add(rowsOf: journal.path, relations) }
    }
  }

  /// An output of one shard.
  fileprivate struct Part {
    var entry: SinkPlan.Entry
    var journal: Ended

    var base: OutputPath

    var file: OutputMerge.Part {
      OutputMerge.Part(
        path: entry.path,
        recorded: entry.isTable
          ? nil : journal.sinks[base.relative(entry.path)] ?? journal.sinks[entry.path],
        start: entry.format.header.count,
        end: (FileStatus(entry.path)?.size ?? 0) - entry.format.footer.count)
    }

    /// Compares the output with what the shard's journal recorded.
    func verify(_ merge: OutputMerge) throws {
      try merge.verify(
        file, missing: "the output \(entry.path) of a shard is missing; bring it into its folder")
      let path = base.relative(entry.path)
      guard entry.isTable, let identity = journal.identity,
        let known = journal.outputs.first(where: { $0.path == path && $0.name == entry.table }),
        known.step > 0
      else { return }
      try TableFile.verify(entry.path, table: entry.table, step: known.step, journal: identity)
    }
  }

  private static func endedJournal(_ manifest: Manifest, _ shard: Shard) throws -> Ended {
    let label = "\(shard.number)/\(shard.count)"
    guard let path = try JournalFolder(manifest, shard: shard).all().last else {
      throw JournalError("there is no journal of the shard \(label)")
    }
    let journal = try Journal(path: path, isReadOnly: true)
    try journal.require(manifest)
    guard try journal.hasFinished() else {
      throw JournalError(
        "the shard \(label) has not ended; continue it with --shard \(label) --resume")
    }
    return Ended(
      path: path, sinks: try journal.sinks(), outputs: try journal.outputs(),
      bookmarks: try journal.bookmarks().mapValues(\.value), identity: try journal.meta("id"),
      start: try RunStart(manifest, of: journal))
  }

  private static func shards(_ manifest: Manifest) throws -> [Shard] {
    let folder = manifest.settings.journalFolder
    let counts = Set(
      try JournalFolder(manifest).files().compactMap { file in
        file.path == file.journal
          ? file.shard.flatMap { Shard($0.replacing("of", with: "/")) }?.count : nil
      })
    guard counts.count == 1, let count = counts.first else {
      throw JournalError(
        counts.isEmpty
          ? "there are no journals of shards in \(folder); run with --shard 1/2 first"
          : "\(folder) has journals of runs with different numbers of shards; move the old ones away"
      )
    }
    return (1...count).compactMap { Shard("\($0)/\(count)") }
  }

  /// Adds the rows of shards to a table, which commits with its database.
  private static func merge(
    tables parts: [Part], into entry: SinkPlan.Entry, of database: TableFile,
    _ owner: TableMarker.Owner
  ) throws -> TableSink {
    if entry.relation != nil {
      // An object that has moved since an earlier run may be under its old parent in another shard.
      for part in parts {
        try part.add(.earlier, to: TableSink(database, entry, owner: owner))
      }
    }
    let sink = try TableSink(database, entry, owner: owner)
    for part in parts { try part.add(entry.relation == nil ? .all : .newest, to: sink) }
    return sink
  }
}

extension ShardMerge.Part {
  /// Rows of a shard's table, by the run that has written them.
  fileprivate enum Rows {
    case all, earlier, newest
  }

  /// Adds rows to a table.
  fileprivate func add(_ selected: Rows, to sink: TableSink) throws {
    let columns = entry.allColumns
    let marker = TableMarker(
      table: entry.table, columns: columns,
      owner: TableMarker.Owner(name: "", journal: journal.identity ?? ""))
    do {
      // Not through JSON: texts keep their NUL characters, and numbers their types.
      try DatabaseQueue.reading(entry.path) { db in
        var condition = ""
        if selected != .all, let rowID = marker.rowID {
          let base = try marker.base(db) ?? Int64.min
          condition = " WHERE \(rowID) \(selected == .earlier ? "<=" : ">") \(base)"
        }
        var rows = try RowStatement(
          db, sql: "SELECT \(SQLText.list(columns)) FROM \(entry.table.quotedForSQL)\(condition)")
        while let row = try rows.next() {
          try sink.append([row], unit: entry.key.isEmpty ? row.last?.text ?? "" : "")
        }
      }
    } catch let refused as RefusedRow {
      throw JournalError("cannot merge \(entry.path): \(refused.message)")
    } catch let error as DatabaseError {
      throw JournalError(
        "cannot merge \(entry.path): \(error.message ?? "\(error.resultCode)")")
    }
  }
}
