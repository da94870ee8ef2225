import GQLRunCache
import GQLRunJSON
import GQLRunLanguage

/// The document of a bulk operation of Shopify, made from that of an operation with tables:
///
/// ```
/// query($term: String) { products(first: 50, query: $term) { nodes { id title } pageInfo { … } } }
///
/// query gqlrun_9f… { products(query: "hat") { edges { node { gqlrunLine0: __typename id title } } } }
/// ```
///
/// Bulk operations have no variables, no pages and no `nodes`. Their result has a line for each object in a connection; an
/// alias of `__typename` shows of which one. Lines of nested connections have the id of their parent as `__parentId`.
///
/// https://shopify.dev/docs/api/usage/bulk-operations/queries#operation-restrictions
struct BulkDocument: Sendable {
  static let maxConnections = 5
  /// The maximum number of connections around one.
  static let maxNesting = 2

  private let plan: TablePlan
  private let selectionSet: SelectionSet
  /// The object types of the objects in each connection; empty without a schema.
  private let types: [Set<String>]

  /// Rewrites the document of a plan.
  ///
  /// - Throws: Everything that a bulk operation cannot have.
  init(_ plan: TablePlan) throws(TablePlanError) {
    self.plan = plan
    guard
      let document = try? Document(parsingUTF8: Array(plan.template.document.utf8)),
      let operation = document.operations.first
    else { throw TablePlanError(problems: [.init(message: "the document cannot be parsed")]) }
    let schema = plan.template.schema
    var rewriting = BulkRewriting(
      plan, SelectionTree(document, operation: operation, schema: schema))
    selectionSet = rewriting.rewritten()
    types = plan.connections.indices.map { index in
      rewriting.types[index].flatMap { schema?.possibleTypes(of: $0) }.map { Set($0) } ?? []
    }
    let problems = rewriting.problems + Self.restrictions(plan) + Self.keyProblems(plan, types)
    guard problems.isEmpty else { throw TablePlanError(problems: problems) }
  }

  /// The response key by which a line of a connection is recognized.
  static func marker(of connection: Int) -> String { "gqlrunLine\(connection)" }

  // MARK: Restrictions

  /// What Shopify restricts, and what its lines do not have.
  private static func restrictions(_ plan: TablePlan) -> [TablePlanError.Problem] {
    let connections = plan.connections
    var problems: [TablePlanError.Problem] = []
    func report(_ message: String, _ hint: String, of connection: TableConnection? = nil) {
      problems.append(.init(message: message, hint: hint, location: connection?.field?.location))
    }
    if connections.isEmpty {
      report(
        "a bulk operation needs a connection, and the document has none",
        "remove `bulk`: one request has the result")
    }
    if connections.count > maxConnections {
      report(
        "a bulk operation has at most \(maxConnections) connections, and the document has "
          + "\(connections.count)", "read some of them in another operation", of: connections.last)
    }
    for (connection, nesting) in zip(connections, plan.depths) where nesting > maxNesting {
      report(
        "`\(connection.path)` is in \(nesting) connections, and a bulk operation has at most \(maxNesting) around one",
        "read it in another operation", of: connection)
    }
    check(plan.root, path: [], isRoot: true) { report($0, $1) }
    return problems
  }

