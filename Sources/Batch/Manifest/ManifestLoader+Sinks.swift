import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

/// The sinks of a manifest.
extension ManifestLoader {
  mutating func sinks(
    _ node: YAMLNode?, _ operations: [BatchOperation], _ schema: Schema?
  ) -> [SinkSettings] {
    guard let node, !node.isNull else {
      return [SinkSettings(kind: .ndjson(isCompressed: false, lines: .auto), path: "-")]
    }
    guard case .sequence(let nodes) = node.content else {
      report(
        .wrongValue, "`sinks` is a list, not \(node.kind)", node.location,
        "write `- ndjson: { path: out.ndjson }`")
      return []
    }
    return nodes.compactMap { sink($0, operations, schema) }
  }

  private mutating func sink(
    _ node: YAMLNode, _ operations: [BatchOperation], _ schema: Schema?
  ) -> SinkSettings? {
    var name: String
    var value: YAMLNode?
    var location = node.location
    switch node.content {
    case .scalar(let text, _): name = text
    case .mapping(let members) where members.count == 1:
      name = members[0].key
      value = members[0].value
      location = members[0].keyLocation
    default:
      report(.wrongValue, "a sink is one kind with its options", node.location)
      return nil
    }
    guard let table = Self.sinkTables.first(where: { $0.kind == name })?.table else {
      let kinds = Self.sinkTables.map(\.kind)
      report(
        .unknownName, "there is no sink `\(name)`", location,
        suggestion(for: name, in: kinds).map { "did you mean `\($0)`?" }
          ?? "there are \(kinds.joined(separator: ", "))")
      return nil
    }
    let options = decoder.options(
      value, table: table, owner: .init(subject: "`\(name)`", noun: "option"), location: location)
    let ids = operations.map(\.id)
    let known = Set(ids)
    for element in options.values.first(where: { $0.name == "operations" })?.value.elements ?? [] {
      guard case .string(let id) = element.content, !ids.isEmpty, !known.contains(id) else {
        continue
      }
      report(
        .needs, "the sink names the operation `\(id)`, and there is none", element.location,
        hint(for: id, among: ids))
    }
    var settings: SinkSettings
    if name == "cache" {
      settings = SinkSettings(kind: .cache, path: "")
    } else {
      guard let text = options.string(ifGiven: "path") else { return nil }
      if name == "ndjson", text == "-" {
        settings = SinkSettings(
          kind: .ndjson(isCompressed: false, lines: options.choice(ifGiven: "lines") ?? .auto),
          path: "-")
      } else {
        guard let path = output("path", options) else { return nil }
        checkPlaceholders(path, options.location(of: "path"))
        settings = SinkSettings(kind: kind(name, options, path), path: path)
      }
    }
    settings.operations = options.strings("operations")
    settings.location =
      name == "cache" || options["path"] == nil ? location : options.location(of: "path")
    checkColumns(settings, options, operations.filter { settings.takes($0.id) }, schema)
    return settings
  }

  private func kind(_ name: String, _ options: PluginOptions, _ path: String) -> SinkSettings.Kind {
    switch name {
    case "csv": .csv(columns: options.strings("columns"))
    case "json": .json
    case "sqlite":
      .sqlite(table: options.string(ifGiven: "table") ?? "{{op}}", key: options.strings("key"))
    default:
      .ndjson(
        isCompressed: options.bool(ifGiven: "gzip") ?? path.hasSuffix(".gz"),
        lines: options.choice(ifGiven: "lines") ?? .auto)
    }
  }

  private mutating func checkPlaceholders(_ path: String, _ location: FileLocation) {
    _ = textTemplate(path, location, known: KnownNames(roots: ["op": .init([])]))
  }

  // MARK: Columns

