/// The open files and tables of a run: appends the pieces of outcomes, and syncs them.
///
/// A stage decides when what it wrote counts: with a transaction of the journal or of the queue. One actor uses it.
final class SinkWriter {
  private let plan: SinkPlan
  private let base: OutputPath
  /// The worker whose segments the files are; `nil` for files of a run on one machine.
  private let worker: QueueWorker?
  /// The owner of tables in SQLite databases; `nil` if all tables are in the database of the queue.
  private let owner: TableMarker.Owner?
  /// The open files and databases, which close when they are removed from here.
  private var files: [String: FileSink] = [:]
  private var databases: [String: TableFile] = [:]
  /// The tables of these databases, which keep them open.
  private var tables: [OutputID: TableSink] = [:]
  /// The rows for tables in the database of the queue, by index of the entry.
  private var rows: [Int: [[SQLValue]]] = [:]
  /// The keys of the rows in files of tables; `nil` in a queue.
  private let keys: RowKeys?
  /// The number of rows of this step that files of tables had already.
  private var repeated: [OutputID: Int] = [:]
  /// The journal's records of files, by path.
  private let recorded: [String: SinkPosition]
  /// The journal's records of tables.
  private var recordedTables: [OutputID: OutputRecord] = [:]

  /// Creates the writer of a run with a journal, or of a worker of a queue.
  ///
  /// - Parameters:
  ///   - owner: The owner of the tables, in a run with a journal.
  ///   - keys: The keys of the rows in files of tables, in a run with a journal.
  ///   - recorded: The journal's records of files, by path.
  ///   - worker: The worker of a queue.
  init(
    _ plan: SinkPlan, base: OutputPath, owner: TableMarker.Owner? = nil, keys: RowKeys? = nil,
    recorded: [String: SinkPosition] = [:], worker: QueueWorker? = nil
  ) {
    self.plan = plan
    self.base = base
    self.owner = owner
    self.keys = keys
    self.recorded = recorded
    self.worker = worker
  }

  /// The inodes of the open files, by path.
  var inodes: [String: UInt64] { files.compactMapValues(\.inode) }

  // MARK: Opening

  /// If there are more sinks, they are opened on demand.
  static let maxOpenAtOnce = 256

  /// Opens the sinks, so that errors are found before the first request. More than
  /// ``maxOpenAtOnce`` sinks are opened with their first record instead.
  ///
  /// - Parameter outputs: The journal's records of outputs.
  /// - Throws: ``StoppedByStorage`` if an output cannot be written or differs from what the journal
  ///   recorded.
  func open(_ outputs: [OutputRecord]) throws {
    for output in outputs where output.step > 0 { recordedTables[output.id] = output }
    guard plan.entries.count > Self.maxOpenAtOnce else { return try openAll() }
    // Verify existing outputs now, one after another.
    for entry in plan.entries {
      if entry.isTable, recordedTables[id(entry)] != nil {
        _ = try table(entry)
        (tables, databases) = ([:], [:])
      } else if !entry.isTable, position(entry) != nil {
        _ = try file(entry, begins: false)
        files = [:]
      }
    }
  }

  /// Opens all sinks. One without records is an empty file or table, not a missing one.
  func openAll() throws {
    for entry in plan.entries {
      if entry.isTable { _ = try table(entry) } else { _ = try file(entry, begins: false) }
    }
    // A run that is refused changes nothing.
    for file in files.values { try file.begin() }
    for database in databases.values { try database.sync() }
  }

  /// - Parameter begins: Whether it is written next; otherwise only its beginning is compared with the journal.
  private func file(_ entry: SinkPlan.Entry, begins: Bool = true) throws -> FileSink {
    if let file = files[entry.path] { return file }
    var format = entry.format
    var path = entry.path
    if let worker {
      // A segment begins with its first record. A merge adds header and footer.
      format.header = []
      format.footer = []
      path = worker.segment(of: path)
    }
    let file = try FileSink(path: path, format: format, recorded: position(entry), base: base)
    files[entry.path] = file
    if begins { try file.begin() }
    return file
  }

  private func table(_ entry: SinkPlan.Entry) throws -> TableSink {
    let id = id(entry)
    if let table = tables[id] { return table }
    guard let owner else { preconditionFailure("a table of a SQLite database in a queue") }
    let table = try TableSink(
      database(entry), entry, owner: owner, recorded: recordedTables[id])
    tables[id] = table
    return table
  }

  private func database(_ entry: SinkPlan.Entry) throws -> TableFile {
    if let file = databases[entry.path] { return file }
    let file = try TableFile(
      path: entry.path, base: base, mustExist: recordedTables[id(entry)] != nil)
    databases[entry.path] = file
    return file
  }

  /// The recorded position of a file; journals of older versions have the path from the command
  /// line.
  private func position(_ entry: SinkPlan.Entry) -> SinkPosition? {
    recorded[base.relative(entry.path)] ?? recorded[entry.path]
  }

  private func id(_ entry: SinkPlan.Entry) -> OutputID {
    OutputID(path: base.relative(entry.path), table: entry.table)
  }

  // MARK: Writing