  /// Reports what the lines of a bulk operation do not have.
  ///
  /// - Parameters:
  ///   - path: The response keys to the object.
  ///   - isRoot: Whether no list is above it.
  ///   - list: The list without pages that it is in.
  ///   - node: The only response key that lines have of the object, which is an edge; `nil` for other objects.
  ///   - isLine: Whether lines have the object: otherwise it is a connection, an edge, or in one of them.
  private static func check(
    _ shape: TableShape, path: [String], isRoot: Bool = false, in list: String? = nil,
    node: String? = nil, isLine: Bool = true, report: (_ message: String, _ hint: String) -> Void
  ) {
    for (key, target) in shape.entries {
      let keys = path + [key]
      let name = keys.joined(separator: ".")
      let isLine = isLine && (node == nil || node == key)
      switch target {
      case .cell:
        guard !isLine else { continue }
        report(
          "`\(name)` is a field of a connection or an edge, which a bulk operation does not have",
          "remove it from the document, or remove `bulk`")
      case .object(let inner) where inner.table != nil:
        report(
          "`\(name)` is a single object, for which a bulk operation has no row",
          "select only connections, or remove `bulk`")
      case .object(let inner):
        let isLine = isLine && inner.connection == nil
        check(inner, path: keys, isRoot: isRoot, in: list, isLine: isLine, report: report)
      case .list(let inner) where inner.connection == nil:
        if isRoot {
          report(
            "`\(name)` is a list without pages, for which a bulk operation has no rows",
            "read it in another operation")
        }
        check(inner.element, path: keys, in: name, report: report)
      case .list(let inner):
        if let list {
          report(
            "a bulk operation cannot read the connection `\(name)` in the list `\(list)`",
            "read it in another operation, or remove `bulk`")
        }
        check(inner.element, path: keys, node: inner.node, report: report)
      }
    }
  }

  /// Parents whose key does not follow from the id that lines have of them.
  private static func keyProblems(
    _ plan: TablePlan, _ types: [Set<String>]
  ) -> [TablePlanError.Problem] {
    Set(plan.connections.compactMap(\.parent)).sorted().flatMap { index in
      types[index].sorted().filter { key(of: $0, id: "1", plan) == nil }.map { type in
        TablePlanError.Problem(
          message: "the key of `\(type)` is not its `id` alone, by which lines of a bulk operation "
            + "name their parent",
          hint: "remove `bulk`, or the key rule of `\(type)`",
          location: plan.connections[index].field?.location)
      }
    }
  }

  private static func key(of type: String, id: String, _ plan: TablePlan) -> String? {
    plan.keys.key(of: type) { $0 == "id" ? .string(id) : nil }
  }

  // MARK: Text

  /// The document with the values of the variables.
  ///
  /// - Parameters:
  ///   - variables: The coerced variables.
  ///   - name: The name of the operation, by which it is found again.
  /// - Throws: A value that has no literal without a schema.
  func text(_ variables: JSONObject, name: String) throws -> String {
    let declared = plan.template.definition.variables
    let literals = BulkLiterals(
      variables: variables,
      types: Dictionary(declared.map { ($0.name.value, $0.type) }) { first, _ in first },
      schema: plan.template.schema)
    let location = selectionSet.location
    let operation = OperationDefinition(
      type: .query, name: Name(name, at: location), variables: [], directives: [],
      selectionSet: SelectionSet(
        selections: try literals.inlined(selectionSet.selections), location: location),
      location: location)
    return Document(definitions: [.operation(operation)]).printed()
  }

  // MARK: Lines

  /// The connection that a line is an object of; `nil` for a line of no connection.
  func connection(of line: JSONObject) -> Int? {
    plan.connections.indices.first { line[Self.marker(of: $0)] != nil }
  }

  /// The value of a connection with these lines, as a response would have it.
  func value(of connection: Int, lines: [JSONObject]) -> JSONObject {
    let list = plan.connections[connection].list
    let elements = lines.map { line -> JSONValue in
      list.node.map { [$0: .object(line)] } ?? .object(line)
    }
    return [plan.connections[connection].listKey: .array(elements)]
  }

