import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

extension ManifestLoader {
  /// Reads what refers to the data: records, pages, captures, bookmarks.
  mutating func readPaths(
    _ draft: Draft, _ schema: Schema?, _ facts: TypeFacts?, _ keys: KeyRules,
    _ operation: inout BatchOperation
  ) {
    let options = draft.options
    let tree = SelectionTree(operation.template.callerDocument, operation.template.definition)
    if let text = options.string(ifGiven: "emit") {
      operation.emit = path(text, "emit", options.place(of: "emit"), tree)
    }
    let emitted = operation.emit?.keys ?? []
    operation.columns = tree.columns(at: emitted)
    for (name, text) in options.stringMap("capture") {
      if let path = path(text, "capture", options.place(of: "capture"), tree) {
        operation.capture.append((name, path))
      }
    }
    for (name, text) in options.stringMap("bookmark") {
      let place = options.place(of: "bookmark")
      guard let bookmark = Bookmark(name: name, text) else {
        report(
          .path, "the bookmark `\(name)` cannot be read", place,
          "write `max(field)`, `min(field)` or `last(field)`")
        continue
      }
      check(emitted + bookmark.path.keys, "bookmark", place, tree)
      operation.bookmarks.append(bookmark)
    }
    if let given = options.object(ifGiven: "paginate") {
      readPagination(given, tree, facts, keys, &operation)
    }
  }

  private mutating func path(
    _ text: String, _ name: String, _ place: SourcePlace, _ tree: SelectionTree
  ) -> ResultPath? {
    guard let path = ResultPath(text) else {
      report(
        .path, "`\(text)` of `\(name)` is no path", place,
        "write response keys and dots, with [*] behind lists: `a.b[*]`")
      return nil
    }
    check(path.keys, name, place, tree)
    return path
  }

  private mutating func check(
    _ keys: [String], _ name: String, _ place: SourcePlace, _ tree: SelectionTree
  ) {
    guard let problem = tree.problem(of: keys) else { return }
    report(
      .path, "`\(name)` leads to `\(problem.name)`, which the document does not select", place,
      problem.suggestion.map { "did you mean `\($0)`?" })
  }

  // MARK: Pages

  private mutating func readPagination(
    _ options: PluginOptions, _ tree: SelectionTree, _ facts: TypeFacts?, _ keys: KeyRules,
    _ operation: inout BatchOperation
  ) {
    let declared = operation.template.definition.variables.map(\.name.value)
    let cursor = options.string(ifGiven: "cursor") ?? "after"
    var style: Pagination.Style?
    if let text = options.string(ifGiven: "connection") {
      let place = options.place(of: "connection")
      if let path = path(text, "connection", place, tree) {
        for field in ["hasNextPage", "endCursor"] {
          guard tree.problem(of: path.keys + ["pageInfo", field]) != nil else { continue }
          report(
            .path, "the document does not select `pageInfo.\(field)` of `\(text)`", place,
            "select `pageInfo { hasNextPage endCursor }` there")
        }
        style = .connection(path, cursor: cursor)
        checkVariable(cursor, declared, options.place(of: "cursor"))
      }
    } else if let offset = options.object(ifGiven: "offset") {
      let variable = offset.string(ifGiven: "variable") ?? "offset"
      checkVariable(variable, declared, offset.place(of: "variable"))
      if let text = offset.string(ifGiven: "items"),
        let path = path(text, "items", offset.place(of: "items"), tree)
      {
        style = .offset(variable: variable, items: path)
      }
    } else {
      report(
        .wrongValue, "`paginate` names neither a `connection` nor an `offset`", options.place,
        "add `connection: path.to.connection`")
    }
    guard let style else { return }
    var pagination = Pagination(style: style)
    pagination.maximumPages = options.int(ifGiven: "max_pages") ?? pagination.maximumPages
    if let size = options.object(ifGiven: "page_size"), let start = size.int(ifGiven: "start") {
      let variable = size.string(ifGiven: "variable") ?? "first"
      checkVariable(variable, declared, size.place(of: "variable"))
      pagination.pageSize = Pagination.PageSize(
        variable: variable, start: start, minimum: min(size.int(ifGiven: "min") ?? 1, start),
        halves: size.string(ifGiven: "on_error") == "halve")
    }
    for nested in options.objects("nested") {
      guard let text = nested.string(ifGiven: "path"), let type = nested.string(ifGiven: "type")
      else { continue }
      let place = nested.place(of: "path")
      guard let path = ResultPath(text) else {
        report(.path, "`\(text)` of `nested` is no path", place)
        continue
      }
      let keysBelow = (operation.emit?.keys ?? []) + path.keys
      check(keysBelow + ["pageInfo", "endCursor"], "nested", place, tree)
      check((operation.emit?.keys ?? []) + ["id"], "nested", place, tree)
      if let document = NestedDocument(tree, operation.template, keysBelow, type: type).document,
        let template = try? OperationTemplate(document: document, keys: keys, facts: facts)
      {
        pagination.nested.append(Pagination.Nested(path: path, template: template))
      } else {
        report(
          .path, "the connection `\(text)` of `nested` cannot be asked for by itself", place,
          "it must be a field of the emitted record")
      }
    }
    operation.pagination = pagination
  }