  /// Validates the columns, keys and table name of a sink against the records of its operations.
  private mutating func checkColumns(
    _ sink: SinkSettings, _ options: PluginOptions, _ operations: [BatchOperation],
    _ schema: Schema?
  ) {
    switch sink.kind {
    case .csv(let columns):
      if columns.isEmpty { return checkHasColumns(sink, "csv", operations, schema) }
      checkPaths("columns", options, operations, schema)
    case .sqlite(let table, let key):
      let location = options.location(of: "table")
      _ = textTemplate(table, location, known: KnownNames(roots: ["op": .init([])]))
      checkHasColumns(sink, "sqlite", operations, schema)
      checkPaths("key", options, operations, schema)
      if Set(key).count < key.count {
        report(.wrongValue, "`key` names a column twice", options.location(of: "key"))
      }
      for operation in operations { checkTable(table, key, location, operation) }
    default: return
    }
  }

  private mutating func checkTable(
    _ template: String, _ key: [String], _ location: FileLocation, _ operation: BatchOperation
  ) {
    guard let name = try? TextTemplate.filled(template, operation.id) else { return }
    let lower = name.asciiLowercased
    let reason: String? =
      if name.isEmpty {
        "it is empty"
      } else if name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
        "it has a control character"
      } else if lower.hasPrefix("sqlite_") {
        "SQLite keeps names that begin with `sqlite_` to itself"
      } else if lower == TableMarker.tableName {
        "gqlrun keeps its own records in that table"
      } else {
        nil
      }
    if let reason {
      report(
        .wrongValue, "`\(name)` cannot be the name of a table: \(reason)", location,
        "name another table")
    }
    // SQLite ignores the case of ASCII letters in names.
    var seen: [String: String] = key.isEmpty ? ["_task": "_task, which gqlrun adds"] : [:]
    for column in operation.columns + key.filter({ !operation.columns.contains($0) }) {
      guard let other = seen.updateValue(column, forKey: column.asciiLowercased) else { continue }
      report(
        .wrongValue,
        "the columns `\(other)` and `\(column)` of `\(operation.id)` are one column for SQLite",
        location,
        "give one of the fields an alias")
    }
  }

  /// Reports operations without record fields, since the sink needs columns.
  private mutating func checkHasColumns(
    _ sink: SinkSettings, _ kind: String, _ operations: [BatchOperation], _ schema: Schema?
  ) {
    for operation in operations {
      let shape = PathShape(
        operation.template.callerDocument, operation.template.definition, schema)
      guard let location = sink.location, !shape.hasFields(at: operation.emit) else { continue }
      report(
        .path,
        "`\(kind)` has no columns for `\(operation.id)`: "
          + "`emit` leads to \(operation.emit.map { "`\($0)`" } ?? "values"), which has no fields",
        location, "emit an object, or use `ndjson`")
    }
  }

  /// Reports paths that fit the records of none of the operations; a path of `key` must fit all.
  private mutating func checkPaths(
    _ name: String, _ options: PluginOptions, _ operations: [BatchOperation], _ schema: Schema?
  ) {
    for element in options.values.first(where: { $0.name == name })?.value.elements ?? [] {
      guard case .string(let text) = element.content else { continue }
      guard let path = ResultPath(text) else {
        report(
          .path, "`\(text)` of `\(name)` is no path", element.location,
          "write response keys and dots, with [*] behind lists: `a.b[*]`")
        continue
      }
      var problems: [PathShape.Problem] = []
      for operation in operations {
        let shape = PathShape(
          operation.template.callerDocument, operation.template.definition, schema)
        // Errors in `emit` are reported at `emit`.
        if let emit = operation.emit, shape.problem(of: emit, endsAt: .value) != nil { return }
        if let problem = shape.problem(of: path, below: operation.emit, endsAt: .value) {
          problems.append(problem)
        }
      }
      guard let problem = problems.first, name == "key" || problems.count == operations.count
      else { continue }
      report(.path, "`\(text)` of `\(name)` \(problem.message)", element.location, problem.hint)
    }
  }
}