  /// Appends what an outcome contributes to the sinks.
  ///
  /// - Throws: ``RefusedRow`` if a table refuses a row; the sinks then have nothing of the outcome.
  func write(_ outcome: Outcome) throws {
    // Some outcomes change only a state.
    guard outcome.pieces != nil || outcome.data != nil || !outcome.line.isEmpty else { return }
    let uses = plan.formats[outcome.operation]
    if let pieces = outcome.pieces, let first = uses.first?.entry,
      plan.entries[first].relation != nil
    {
      return try write(pieces, of: outcome, to: uses)
    }
    for (location, use) in uses.enumerated() {
      let entry = plan.entries[use.entry]
      if outcome.hasPage, entry.isTable, !entry.isInQueue, entry.key.isEmpty {
        try table(entry).append([], unit: outcome.update.unit)
      }
      if let pieces = outcome.pieces {
        for piece in pieces[location] { try append(piece, entry: use.entry, outcome: outcome) }
      } else {
        try use.format.pieces(of: outcome) {
          try append($0, entry: use.entry, outcome: outcome)
        }
      }
    }
  }

  private func append(_ piece: SinkPiece, entry index: Int, outcome: Outcome) throws {
    let entry = plan.entries[index]
    switch piece {
    case .bytes(let bytes, let records): try file(entry).append(bytes, records: records)
    case .row(let row) where entry.isInQueue: rows[index, default: []].append(row)
    case .row(let row): try table(entry).append([row], unit: outcome.update.unit)
    case .keyed(let line, _, _): try file(entry).append(line, records: 1)
    // Only `RowStore` has a format that makes such rows, and it has no writer: no manifest, journal or response leads here.
    case .own: preconditionFailure("a row for a caller in a sink")
    }
  }

  // MARK: Tables of an operation

  /// Writes rows to all tables of an operation, or to none.
  private func write(
    _ pieces: [[SinkPiece]], of outcome: Outcome, to uses: [SinkPlan.Use]
  ) throws {
    guard let first = uses.first, pieces.contains(where: { !$0.isEmpty }) else { return }
    let entry = plan.entries[first.entry]
    guard entry.isTable, !entry.isInQueue else {
      if let keys { return try writeLines(pieces, to: uses, keys) }
      for (use, pieces) in zip(uses, pieces) {
        for piece in pieces { try append(piece, entry: use.entry, outcome: outcome) }
      }
      return
    }
    let tables = try uses.map { try table(plan.entries[$0.entry]) }
    let counts = tables.map(\.counts)
    do {
      try database(entry).attempt {
        for (table, pieces) in zip(tables, pieces) {
          try table.append(
            pieces.compactMap { if case .row(let row) = $0 { row } else { nil } },
            unit: outcome.update.unit)
        }
      }
    } catch {
      for (table, counts) in zip(tables, counts) { table.restore(counts) }
      throw error
    }
  }

  /// Appends the lines of rows that the files do not have yet.
  private func writeLines(
    _ pieces: [[SinkPiece]], to uses: [SinkPlan.Use], _ keys: RowKeys
  ) throws {
    let new = try keys.admit(
      zip(uses, pieces).map { use, pieces in (plan.entries[use.entry], pieces) })
    for (use, (found, pieces)) in zip(uses, zip(new, pieces)) {
      let entry = plan.entries[use.entry]
      if !found.lines.isEmpty { try file(entry).append(found.lines, records: found.count) }
      guard found.count < pieces.count else { continue }
      repeated[id(entry), default: 0] += pieces.count - found.count
    }
  }

  /// Removes and returns the numbers of rows of the step that files of tables had already.
  func takeRepeated() -> [OutputID: Int] {
    defer { repeated = [:] }
    return repeated
  }

  /// Removes and returns the rows for tables in the database of the queue, sorted by index of the entry.
  func takeRows() -> [(entry: Int, rows: [[SQLValue]])] {
    defer { rows = [:] }
    return rows.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Syncs the files, and returns the positions of those that have changed.
  func syncFiles() throws -> [SinkPosition] { try files.values.compactMap { try $0.sync() } }

  /// Syncs the tables of SQLite databases, and returns those that have changed.
  func syncTables() throws -> [OutputID: (step: Int, counts: TableSink.Counts)] {
    let changed = try tables.compactMapValues { try $0.endStep() }
    for database in databases.values { try database.sync() }
    return changed
  }

  /// The positions of the files with their final names, by path.
  func publishedPositions() -> [String: SinkPosition] {
    files.compactMapValues { $0.positionWhenPublished() }
  }

  /// Removes what was appended to the files after these positions, and all rows.
  func rollBack(to positions: [String: SinkPosition]) throws {
    rows = [:]
    for (path, file) in files { try file.rollBack(to: positions[path]) }
  }

  // MARK: Closing

  /// Closes all files.
  ///
  /// - Parameter isComplete: Whether the run has finished, so that the files get their final names.
  func finish(isComplete: Bool) throws {
    defer { (tables, databases) = ([:], [:]) }
    // An output that was lost does not keep the others from their names.
    let results = files.values.map { file in Result { try file.finish(isComplete: isComplete) } }
    files = [:]
    for result in results { try result.get() }
  }

  /// Closes all files as they are.
  func abandon() { (files, tables, databases) = ([:], [:], [:]) }
}

extension TaskUpdate {
  /// Identifies one page of one task, for rows without a key.
  var unit: String { "\(id.text).\(page)" }
}