  private mutating func checkVariable(
    _ name: String, _ declared: [String], _ place: SourcePlace
  ) {
    guard !declared.contains(name) else { return }
    report(
      .variable, "`paginate` sets the variable `\(name)`, which the operation does not declare",
      place, suggestion(for: name, in: declared).map { "did you mean `\($0)`?" })
  }

  // MARK: Sinks

  mutating func sinks(_ node: YAMLNode?, _ operations: [BatchOperation]) -> [SinkSettings] {
    guard let node, !node.isNull else {
      return [SinkSettings(kind: .ndjson(isCompressed: false, lines: .auto), path: "-")]
    }
    guard case .sequence(let nodes) = node.content else {
      report(
        .wrongValue, "`sinks` is a list, not \(node.kind)", node.place,
        "write `- ndjson: { path: out.ndjson }`")
      return []
    }
    return nodes.compactMap { sink($0, operations) }
  }

  private mutating func sink(
    _ node: YAMLNode, _ operations: [BatchOperation]
  ) -> SinkSettings? {
    var name: String
    var value: YAMLNode?
    var place = node.place
    switch node.content {
    case .scalar(let text, _): name = text
    case .mapping(let members) where members.count == 1:
      name = members[0].key
      value = members[0].value
      place = members[0].keyPlace
    default:
      report(.wrongValue, "a sink is one kind with its options", node.place)
      return nil
    }
    guard let table = Self.sinkTables.first(where: { $0.kind == name })?.table else {
      let kinds = Self.sinkTables.map(\.kind)
      report(
        .unknownName, "there is no sink `\(name)`", place,
        suggestion(for: name, in: kinds).map { "did you mean `\($0)`?" }
          ?? "there are \(kinds.joined(separator: ", "))")
      return nil
    }
    let options = decoder.options(
      value, table: table, owner: .init(subject: "`\(name)`", noun: "option"), place: place)
    let ids = operations.map(\.id)
    let known = Set(ids)
    for element in options.values.first(where: { $0.name == "operations" })?.value.elements ?? [] {
      guard case .string(let id) = element.content, !ids.isEmpty, !known.contains(id) else {
        continue
      }
      report(
        .needs, "the sink names the operation `\(id)`, and there is none", element.place,
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
        checkPlaceholders(path, options.place(of: "path"))
        settings = SinkSettings(kind: kind(name, options, path), path: path)
      }
    }
    settings.operations = options.strings("operations")
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

  private mutating func checkPlaceholders(_ path: String, _ place: SourcePlace) {
    _ = textTemplate(path, place, known: KnownNames(roots: ["op": .init([])]))
  }
}
