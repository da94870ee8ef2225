import GQLRunCache
import GQLRunLanguage

extension TablePlanner {
  /// What a field has in a result.
  enum Kind {
    case leaf, object, list, connection
  }

  /// How the pages of a connection are requested.
  struct Paging {
    var cursor: (name: String, type: TypeReference)
    var size: (name: String, type: TypeReference)?
    var pageSize: Int?
    /// `hasNextPage` and `endCursor`, or `hasPreviousPage` and `startCursor`.
    var infoNames: [String]
    /// Why only the first page can be had; `nil` if all can.
    var problem: String?
  }

  func kind(of field: SelectedField) -> Kind {
    guard let object = field.object else { return .leaf }
    let types = field.uses.compactMap(\.type)
    guard schema != nil, types.count == field.uses.count else {
      return object.fields(named: "nodes", "edges").contains { $0.object != nil }
        ? .connection : .object
    }
    if types.contains(where: { $0.listDepth > 0 }) { return .list }
    return types.contains { isConnection($0.namedType.value) } ? .connection : .object
  }

  /// Whether a field of the query type is GitHub's `rateLimit`: by its type, or without a schema by its name and fields.
  ///
  /// https://docs.github.com/en/graphql/reference/objects#ratelimit
  func isRateLimit(_ field: SelectedField) -> Bool {
    guard field.name == "rateLimit", let object = field.object else { return false }
    if let schema, let type = field.uses.first?.type?.namedType.value {
      return ["cost", "remaining", "resetAt"].allSatisfy { schema.field($0, on: type) != nil }
    }
    let names = ["cost", "limit", "nodeCount", "remaining", "resetAt", "used", "__typename"]
    return object.fields.allSatisfy { $0.object == nil && names.contains($0.name) }
  }

  /// Whether the type has `pageInfo` and a list of objects.
  private func isConnection(_ name: String) -> Bool {
    guard let schema, let info = schema.field("pageInfo", on: name)?.type.namedType.value,
      schema.field("hasNextPage", on: info) ?? schema.field("hasPreviousPage", on: info) != nil
    else { return false }
    return !listNames(of: name).isEmpty
  }

  /// The names of the lists of a connection type: `edges` and `nodes`, or if it has neither, all lists of objects.
  private func listNames(of type: String) -> [String] {
    guard let schema, let fields = schema.type(named: type)?.fields else { return [] }
    let lists = fields.filter {
      $0.type.listDepth > 0 && schema.namedType(of: $0.type)?.isComposite == true
    }
    let names = lists.map(\.name.value)
    let usual = names.filter { ["edges", "nodes"].contains($0) }
    return usual.isEmpty ? names : usual
  }

  /// The lists of a connection, or of an object like one, that the document selects.
  func lists(of field: SelectedField) -> [SelectedField] {
    let types = field.uses.compactMap { $0.type?.namedType.value }
    let names = types.count == field.uses.count ? types.flatMap(listNames) : ["edges", "nodes"]
    return field.object?.fields.filter { $0.object != nil && names.contains($0.name) } ?? []
  }

  /// The list of a connection that has the rows; `nil` if the document selects none.
  mutating func chosen(_ lists: [SelectedField], path: [String]) -> SelectedField? {
    guard lists.count > 1 else { return lists.first }
    let path = path.joined(separator: ".")
    // Edges that only have cursors have no rows.
    let nodes = lists.filter { list in
      list.name == "nodes"
        || list.object?.fields.contains { !["cursor", "__typename"].contains($0.name) } == true
    }
    guard nodes.count == 1, let list = nodes.first else {
      fail(
        "`\(path)` selects its elements twice, as \(lists.map { "`\($0.key)`" }.joined(separator: " and "))",
        hint: "select them once: `edges` if fields of the edges are columns, else `nodes`",
        at: lists[1].location)
      return lists.first
    }
    note("the cursors of `\(path)` are in no table")
    return list
  }