  /// The `_key` of the object that has a connection; `nil` at the first level.
  ///
  /// - Parameters:
  ///   - id: The value of `__parentId`.
  ///   - connection: The index of the connection.
  /// - Throws: An id whose type is not known, or a line without one.
  func parentKey(_ id: String?, of connection: Int) throws(TaskProblem) -> String? {
    guard let parent = plan.connections[connection].parent else { return nil }
    guard let id else {
      throw TaskProblem(
        "a line of the bulk operation, of `\(plan.connections[connection].path)`, has no `__parentId`"
      )
    }
    let known = types[parent]
    // gid://shopify/Product/1
    let parts = id.split(separator: "/", omittingEmptySubsequences: false)
    let named = parts.count >= 5 && parts[0] == "gid:" ? String(parts[3]) : nil
    let type = named ?? (known.count == 1 ? known.first : nil)
    guard let type, known.isEmpty || known.contains(type) else {
      let path = plan.connections[parent].path
      throw TaskProblem(
        "a line of the bulk operation has the parent \(id), which is no object of `\(path)`: its type would be "
          + (known.isEmpty
            ? "in an id such as gid://shopify/Product/1" : known.sorted().joined(separator: ", "))
          + "; remove `bulk`")
    }
    guard let key = Self.key(of: type, id: id, plan) else {
      throw TaskProblem("the key of `\(type)` is not its `id` alone; remove `bulk`")
    }
    return key
  }
}

/// Rewrites the selections of a document for a bulk operation.
private struct BulkRewriting {
  private let plan: TablePlan
  /// Without fragment spreads, as the planner makes it.
  private let tree: SelectionTree
  private let connections: [[String]: Int]
  /// The declared types of the objects in connections, as far as the schema has them.
  private(set) var types: [Int: String] = [:]
  private(set) var problems: [TablePlanError.Problem] = []

  private static let pageArguments: Set = ["first", "after", "last", "before"]

  init(_ plan: TablePlan, _ tree: SelectionTree) {
    self.plan = plan
    self.tree = tree
    connections = Dictionary(plan.connections.enumerated().map { ($1.keys, $0) }) { first, _ in
      first
    }
  }

  mutating func rewritten() -> SelectionSet {
    for entry in tree.fields(of: tree.root) where ["node", "nodes"].contains(entry.name) {
      problems.append(
        .init(
          message: "a bulk operation cannot begin with `\(entry.name)`",
          hint: "begin with a connection, or remove `bulk`", location: entry.field.location))
    }
    var set = tree.root.set
    set.change { field, keys in
      connections[keys].map { connection(field, $0, at: keys) } ?? field
    }
    return set
  }

  /// A connection with nothing but its objects.
  private mutating func connection(_ field: Field, _ index: Int, at path: [String]) -> Field {
    let connection = plan.connections[index]
    let maker = SyntaxMaker(at: field.location)
    let keys = [connection.listKey, connection.list.node].compactMap { $0 }
    var sets = [field.selectionSet].compactMap { $0 }
    var directives: [Directive] = []
    for key in keys {
      let found = sets.flatMap { tree.fields(of: SelectionTree.Scope(set: $0)) }
        .filter { $0.key == key }.map(\.field)
      directives += found.first?.directives ?? []
      sets = found.compactMap(\.selectionSet)
    }
    let objects = tree.scopes(at: path + keys)
    types[index] = objects.first?.type
    var selections = [maker.field("__typename", as: BulkDocument.marker(of: index))]
    if plan.connections.contains(where: { $0.parent == index }) {
      checkID(of: objects, path: path, at: field.location)
      selections.append(maker.field("id"))
    }
    selections += sets.flatMap(\.selections)
    var result = field
    result.arguments.removeAll {
      Self.pageArguments.contains($0.name.value)
        || [connection.cursorArgument, connection.sizeArgument].contains($0.name.value)
    }
    result.selectionSet = maker.set([
      maker.field("edges", directives: directives, [maker.field("node", selections)])
    ])
    return result
  }

  /// Reports objects that have connections, and no `id`, or another field under this key: Shopify requires it, without an
  /// alias.
  private mutating func checkID(
    of objects: [SelectionTree.Scope], path: [String], at location: SourceLocation
  ) {
    let hasOther = tree.fields(of: objects).contains { $0.key == "id" && $0.name != "id" }
    let isMissing = objects.first?.type.map { tree.schema?.field("id", on: $0) == nil } ?? false
    if hasOther || isMissing && tree.schema != nil {
      problems.append(
        .init(
          message:
            "the objects of `\(path.joined(separator: "."))` have connections, and no `id` by which a bulk "
            + "operation names them",
          hint: "select the field `id` without an alias, or remove `bulk`",
          location: location))
    }
  }
}

