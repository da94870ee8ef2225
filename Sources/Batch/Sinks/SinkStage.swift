import Dispatch
import Foundation
import GQLRunCache
import GQLRunJSON

/// Runs an actor's jobs on a dedicated queue, because file operations block.
///
/// `Sendable` because the queue is.
final class FileExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "gqlrun.batch.files")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}

/// Writes results to all sinks and then to the journal, in durable steps.
///
/// A step writes the records of some pages, syncs the files, and then records task states and file
/// positions in the journal in one transaction. After a crash, files are truncated to the recorded
/// positions, and tasks that were not recorded run again.
actor SinkStage {
  private let executor = FileExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let manifest: Manifest
  private let journal: Journal
  private let plan: SinkPlan
  private let base: OutputPath
  /// The cache, if it is a sink; the pipeline has already written the results to it.
  private let cache: CacheStore?
  private var files: [String: FileSink] = [:]
  private var databases: [String: TableFile] = [:]
  private var tables: [String: TableSink] = [:]
  private var recorded: [String: SinkPosition]
  /// The journal's records of tables, by path and name.
  private var recordedTables: [String: OutputRecord] = [:]
  private let owner: TableMarker.Owner
  private var isClosed = false
  private var bookmarks: [String: (operation: Int, value: JSONValue)] = [:]
  /// The time spent on journal and files, reported beside the duration of the run.
  private(set) var journalTime = Duration.zero
  private(set) var fileTime = Duration.zero

  init(
    _ manifest: Manifest, journal: Journal, plan: SinkPlan, shard: Shard? = nil,
    cache: CacheStore? = nil
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

  /// If there are more sinks, they are opened on demand.
  static let maxOpenAtOnce = 256

  /// Opens the sinks, so that errors are found before the first request. More than
  /// ``maxOpenAtOnce`` sinks are opened with their first record instead.
  ///
  /// - Throws: ``StoppedByStorage`` if an output cannot be written or differs from what the journal
  ///   recorded.
  func open() async throws {
    try await ResumeCheck(journal, plan: plan, base: base, cache: cache).run()
    for output in try journal.outputs() where output.step > 0 {
      recordedTables[Self.name(output.path, output.name)] = output
    }
    let isMany = plan.entries.count > Self.maxOpenAtOnce
    for entry in plan.entries {
      guard isMany else {
        if entry.isTable { _ = try table(entry) } else { _ = try file(entry) }
        continue
      }
      // Verify existing outputs now, one after another.
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

  /// The inodes of the open files, by path.
  func inodes() -> [String: UInt64] { files.compactMapValues(\.inode) }

  /// Makes the outcomes durable, in this order. Steps do not overlap.
  func commit(_ outcomes: [Outcome]) async throws {
    // A late group must not reopen files after a failure.
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
      if let gap = outcome.gap { step.gaps.append(gap) }
      for found in outcome.bookmarks {
        let old = bookmarks[found.name]?.value
        let value = old.map { Self.folded(found.fold, old: $0, new: found.value) } ?? found.value
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

  /// Closes all files.
  ///
  /// - Parameters:
  ///   - isComplete: Whether the run has finished, so that the files get their final names.
  ///   - paths: The files of the run.
  ///   - ledger: Records the files before they are renamed.
  func finish(
    isComplete: Bool, _ paths: [String], _ ledger: OutputLedger
  ) throws -> OutputLedger {
    var ledger = ledger
    if isComplete {
      // A sink without records is an empty file, not a missing one.
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

  /// Closes all files as they are, after a failure.
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
    // Some steps change only a state.
    guard outcome.pieces != nil || outcome.data != nil || !outcome.line.isEmpty else { return }
    let formats = plan.formats[outcome.operation]
    for (location, format) in formats.enumerated() {
      let entry = format.entry
      if let pieces = outcome.pieces {
        for piece in pieces[location] { try append(piece, entry: entry, outcome: outcome) }
      } else {
        try format.format.pieces(
          of: outcome.data, line: outcome.line, task: unit(outcome)
        ) { try append($0, entry: entry, outcome: outcome) }
      }
    }
  }

  /// Identifies rows without a key: one page of a task.
  private func unit(_ outcome: Outcome) -> String { outcome.update.unit }

  private func append(_ piece: SinkPiece, entry: Int, outcome: Outcome) throws {
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

  /// The recorded position of a file; journals of older versions have the path from the command
  /// line.
  private func position(_ entry: SinkPlan.Entry) -> SinkPosition? {
    recorded[base.relative(entry.path)] ?? recorded[entry.path]
  }

  private func name(_ entry: SinkPlan.Entry) -> String {
    Self.name(base.relative(entry.path), entry.table)
  }

  private static func name(_ path: String, _ table: String) -> String { "\(path)\u{0}\(table)" }

  static func folded(_ fold: Bookmark.Fold, old: JSONValue, new: JSONValue) -> JSONValue {
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
  /// Identifies one page of one task.
  var unit: String { "\(id.text).\(page)" }
}
