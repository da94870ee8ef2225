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
  private var bookmarks: [String: (operation: Int, value: JSONValue)] = [:]
  /// How long journal and files took, to be told beside the run's time.
  private(set) var journalTime = Duration.zero
  private(set) var fileTime = Duration.zero

  init(
    _ manifest: Manifest, journal: Journal, plan: SinkPlan, cache: (any RecordStore)? = nil
  ) throws {
    self.cache = cache
    self.manifest = manifest
    self.journal = journal
    self.plan = plan
    base = OutputPath(folder: manifest.folder)
    recorded = try journal.sinks()
    for (name, bookmark) in try journal.bookmarks() { bookmarks[name] = bookmark }
  }

  /// More sinks than that are not opened before they are needed.
  static let mostOpenAtOnce = 256

  /// Opens the sinks, so that one that cannot be written is known before anything is sent. Where there
  /// are very many, each is opened with its first record.
  func open() throws {
    guard plan.entries.count <= Self.mostOpenAtOnce else { return }
    for entry in plan.entries {
      if entry.isTable { _ = try table(entry) } else { _ = try file(entry) }
    }
    for database in databases.values { try database.sync() }
  }

  /// Makes the outcomes durable, in this order. One step at a time.
  func commit(_ outcomes: [Outcome]) async throws {
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
    for table in tables.values { table.endStep() }
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
  /// - Parameter isComplete: Whether the run has ended, so that they get their names.
  func finish(isComplete: Bool) throws {
    if isComplete {
      // A sink that nothing was written to is an empty file, not a missing one.
      for entry in plan.entries where !entry.isTable {
        _ = try file(entry)
      }
      var step = JournalStep()
      for file in files.values {
        _ = try file.sync()
        if let position = file.positionWhenPublished() { step.sinks.append(position) }
      }
      try journal.record(step)
    }
    for file in files.values { try file.finish(isComplete: isComplete) }
    for database in databases.values { database.close() }
    files = [:]
    databases = [:]
    tables = [:]
  }

  /// Closes everything as it is, after a failure.
  func abandon() {
    for file in files.values { file.abandon() }
    for database in databases.values { database.close() }
    files = [:]
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
      path: entry.path, format: entry.format, recorded: recorded[entry.path], base: base)
    files[entry.path] = file
    return file
  }

  private func table(_ entry: SinkPlan.Entry) throws -> TableSink {
    let name = "\(entry.path)\u{0}\(entry.table)"
    if let table = tables[name] { return table }
    let file = try databases[entry.path] ?? TableFile(path: entry.path, base: base)
    databases[entry.path] = file
    let table = try TableSink(file, table: entry.table, columns: entry.columns, key: entry.key)
    tables[name] = table
    return table
  }

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

/// Which sinks take the results of which operation, in which form.
struct SinkPlan: Sendable {
  /// One file, or one table of a database.
  struct Entry: Sendable {
    var path: String
    var format = FileSink.Format.lines
    var isTable = false
    var table = ""
    var columns: [String] = []
    var key: [String] = []
  }

  struct Use: Sendable {
    var format: SinkFormat
    /// The place in `entries`; `nil` for the cache, which the pipeline writes.
    var entry: Int?
  }

  var entries: [Entry] = []
  /// By operation, a use for each sink.
  var formats: [[Use]] = []

  /// - Parameter suffix: Put before the extension, for the files of a shard.
  init(_ manifest: Manifest, suffix: String = "") throws(TaskProblem) {
    var places: [String: Int] = [:]
    for operation in manifest.operations {
      var uses: [Use] = []
      for sink in manifest.sinks {
        guard sink.takes(operation.id), sink.kind != .cache else {
          uses.append(Use(format: SinkFormat(kind: .nothing, emit: nil), entry: nil))
          continue
        }
        var path = try TextTemplate.filled(sink.path, operation.id)
        if path != "-" { path = Self.path(path, suffix) }
        var entry = Entry(path: path)
        let kind: SinkFormat.Kind
        switch sink.kind {
        case .ndjson(let isCompressed, let lines):
          entry.format = isCompressed ? .gzip : .lines
          let areRecords = lines == .records || lines == .auto && operation.emit != nil
          kind = areRecords ? .records : .results
        case .csv(let columns):
          let names = columns.isEmpty ? operation.columns : columns
          entry.format = .csv(
            header: String(decoding: CSVText.line(names.map { .string($0) }), as: UTF8.self))
          kind = .csv(SinkFormat.paths(names))
        case .json:
          entry.format = .json
          kind = .elements
        case .sqlite(let table, let key):
          entry.isTable = true
          entry.table = try TextTemplate.filled(table, operation.id)
          entry.columns = operation.columns + key.filter { !operation.columns.contains($0) }
          entry.key = key
          kind = .rows(
            SinkFormat.paths(entry.columns),
            key: key.compactMap { entry.columns.firstIndex(of: $0) })
        case .cache: kind = .nothing
        }
        let name = "\(entry.path)\u{0}\(entry.table)"
        let place = places[name] ?? entries.count
        if place < entries.count,
          entries[place].format != entry.format
            || entries[place].columns != entry.columns
        {
          throw TaskProblem(
            "`\(operation.id)` and another operation write different columns to \(entry.path); "
              + "give each its own, as with {{op}}")
        }
        if places[name] == nil {
          places[name] = place
          entries.append(entry)
        }
        uses.append(Use(format: SinkFormat(kind: kind, emit: operation.emit), entry: place))
      }
      formats.append(uses)
    }
  }

  static func path(_ path: String, _ suffix: String) -> String {
    guard !suffix.isEmpty else { return path }
    let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    guard let dot = path[start...].firstIndex(of: "."), dot > start else {
      return "\(path).\(suffix)"
    }
    return "\(path[..<dot]).\(suffix)\(path[dot...])"
  }

  /// Whether any sink needs the data of an operation.
  func takesData(_ operation: Int) -> Bool {
    formats[operation].contains { $0.entry != nil }
  }
}

extension TextTemplate {
  /// A path or table with the operation's id put in.
  static func filled(_ text: String, _ operation: String) throws(TaskProblem) -> String {
    var scope = Scope()
    scope.operation = operation
    do throws(Malformed) {
      return try scopeText(TextTemplate(text), scope)
    } catch {
      throw TaskProblem(error.message)
    }
  }

  private static func scopeText(_ template: TextTemplate, _ scope: Scope) throws(Malformed)
    -> String
  {
    do throws(TaskProblem) {
      return try template.text(in: scope)
    } catch {
      throw Malformed(message: error.message, hint: "")
    }
  }
}