  /// The arguments of a connection for cursor and size; `nil` if a problem was recorded.
  mutating func paging(of field: SelectedField, path: [String]) -> Paging? {
    let arguments = field.uses.map { Set($0.field.arguments.map(\.name.value)) }
    guard !arguments.contains(where: { $0.isSuperset(of: ["first", "last"]) }) else {
      fail(
        "`\(path.joined(separator: "."))` has `first` and `last`, so that nothing tells in which direction its pages go",
        hint: "keep one of them", at: field.location)
      return nil
    }
    let directions = Set(
      arguments.map { given in
        given.contains("last")
          || given.contains("before") && given.isDisjoint(with: ["first", "after"])
      })
    let isMixed = !field.uses.allSatisfy { use in
      schema == nil || use.type.map { isConnection($0.namedType.value) } ?? true
    }
    guard directions.count == 1, let isBackward = directions.first, !isMixed else {
      fail(
        "`\(path.joined(separator: "."))` is a connection with other pages for each of several types",
        hint: "give the fields aliases, so that each is a table", at: field.location)
      return nil
    }
    let location = field.location
    let (cursor, size) = isBackward ? ("before", "last") : ("after", "first")
    let definition = field.uses[0].parent.flatMap { schema?.field(field.name, on: $0) }
    let given = field.uses[0].field.arguments.first { $0.name.value == size }
    var paging = Paging(
      cursor: (cursor, .named(Name("String", at: location))),
      size: (size, .named(Name("Int", at: location))), pageSize: given.flatMap { number($0.value) },
      infoNames: isBackward ? ["hasPreviousPage", "startCursor"] : ["hasNextPage", "endCursor"])
    guard let schema, let definition else {
      if given == nil { paging.size = nil }
      return paging
    }
    paging.size = definition.argument(named: size).map { (size, $0.type) }
    let info = schema.field("pageInfo", on: definition.type.namedType.value)?.type.namedType.value
    let missing = paging.infoNames.first { name in
      info.flatMap { schema.field(name, on: $0) } == nil
    }
    let shown = path.joined(separator: ".")
    if let argument = definition.argument(named: cursor), missing == nil {
      paging.cursor.type = argument.type
      return paging
    }
    let reason =
      missing.map { "its `pageInfo` has no `\($0)`" } ?? "it takes no argument `\(cursor)`"
    failOrAllow(
      "only the first page of `\(shown)` can be had: \(reason)",
      hint: "`allow_partial: true` accepts tables without the others", at: location)
    guard settings.allowPartial || settings.bulk != nil, missing == nil else { return nil }
    paging.problem = reason
    return paging
  }

  /// The number of a literal, or of a variable's default.
  private func number(_ value: Value) -> Int? {
    switch value {
    case .int(let text, _): return Int(text).map(Continuation.bounded)
    case .variable(let name):
      let variable = template.definition.variables.first { $0.name.value == name.value }
      return variable?.defaultValue.flatMap { $0.isConstant ? number($0) : nil }
    default: return nil
    }
  }

  // MARK: Lists that are no connections

  /// Reports an object with a list whose arguments select a part of it, and which does not tell whether there is more.
  mutating func checkUnpaged(_ field: SelectedField, _ place: Place) {
    guard let type = field.uses.first?.type?.namedType.value, !lists(of: field).isEmpty else {
      return
    }
    check(field, place, because: "its type `\(type)` has no `pageInfo`")
  }

  /// Reports a list whose arguments select a part of it.
  mutating func checkList(_ field: SelectedField, _ place: Place) {
    check(field, place, because: "it is a list without `pageInfo`")
    guard field.uses.contains(where: { ($0.type?.listDepth ?? 0) > 1 }) else { return }
    fail(
      "`\((place.path + [field.key]).joined(separator: "."))` is a list of lists of objects, which is no table",
      hint: "leave it out", at: field.location)
  }

  private mutating func check(_ field: SelectedField, _ place: Place, because reason: String) {
    guard let parent = field.uses[0].parent,
      let arguments = schema?.field(field.name, on: parent)?.arguments
    else { return }
    let path = (place.path + [field.key]).joined(separator: ".")
    // An argument `after` may also be a date.
    let cursor = arguments.first {
      let type = $0.type.namedType.value
      return ["after", "before", "cursor"].contains($0.name.value)
        && (["String", "ID"].contains(type) || type.hasSuffix("Cursor"))
    }
    if let cursor {
      failOrAllow(
        "`\(path)` takes `\(cursor.name.value)`, and nothing tells whether it has more pages: \(reason)",
        hint: "`allow_partial: true` accepts the first page", at: field.location)
    } else if let page = arguments.first(where: { Self.pageArguments.contains($0.name.value) }) {
      note("`\(path)` takes `\(page.name.value)`: its table has what one response has")
    }
  }

  /// The names of arguments that select a part of a list.
  private static let pageArguments: Set<String> = [
    "first", "last", "limit", "offset", "skip", "take", "page", "perPage", "pageSize",
    "currentPage",
  ]

  // MARK: Columns

  func columnKind(of field: SelectedField) -> TableColumn.Kind {
    guard let type = field.uses.first?.type else { return .any }
    if type.listDepth > 0 { return .json }
    switch type.namedType.value {
    case "Int": return .integer
    case "Float": return .real
    case "Boolean": return .boolean
    case "String", "ID": return .text
    default: break
    }
    if case .enumeration? = schema?.namedType(of: type) { return .text }
    return .any
  }
}
