import Dispatch
import Foundation
import GQLRunCache
import GQLRunJSON

/// Runs the jobs of an actor on a thread of its own, since its files make threads wait.
///
/// Sendable: the queue is.
final class FileExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "gqlrun.batch.files")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}

/// All sinks of a run and its journal: what is written here becomes durable step by step.
///
/// A step writes the records of some pages, makes the files durable, and only then tells the journal, in
/// one transaction: the states of the tasks and the positions of the files. After a crash at any moment
/// files are cut to the recorded positions, and tasks that were not recorded run again.
actor SinkStage {
  private let executor = FileExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let manifest: Manifest
  private let journal: Journal
  private let plan: SinkPlan
  private let base: OutputPath
  /// Where the pipeline has put the results before they come here, when that is one of the sinks.
  private let cache: (any RecordStore)?
  private var files: [String: FileSink] = [:]
  private var databases: [String: TableFile] = [:]
  private var tables: [String: TableSink] = [:]
  private var recorded: [String: SinkPosition]
  /// What the journal knows of tables, by path and name.
  private var recordedTables: [String: OutputRecord] = [:]
  private let owner: TableMarker.Owner
  private var isClosed = false
  private var bookmarks: [String: (operation: Int, value: JSONValue)] = [:]
  /// How long journal and files took, to be told beside the run's time.
  private(set) var journalTime = Duration.zero
  private(set) var fileTime = Duration.zero

  init(
    _ manifest: Manifest, journal: Journal, plan: SinkPlan, shard: Shard? = nil,
    cache: (any RecordStore)? = nil
  ) throws {
    self.cache = cache
    self.manifest = manifest
    self.journal = journal
    self.plan = plan
    base = OutputPath(folder: manifest.folder)
    owner = try TableMarker.Owner(manifest, shard: shard, journal: journal)
    recorded = try journal.sinks()
    for (name, bookmark) in try journal.bookmarks() { bookmarks[name] = bookmark }
  }

  /// More sinks than that are not opened before they are needed.
  static let mostOpenAtOnce = 256

  /// Opens the sinks, so that one that cannot be written is known before anything is sent. Where there
  /// are very many, each is opened with its first record.
  ///
  /// - Throws: ``StoppedByStorage`` when an output cannot be written, or is not what the journal recorded.
  func open() async throws {
    try await ResumeCheck(journal, plan, base, cache: cache).run()
    for output in try journal.outputs() where output.step > 0 {
      recordedTables[Self.name(output.path, output.name)] = output
    }
    let isMany = plan.entries.count > Self.mostOpenAtOnce
    for entry in plan.entries {
      guard isMany else {
        if entry.isTable { _ = try table(entry) } else { _ = try file(entry) }
        continue
      }
      // What was written before is checked now, one output at a time.
      if entry.isTable, recordedTables[name(entry)] != nil {
        _ = try table(entry)
        closeDatabases()
      } else if !entry.isTable, position(entry) != nil {
        _ = try file(entry)
        abandonFiles()
      }
    }
    for database in databases.values { try database.sync() }
  }

  /// The inodes of the files that are open, by path.
  func inodes() -> [String: UInt64] { files.compactMapValues(\.inode) }

  /// Makes the outcomes durable, in this order. One step at a time.
  func commit(_ outcomes: [Outcome]) async throws {
    // A group that comes late, after a failure, must not open the files again.
    guard !isClosed else { throw CancellationError() }
    let clock = ContinuousClock()
    let start = clock.now
    var step = JournalStep()
    var changed: Set<String> = []
    for outcome in outcomes {
      try write(outcome)
      step.tasks.append(outcome.update)
      if let capture = outcome.capture {
        step.captures.append(
          (outcome.update.operation, outcome.update.key, JSONValue.object(capture).jsonText()))
      }
      for found in outcome.bookmarks {
        let old = bookmarks[found.name]?.value
        let value = old.map { Self.folded(found.fold, $0, found.value) } ?? found.value
        bookmarks[found.name] = (outcome.update.operation, value)
        changed.insert(found.name)
      }
    }
    for name in changed { step.bookmarks[name] = bookmarks[name] }
    for file in files.values {
      if let position = try file.sync() { step.sinks.append(position) }
    }
    for (name, table) in tables {
      let path = String(name.prefix { $0 != "\u{0}" })
      if let position = try table.endStep(path) { step.tables.append(position) }
    }
    for database in databases.values { try database.sync() }
    do throws(CacheError) {
      try await cache?.sync()
    } catch {
      throw StoppedByStorage(message: error.message)
    }
    let written = clock.now
    try journal.record(step)
    fileTime += written - start
    journalTime += clock.now - written
  }

  /// Ends all files.
  ///
  /// - Parameters:
  ///   - isComplete: Whether the run has ended, so that they get their names.
  ///   - paths: The files of the run.
  ///   - ledger: Knows the files from before they are renamed.
  func finish(
    isComplete: Bool, _ paths: [String], _ ledger: OutputLedger
  ) throws -> OutputLedger {
    var ledger = ledger
    if isComplete {
      // A sink that nothing was written to is an empty file, not a missing one.
      for entry in plan.entries {
        if entry.isTable { _ = try table(entry) } else { _ = try file(entry) }
      }
      for database in databases.values { try database.sync() }
      try ledger.begin(paths, inodes: inodes())
      var step = JournalStep()
      for file in files.values {
        _ = try file.sync()
        if let position = file.positionWhenPublished() { step.sinks.append(position) }
      }
      try journal.record(step)
    }
    for file in files.values { try file.finish(isComplete: isComplete) }
    files = [:]
    closeDatabases()
    isClosed = true
    if isComplete { try ledger.end(paths) }
    return ledger
  }

  /// Closes everything as it is, after a failure.
  func abandon() {
    abandonFiles()
    closeDatabases()
    isClosed = true
  }

  private func abandonFiles() {
    for file in files.values { file.abandon() }
    files = [:]
  }

  private func closeDatabases() {
    for database in databases.values { database.close() }
    databases = [:]
    tables = [:]
  }

  func currentBookmarks() -> [String: (operation: Int, value: JSONValue)] { bookmarks }

  func close() { journal.close() }

  private func write(_ outcome: Outcome) throws {
    // Some steps only change a state.
    guard outcome.pieces != nil || outcome.data != nil || !outcome.line.isEmpty else { return }
    let formats = plan.formats[outcome.operation]
    for (place, format) in formats.enumerated() {
      guard let entry = format.entry else { continue }
      if let pieces = outcome.pieces {
        for piece in pieces[place] { try append(piece, entry, outcome) }
      } else {
        try format.format.pieces(
          of: outcome.data, line: outcome.line, task: unit(outcome)
        ) { try append($0, entry, outcome) }
      }
    }
  }

  /// What rows without a key are told apart by: one page of a task.
  private func unit(_ outcome: Outcome) -> String { outcome.update.unit }

  private func append(_ piece: SinkPiece, _ entry: Int, _ outcome: Outcome) throws {
    let entry = plan.entries[entry]
    switch piece {
    case .bytes(let bytes, let records): try file(entry).append(bytes, records: records)
    case .row(let row): try table(entry).append(row, unit: unit(outcome))
    }
  }

  private func file(_ entry: SinkPlan.Entry) throws -> FileSink {
    if let file = files[entry.path] { return file }
    let file = try FileSink(
      path: entry.path, format: entry.format, recorded: position(entry), base: base)
    files[entry.path] = file
    return file
  }

  private func table(_ entry: SinkPlan.Entry) throws -> TableSink {
    let name = name(entry)
    if let table = tables[name] { return table }
    let known = recordedTables[name]
    let file =
      try databases[entry.path]
      ?? TableFile(path: entry.path, base: base, mustExist: known != nil)
    databases[entry.path] = file
    let table = try TableSink(
      file, table: entry.table, columns: entry.columns, key: entry.key, owner: owner,
      recorded: known)
    tables[name] = table
    return table
  }

  /// Where the journal says that a file is; journals of older versions name it as the command did.
  private func position(_ entry: SinkPlan.Entry) -> SinkPosition? {
    recorded[base.relative(entry.path)] ?? recorded[entry.path]
  }

  private func name(_ entry: SinkPlan.Entry) -> String {
    Self.name(base.relative(entry.path), entry.table)
  }

  private static func name(_ path: String, _ table: String) -> String { "\(path)\u{0}\(table)" }

  static func folded(_ fold: Bookmark.Fold, _ old: JSONValue, _ new: JSONValue) -> JSONValue {
    switch fold {
    case .last: return new
    case .max, .min:
      let isGreater =
        if let old = old.doubleValue, let new = new.doubleValue {
          new > old
        } else {
          old.stringValue.map { old in
            Array((new.stringValue ?? "").utf8).lexicographicallyPrecedes(Array(old.utf8)) == false
          } ?? true
        }
      return isGreater == (fold == .max) ? new : old
    }
  }
}

extension TaskUpdate {
  /// One page of one task.
  var unit: String { "\(id.text).\(page)" }
}
