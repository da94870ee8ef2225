import GQLRunCache
import GQLRunJSON
import GQLRunPipeline

/// Which sinks write the results of which operations, and in which format.
struct SinkPlan: Sendable {
  /// One file, or one table of a database.
  struct Entry: Sendable {
    /// The index of the first sink of the manifest that writes it.
    var sink: Int
    var path: String
    var format = FileSink.Format.lines
    var isTable = false
    var table = ""
    var columns: [String] = []
    var key: [String] = []
    /// The content written for each operation, for the journal.
    var takes: [String: String] = [:]
  }

  struct Use: Sendable {
    var format: SinkFormat
    /// The index in `entries`; `nil` for the cache, which the pipeline writes.
    var entry: Int?
  }

  var entries: [Entry] = []
  /// The ids of the operations whose results are stored in the cache.
  var cached: [String] = []
  /// For each operation, its use of each sink.
  var formats: [[Use]] = []

  /// - Parameter suffix: Inserted before the extension, for the files of a shard.
  init(_ manifest: Manifest, suffix: String = "") throws(TaskProblem) {
    var locations: [String: Int] = [:]
    for operation in manifest.operations {
      var uses: [Use] = []
      for (number, sink) in manifest.sinks.enumerated() {
        guard sink.takes(operation.id), sink.kind != .cache else {
          uses.append(Use(format: SinkFormat(kind: .nothing, emit: nil), entry: nil))
          if sink.kind == .cache, sink.takes(operation.id) { cached.append(operation.id) }
          continue
        }
        var path = try TextTemplate.filled(sink.path, operation.id)
        if path != "-" { path = Self.path(path, suffix) }
        var entry = Entry(sink: number, path: path)
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
        let location = locations[name] ?? entries.count
        if location < entries.count,
          entries[location].format != entry.format
            || entries[location].columns != entry.columns || entries[location].key != entry.key
        {
          throw TaskProblem(
            "`\(operation.id)` and another operation write different columns to \(entry.path); "
              + "give each its own, as with {{op}}")
        }
        if locations[name] == nil {
          locations[name] = location
          entries.append(entry)
        }
        let before = entries[location].takes[operation.id].map { $0 + ", " } ?? ""
        entries[location].takes[operation.id] = before + kind.shown(operation.emit)
        var format = SinkFormat(kind: kind, emit: operation.emit)
        if case .csv(let columns) = sink.kind, !columns.isEmpty {
          format.usage = ColumnUsage(columns)
        }
        uses.append(Use(format: format, entry: location))
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
  /// A path or table name with the operation's id filled in.
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

extension SinkPlan {
  /// Warnings about columns that the manifest names and no record had.
  func warnings(_ manifest: Manifest) -> [String] {
    manifest.operations.flatMap { operation in
      formats[operation.index].compactMap { use in
        guard let missing = use.format.usage?.missing, !missing.isEmpty, let entry = use.entry
        else {
          return nil
        }
        return
          "no record of `\(operation.id)` had \(missing.map { "`\($0)`" }.joined(separator: ", ")): "
          + "the column\(missing.count == 1 ? " is" : "s are") empty in \(entries[entry].path)"
      }
    }
  }

  /// The outputs of the run, as the journal records them.
  func outputs(_ base: OutputPath, cache: CacheStore?) -> [OutputRecord] {
    var outputs = entries.map { entry in
      OutputRecord(
        path: base.relative(entry.path), name: entry.table, format: entry.shownFormat,
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

extension SinkPlan.Entry {
  /// The format with all settings that determine the meaning of the bytes.
  fileprivate var shownFormat: String {
    if isTable { return "sqlite" + (key.isEmpty ? "" : " key " + key.joined(separator: ",")) }
    switch format {
    case .lines: return "ndjson"
    case .gzip: return "ndjson.gz"
    case .json: return "json"
    case .csv(let header): return "csv " + header.filter { $0 != "\n" }
    }
  }
}

extension SinkFormat.Kind {
  /// The written content, as the journal records it.
  fileprivate func shown(_ emit: ResultPath?) -> String {
    if case .results = self { return "results" }
    return "records" + (emit.map { " \($0)" } ?? "")
  }
}
