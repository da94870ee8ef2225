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
    let settings = draft.settings
    let tree = SelectionTree(operation.template.callerDocument, operation.template.definition)
    let shape = operation.shape(schema)
    operation.emit = settings.emit
    if let emit = settings.emit {
      check(emit, "emit", settings.$emit.location, shape, endsAt: .record)
    }
    operation.columns = tree.columns(at: operation.emit?.keys ?? [])
    for entry in settings.capture.entries {
      check(entry.value.value, "capture", entry.value.location, shape, endsAt: .value)
      operation.capture.append((entry.name, entry.value.value))
    }
    for entry in settings.bookmark.entries {
      check(
        entry.value.path, "bookmark", entry.value.location, shape, below: operation.emit,
        endsAt: .record)
      operation.bookmarks.append(Bookmark(name: entry.name, rule: entry.value.value))
    }
    if let paginate = settings.paginate {
      readPagination(paginate, settings.$paginate.location, tree, shape, facts, keys, &operation)
    }
  }

  /// Validates the paths of the `expect` conditions.
  mutating func checkExpectations(_ settings: OperationSettings, _ shape: PathShape) {
    for condition in settings.expect {
      for path in condition.paths {
        if path.keys.first == "emit", path.steps.count > 1 {
          report(
            .path, "`expect` leads to `\(path)`, and the emitted records are only counted",
            condition.location, "write `count(emit)`, or a path that begins with `data`")
        } else if path.keys.first == "data", path.steps.count > 1,
          case .key = path.steps[1], let rest = ResultPath(String(path.description.dropFirst(5)))
        {
          check(rest, "expect", condition.location, shape, endsAt: .value)
        }
      }
    }
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
    _ settings: PaginateSettings, _ location: FileLocation, _ tree: SelectionTree,
    _ shape: PathShape, _ facts: TypeFacts?, _ keys: KeyRules, _ operation: inout BatchOperation
  ) {
    let declared = operation.template.definition.variables.map(\.name.value)
    var style: Pagination.Style?
    if let path = settings.connection {
      let location = settings.$connection.location
      check(path, "connection", location, shape, endsAt: .connection)
      for field in ["hasNextPage", "endCursor"] {
        guard let info = ResultPath("\(path).pageInfo.\(field)"),
          shape.problem(of: path, endsAt: .connection) == nil,
          shape.problem(of: info, endsAt: .value) != nil
        else { continue }
        report(
          .path, "the document does not select `pageInfo.\(field)` of `\(path)`", location,
          "select `pageInfo { hasNextPage endCursor }` there")
      }
      style = .connection(path, cursor: settings.cursor)
      checkVariable(settings.cursor, declared, settings.$cursor.location)
    } else if let offset = settings.offset {
      checkVariable(offset.variable, declared, offset.$variable.location)
      if offset.$items.isUsable {
        check(offset.items, "items", offset.$items.location, shape, endsAt: .list)
        style = .offset(variable: offset.variable, items: offset.items)
      }
    } else if !settings.$connection.isGiven, !settings.$offset.isGiven {
      report(
        .wrongValue, "`paginate` needs a `connection` or an `offset`", location,
        "add `connection: path.to.connection`")
    }
    guard let style else { return }
    var pagination = Pagination(style: style, maximumPages: settings.maxPages)
    if let size = settings.pageSize, size.$start.isUsable {
      checkVariable(size.variable, declared, size.$variable.location)
      pagination.pageSize = Pagination.PageSize(
        variable: size.variable, start: size.start, minimum: min(size.min, size.start),
        halves: size.onError == .halve)
    }
    for nested in settings.nested where nested.$path.isUsable && nested.$type.isUsable {
      let location = nested.$path.location
      let keysBelow = (operation.emit?.keys ?? []) + nested.path.keys
      for text in ["\(nested.path).pageInfo.endCursor", "id"] {
        if let path = ResultPath(text) {
          check(path, "nested", location, shape, below: operation.emit, endsAt: .value)
        }
      }
      let document = NestedDocument(tree, operation.template, keysBelow, type: nested.type).document
      if let document,
        let template = try? OperationTemplate(document: document, keys: keys, facts: facts)
      {
        pagination.nested.append(Pagination.Nested(path: nested.path, template: template))
      } else {
        report(
          .path, "the connection `\(nested.path)` of `nested` cannot be requested by itself",
          location, "it must be a field of the emitted record")
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
