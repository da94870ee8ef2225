import GQLRunCache
import GQLRunPipeline

/// Which sinks write the results of which operations, and in which format.
struct SinkPlan: Sendable {
  /// One file, or one table of a database.
  struct Entry: Sendable {
    /// The index of the first sink of the manifest that writes it.
    var sink: Int
    var path: String
    var format: FileFormat
    var isTable = false
    var table = ""
    var columns: [String] = []
    var key: [String] = []
    /// The content written for each operation, for the journal.
    var takes: [String: String] = [:]

    /// Whether the table is in the database of the queue.
    var isInQueue: Bool { isTable && path.isEmpty }
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
  /// For each operation, its uses of entries, in the order of the sinks.
  var formats: [[Use]] = []

  /// - Parameter suffix: Inserted before the extension, for the files of a shard.
  init(_ manifest: Manifest, suffix: String = "") throws(TaskProblem) {
    var locations: [OutputID: Int] = [:]
    for operation in manifest.operations {
      var uses: [Use] = []
      for (number, settings) in manifest.sinks.enumerated() where settings.takes(operation.id) {
        var path = try TextTemplate.filled(settings.path, operation.id)
        if path != "-" { path = Self.path(path, suffix) }
        guard let output = try settings.sink.output(of: operation, at: path) else {
          cached.append(operation.id)
          continue
        }
        let entry = Entry(
          sink: number, path: path, format: output.format, isTable: output.table != nil,
          table: output.table?.name ?? "", columns: output.table?.columns ?? [],
          key: output.table?.key ?? [])
        let id = OutputID(path: entry.path, table: entry.table)
        let location = locations[id] ?? entries.count
        if location < entries.count,
          entries[location].format != entry.format
            || entries[location].columns != entry.columns || entries[location].key != entry.key
        {
          throw TaskProblem(
            "`\(operation.id)` and another operation write different columns to \(entry.path); "
              + "give each its own, as with {{op}}")
        }
        if locations[id] == nil {
          locations[id] = location
          entries.append(entry)
        }
        let before = entries[location].takes[operation.id].map { $0 + ", " } ?? ""
        entries[location].takes[operation.id] = before + output.records.shown(operation.emit)
        uses.append(Use(format: output.records, entry: location))
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
}

extension TextTemplate {
  /// A path or table name with the operation's id filled in.
  static func filled(_ text: String, _ operation: String) throws(TaskProblem) -> String {
    var scope = Scope()
    scope.operation = operation
    let template: TextTemplate
    do throws(Malformed) {
      template = try TextTemplate(text)
    } catch {
      throw TaskProblem(error.message)
    }
    return try template.text(in: scope)
  }
}

extension SinkPlan {
  /// Warnings about columns that the manifest names and no record had.
  func warnings(_ manifest: Manifest) -> [String] {
    manifest.operations.flatMap { operation in
      formats[operation.index].compactMap { use in
        let missing = use.format.missingColumns
        guard !missing.isEmpty else { return nil }
        return
          "no record of `\(operation.id)` had \(missing.map { "`\($0)`" }.joined(separator: ", ")): "
          + "the column\(missing.count == 1 ? " is" : "s are") empty in \(entries[use.entry].path)"
      }
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
  fileprivate func shown(_ emit: ResultPath?) -> String {
    (writesResults ? "results" : "records" + (emit.map { " \($0)" } ?? ""))
      + (writesGaps ? ", gaps" : "")
  }
}
