import GQLRunCache
import GQLRunPipeline

/// Which sinks write the results of which operations, and in which format.
struct SinkPlan: Sendable {
  /// One file, or one table of a database.
  struct Entry: Sendable {
    /// Where the manifest has the path of the first sink that writes it, or of the tables.
    var location: FileLocation?
    var path: String
    var format: FileFormat
    var isTable = false
    var table = ""
    var columns: [String] = []
    var key: [String] = []
    /// What one of the tables of an operation has; `nil` for a sink.
    var relation: TableRelation?
    /// The content written for each operation, for the journal.
    var takes: [String: String] = [:]

    /// The columns, with that of the task in a table without a key.
    var allColumns: [String] { key.isEmpty ? columns + ["_task"] : columns }
    /// Whether the table is in the database of the queue.
    var isInQueue: Bool { isTable && path.isEmpty }
    /// The name in messages.
    var shown: String {
      if relation == nil { return "the sink `\(path)`" }
      return isTable ? "the database of tables `\(path)`" : "the table `\(path)`"
    }
  }

  /// How an operation writes to an entry.
  struct Use: Sendable {
    var format: any ResultFormat
    /// The index in `entries`.
    var entry: Int
  }

  var entries: [Entry] = []
  /// The ids of the operations whose results are stored in the cache.
  var cached: [String] = []
  /// For each operation, its uses of entries, in the order of the sinks, or of its tables.
  var formats: [[Use]] = []
  /// The indices in `entries`. SQLite ignores the case of ASCII letters in names of tables.
  private var locations: [OutputID: Int] = [:]

  /// - Parameter suffix: Inserted before the extension, for the files of a shard.
  init(_ manifest: Manifest, suffix: String = "") throws(TaskProblem) {
    for operation in manifest.operations {
      // An operation has either tables, or sinks that take its results.
      var uses = try uses(of: manifest.sinks, operation, suffix: suffix)
      if let tables = operation.tables {
        for index in tables.plan.tables.indices {
          let (entry, format) = tables.entry(of: index, operation, suffix: suffix)
          uses.append(Use(format: format, entry: try add(entry, of: operation)))
        }
      }
      formats.append(uses)
    }
  }

  /// Adds the sinks of an operation.
  private mutating func uses(
    of sinks: [SinkSettings], _ operation: BatchOperation, suffix: String
  ) throws(TaskProblem) -> [Use] {
    var uses: [Use] = []
    for settings in sinks where settings.takes(operation) {
      var path = try TextTemplate.filled(settings.path, operation.id)
      if path != "-" { path = Self.path(path, suffix) }
      guard let output = try settings.sink.output(of: operation, at: path) else {
        cached.append(operation.id)
        continue
      }
      var entry = output.entry
      entry.location = settings.location
      let location = try add(entry, of: operation)
      let before = entries[location].takes[operation.id].map { $0 + ", " } ?? ""
      entries[location].takes[operation.id] = before + output.records.shown(operation)
      uses.append(Use(format: output.records, entry: location))
    }
    return uses
  }

  /// Adds an entry, unless a sink of another operation is the same; returns its index.
  private mutating func add(
    _ entry: Entry, of operation: BatchOperation
  ) throws(TaskProblem) -> Int {
    let id = OutputID(
      path: entry.path, table: entry.isInQueue ? entry.table : entry.table.asciiLowercased)
    guard let known = locations[id] else {
      locations[id] = entries.count
      entries.append(entry)
      return entries.count - 1
    }
    let other = entries[known]
    guard entry.relation == nil, other.relation == nil else {
      let place = entry.isInQueue ? "the database of the queue" : entry.path
      throw TaskProblem(
        entry.isTable
          ? "`\(operation.id)` and another operation write the table `\(entry.table)` of \(place); "
            + "give one of the tables another name with `as`"
          : "`\(operation.id)` and another operation write \(place); give one of the tables another "
            + "name with `as`, or another folder")
    }
    guard other.format == entry.format, other.columns == entry.columns, other.key == entry.key
    else {
      throw TaskProblem(
        "`\(operation.id)` and another operation write different columns to \(entry.path); "
          + "give each its own, as with {{op}}")
    }
    return known
  }

  static func path(_ path: String, _ suffix: String) -> String {
    guard !suffix.isEmpty else { return path }
    let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    guard let dot = path[start...].firstIndex(of: "."), dot > start else {
      return "\(path).\(suffix)"
    }
    return "\(path[..<dot]).\(suffix)\(path[dot...])"
  }
}

extension TextTemplate {
  /// A path or table name with the operation's id filled in.
  static func filled(_ text: String, _ operation: String) throws(TaskProblem) -> String {
    let template: TextTemplate
    do throws(MalformedText) {
      template = try TextTemplate(text)
    } catch {
      throw TaskProblem(error.message)
    }
    return try template.text(in: Scope(operation: operation))
  }
}

extension SinkPlan {
  /// Warnings about columns that the manifest names and no record had.
  func warnings(_ manifest: Manifest) -> [String] {
    manifest.operations.flatMap { operation in
      formats[operation.index].compactMap { use in
        let missing = use.format.usage?.missing ?? []
        guard !missing.isEmpty else { return nil }
        return
          "no record of `\(operation.id)` had \(missing.map { "`\($0)`" }.joined(separator: ", ")): "
          + "the column\(missing.count == 1 ? " is" : "s are") empty in \(entries[use.entry].path)"
      }
    }
  }

  /// The paths of the files, without standard output.
  var filePaths: [String] { entries.filter { !$0.isTable && $0.path != "-" }.map(\.path) }

  /// The tables of operations that are files.
  var fileRelations: [TableRelation] { entries.filter { !$0.isTable }.compactMap(\.relation) }

  /// The rows in the tables of operations, in the order of the manifest, that a journal has recorded.
  func tableCounts(_ journal: Journal, _ base: OutputPath) throws -> [TableSink.Counts] {
    let files = try journal.sinks()
    let outputs = Dictionary(try journal.outputs().map { ($0.id, $0) }) { $1 }
    return entries.filter { $0.relation != nil }.map { entry in
      let name = base.relative(entry.path)
      var counts = outputs[OutputID(path: name, table: entry.table)]?.counts ?? TableSink.Counts()
      if !entry.isTable { counts.records = files[name]?.records ?? 0 }
      return counts
    }
  }

  /// The outputs of the run, as the journal records them.
  func outputs(_ base: OutputPath, cache: CacheStore?) -> [OutputRecord] {
    var outputs = entries.map { entry in
      OutputRecord(
        path: base.relative(entry.path), name: entry.table, format: entry.format.name,
        takes: entry.takes)
    }
    if !cached.isEmpty {
      outputs.append(
        OutputRecord(
          path: "", name: "cache", format: "cache",
          takes: Dictionary(cached.map { ($0, "cache") }) { first, _ in first },
          identity: cache.map { "\($0.records.segmentSeed)" }))
    }
    return outputs
  }
}

extension ResultFormat {
  /// The written content, as the journal records it.
  fileprivate func shown(_ operation: BatchOperation) -> String {
    var text = "records" + (operation.emit.map { " \($0)" } ?? "")
    if writesResults {
      let columns = operation.columns.taskColumns
      text = "results" + (columns.isEmpty ? "" : " with \(columns)")
    } else if operation.columns.areGiven {
      text += " as \(operation.columns)"
    }
    return text + (writesGaps ? ", gaps" : "")
  }
}