/// Replaces variables by literals.
private struct BulkLiterals {
  let variables: JSONObject
  let types: [String: TypeReference]
  let schema: Schema?

  func inlined(_ selections: [Selection]) throws -> [Selection] {
    try selections.map { selection in
      switch selection {
      case .field(var field):
        field.arguments = try inlined(field.arguments)
        field.directives = try inlined(field.directives)
        if let set = field.selectionSet {
          field.selectionSet?.selections = try inlined(set.selections)
        }
        return .field(field)
      case .inlineFragment(var fragment):
        fragment.directives = try inlined(fragment.directives)
        fragment.selectionSet.selections = try inlined(fragment.selectionSet.selections)
        return .inlineFragment(fragment)
      case .fragmentSpread: return selection
      }
    }
  }

  private func inlined(_ directives: [Directive]) throws -> [Directive] {
    try directives.map { given in
      var directive = given
      directive.arguments = try inlined(given.arguments)
      return directive
    }
  }

  private func inlined(_ arguments: [Argument]) throws -> [Argument] {
    try arguments.compactMap { argument in
      try inlined(argument.value).map {
        Argument(name: argument.name, value: $0, location: argument.location)
      }
    }
  }

  /// The value without variables; `nil` for a variable without a value, which leaves the argument out.
  private func inlined(_ value: Value) throws -> Value? {
    switch value {
    case .variable(let name):
      guard let given = variables[name.value] else { return nil }
      return try literal(given, types[name.value], of: name)
    case .list(let elements, let location):
      return .list(try elements.map { try inlined($0) ?? .null(location) }, location)
    case .object(let fields, let location):
      let given = try fields.compactMap { field in
        try inlined(field.value).map {
          ObjectField(name: field.name, value: $0, location: field.location)
        }
      }
      return .object(given, location)
    case .int, .float, .string, .boolean, .null, .enumeration: return value
    }
  }

  /// - Parameter name: The variable, for messages.
  private func literal(
    _ value: JSONValue, _ type: TypeReference?, of name: Name
  ) throws -> Value {
    let location = name.location
    switch value {
    case .null: return .null(location)
    case .boolean(let flag): return .boolean(flag, location)
    case .number(let number):
      return number.text.contains { ".eE".contains($0) }
        ? .float(number.text, location) : .int(number.text, location)
    case .string(let text):
      guard try isEnumeration(type, name) else { return .string(StringValue(text, at: location)) }
      return .enumeration(Name(text, at: location))
    case .array(let elements):
      return .list(
        try elements.map { try literal($0, type?.element ?? type, of: name) }, location)
    case .object(let object):
      var input: InputObjectType?
      if case .inputObject(let found)? = type.flatMap({ schema?.type(named: $0.namedType.value) }) {
        input = found
      }
      return .object(
        try object.map { member in
          // Members of a scalar have no declared types: text is text.
          let inner = try input.map { $0.fields[member.key]?.type } ?? unknownMember(of: type, name)
          return ObjectField(
            name: Name(member.key, at: location), value: try literal(member.value, inner, of: name),
            location: location)
        }, location)
    }
  }

  /// Whether text of a type is the name of an enum value.
  private func isEnumeration(_ type: TypeReference?, _ name: Name) throws(TaskProblem) -> Bool {
    guard let leaf = type?.namedType.value, !Schema.builtInScalars.contains(leaf) else {
      return false
    }
    guard let schema else { throw Self.unknown(leaf, name) }
    if case .enumeration? = schema.type(named: leaf) { return true }
    return false
  }

  private func unknownMember(
    of type: TypeReference?, _ name: Name
  ) throws(TaskProblem) -> TypeReference? {
    guard schema == nil, let leaf = type?.namedType.value else { return nil }
    throw Self.unknown(leaf, name)
  }

  private static func unknown(_ type: String, _ name: Name) -> TaskProblem {
    TaskProblem(
      "a bulk operation has literals instead of variables, and the type `\(type)` of `$\(name.value)` is not known: "
        + "add `schema`")
  }
}
