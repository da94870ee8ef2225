import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

extension ManifestLoader {
  /// Reads the options that refer to the data: `emit`, `capture`, `bookmark`, `paginate`.
  mutating func readPaths(
    _ draft: Draft, _ schema: Schema?, _ facts: TypeFacts?, _ keys: KeyRules,
    _ operation: inout BatchOperation
  ) {
    let options = draft.options
    let tree = SelectionTree(operation.template.callerDocument, operation.template.definition)
    let shape = PathShape(
      operation.template.callerDocument, operation.template.definition, schema)
    if let text = options.string(ifGiven: "emit") {
      operation.emit = path(text, "emit", options.location(of: "emit"), shape, endsAt: .record)
    }
    let emitted = operation.emit?.keys ?? []
    operation.columns = tree.columns(at: emitted)
    for (name, text) in options.stringMap("capture") {
      if let path = path(
        text, "capture", options.location(of: "capture.\(name)"), shape, endsAt: .value)
      {
        operation.capture.append((name, path))
      }
    }
    for (name, text) in options.stringMap("bookmark") {
      let location = options.location(of: "bookmark.\(name)")
      guard let bookmark = Bookmark(name: name, text) else {
        report(
          .path, "the bookmark `\(name)` cannot be read", location,
          "write `max(field)`, `min(field)` or `last(field)`")
        continue
      }
      check(bookmark.path, "bookmark", location, shape, below: operation.emit, endsAt: .record)
      operation.bookmarks.append(bookmark)
    }
    if let given = options.object(ifGiven: "paginate") {
      readPagination(given, tree, shape, facts, keys, &operation)
    }
  }

  /// Validates the paths of the `expect` conditions.
  mutating func checkExpectations(_ draft: Draft, _ schema: Schema?, _ operation: BatchOperation) {
    let shape = PathShape(
      operation.template.callerDocument, operation.template.definition, schema)
    for element in draft.options.values.first(where: { $0.name == "expect" })?.value.elements ?? []
    {
      guard case .string(let text) = element.content, let condition = BatchCondition(text) else {
        continue
      }
      for path in condition.paths {
        if path.keys.first == "emit", path.steps.count > 1 {
          report(
            .path, "`expect` leads to `\(path)`, and the emitted records are only counted",
            element.location, "write `count(emit)`, or a path that begins with `data`")
        } else if path.keys.first == "data", path.steps.count > 1,
          case .key = path.steps[1], let rest = ResultPath(String(path.description.dropFirst(5)))
        {
          check(rest, "expect", element.location, shape, endsAt: .value)
        }
      }
    }
  }

  private mutating func path(
    _ text: String, _ name: String, _ location: FileLocation, _ shape: PathShape,
    endsAt end: PathShape.End
  ) -> ResultPath? {
    guard let path = ResultPath(text) else {
      report(
        .path, "`\(text)` of `\(name)` is no path", location,
        "write response keys and dots, with [*] behind lists: `a.b[*]`")
      return nil
    }
    check(path, name, location, shape, endsAt: end)
    return path
  }

  private mutating func check(
    _ path: ResultPath, _ name: String, _ location: FileLocation, _ shape: PathShape,
    below base: ResultPath? = nil, endsAt end: PathShape.End
  ) {
    guard let problem = shape.problem(of: path, below: base, endsAt: end) else { return }
    report(.path, "`\(name)` \(problem.message)", location, problem.hint)
  }

  // MARK: Pages

  private mutating func readPagination(
    _ options: PluginOptions, _ tree: SelectionTree, _ shape: PathShape, _ facts: TypeFacts?,
    _ keys: KeyRules, _ operation: inout BatchOperation
  ) {
    let declared = operation.template.definition.variables.map(\.name.value)
    let cursor = options.string(ifGiven: "cursor") ?? "after"
    var style: Pagination.Style?
    if let text = options.string(ifGiven: "connection") {
      let location = options.location(of: "connection")
      if let path = path(text, "connection", location, shape, endsAt: .connection) {
        for field in ["hasNextPage", "endCursor"] {
          guard let info = ResultPath("\(path).pageInfo.\(field)"),
            shape.problem(of: path, endsAt: .connection) == nil,
            shape.problem(of: info, endsAt: .value) != nil
          else { continue }
          report(
            .path, "the document does not select `pageInfo.\(field)` of `\(text)`", location,
            "select `pageInfo { hasNextPage endCursor }` there")
        }
        style = .connection(path, cursor: cursor)
        checkVariable(cursor, declared, options.location(of: "cursor"))
      }
    } else if let offset = options.object(ifGiven: "offset") {
      let variable = offset.string(ifGiven: "variable") ?? "offset"
      checkVariable(variable, declared, offset.location(of: "variable"))
      if let text = offset.string(ifGiven: "items"),
        let path = path(text, "items", offset.location(of: "items"), shape, endsAt: .list)
      {
        style = .offset(variable: variable, items: path)
      }
    } else {
      report(
        .wrongValue, "`paginate` names neither a `connection` nor an `offset`", options.location,
        "add `connection: path.to.connection`")
    }
    guard let style else { return }
    var pagination = Pagination(style: style)
    pagination.maximumPages = options.int(ifGiven: "max_pages") ?? pagination.maximumPages
    if let size = options.object(ifGiven: "page_size"), let start = size.int(ifGiven: "start") {
      let variable = size.string(ifGiven: "variable") ?? "first"
      checkVariable(variable, declared, size.location(of: "variable"))
      pagination.pageSize = Pagination.PageSize(
        variable: variable, start: start, minimum: min(size.int(ifGiven: "min") ?? 1, start),
        halves: size.string(ifGiven: "on_error") == "halve")
    }
    for nested in options.objects("nested") {
      guard let text = nested.string(ifGiven: "path"), let type = nested.string(ifGiven: "type")
      else { continue }
      let location = nested.location(of: "path")
      guard let path = ResultPath(text) else {
        report(.path, "`\(text)` of `nested` is no path", location)
        continue
      }
      let keysBelow = (operation.emit?.keys ?? []) + path.keys
      for text in ["\(path).pageInfo.endCursor", "id"] {
        if let path = ResultPath(text) {
          check(path, "nested", location, shape, below: operation.emit, endsAt: .value)
        }
      }
      if let document = NestedDocument(tree, operation.template, keysBelow, type: type).document,
        let template = try? OperationTemplate(document: document, keys: keys, facts: facts)
      {
        pagination.nested.append(Pagination.Nested(path: path, template: template))
      } else {
        report(
          .path, "the connection `\(text)` of `nested` cannot be asked for by itself", location,
          "it must be a field of the emitted record")
      }
    }
    operation.pagination = pagination
  }

  private mutating func checkVariable(
    _ name: String, _ declared: [String], _ location: FileLocation
  ) {
    guard !declared.contains(name) else { return }
    report(
      .variable, "`paginate` sets the variable `\(name)`, which the operation does not declare",
      location, suggestion(for: name, in: declared).map { "did you mean `\($0)`?" })
  }
}
