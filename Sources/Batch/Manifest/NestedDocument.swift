import GQLRunCache
import GQLRunLanguage

/// Creates the document that requests the next page of a connection, of one object by its id or by the path from the root:
///
/// ```graphql
/// query($gqlrunID: ID!, $gqlrunAfter: String) {
///   node(id: $gqlrunID) { ... on Post { comments(after: $gqlrunAfter) { … } } }
/// }
/// query($gqlrunAfter: String) { viewer { posts(after: $gqlrunAfter) { … } } }
/// ```
struct NestedDocument {
  /// How a page reaches the object with the connection.
  enum Holder: Hashable {
    /// Through `node(id:)`, as an object of this type.
    case node(type: String)
    /// By the fields of the operation, which are single objects.
    case path
  }

  /// The response key of an object that its id finds.
  static let objectKey = "node"
  static let idVariable = "gqlrunID"
  static let cursorVariable = "gqlrunAfter"

  let document: Document
  /// The response keys of the connection's lists: its `nodes` and `edges`.
  let lists: [String]
  /// The response keys to the object in a page.
  let objectKeys: [String]

  /// Creates the document.
  ///
  /// - Parameters:
  ///   - tree: The selections of the operation.
  ///   - keys: The response keys to the connection.
  ///   - holder: How a page reaches the object with the connection.
  ///   - schema: Has the types of the arguments `id` and `after`; without one, they are `ID!` and `String`.
  /// - Returns: `nil` if the operation does not select the connection.
  init?(
    _ tree: SelectionTree, template: OperationTemplate, keys: [String], holder: Holder,
    schema: Schema?
  ) {
    guard var field = tree.field(at: keys) else { return nil }
    let location = field.location
    lists = tree.lists(of: field)
    let query = schema?.rootType(for: .query)?.name
    let type: String? =
      switch holder {
      case .node(let type): type
      case .path: tree.type(at: keys, schema: schema)
      }
    let cursor = type.flatMap { schema?.field(field.name.value, on: $0) }?.argument(named: "after")
    field.arguments.removeAll { $0.name.value == "after" }
    field.arguments.append(
      Argument(
        name: Name("after", at: location),
        value: .variable(Name(Self.cursorVariable, at: location)),
        location: location))
    field.directives = []
    var own: [VariableDefinition] = []
    let root: SelectionSet
    switch holder {
    case .node(let type):
      objectKeys = [Self.objectKey]
      let id = query.flatMap { schema?.field(Self.objectKey, on: $0)?.argument(named: "id") }
      own.append(
        VariableDefinition(
          name: Name(Self.idVariable, at: location),
          type: id?.type ?? .nonNull(.named(Name("ID", at: location))), defaultValue: nil,
          directives: [], location: location))
      root = Self.node(field, on: type)
    case .path:
      objectKeys = keys.dropLast()
      guard let found = tree.found(keys[...], in: tree.root, of: query, schema: schema, leaf: field)
      else { return nil }
      root = found.set
    }
    own.append(
      VariableDefinition(
        name: Name(Self.cursorVariable, at: location),
        type: cursor?.type ?? .named(Name("String", at: location)), defaultValue: nil,
        directives: [], location: location))
    var used = UsedVariables(template.callerDocument)
    used.add(root)
    let operation = OperationDefinition(
      type: .query, name: Name((template.name ?? "") + "NextPage", at: location),
      variables: own
        + template.definition.variables.filter { used.names.contains($0.name.value) },
      directives: [], selectionSet: root, location: location)
    document = Document(
      definitions: [.operation(operation)]
        + template.callerDocument.fragments.map { .fragment($0) })
  }

  /// Selects a field of the object with the id.
  private static func node(_ field: Field, on type: String) -> SelectionSet {
    let location = field.location
    let object = InlineFragment(
      typeCondition: Name(type, at: location), directives: [],
      selectionSet: SelectionSet(selections: [.field(field)], location: location),
      location: location)
    let node = Field(
      name: Name(objectKey, at: location),
      arguments: [
        Argument(
          name: Name("id", at: location), value: .variable(Name(idVariable, at: location)),
          location: location)
      ],
      selectionSet: SelectionSet(selections: [.inlineFragment(object)], location: location),
      location: location)
    return SelectionSet(selections: [.field(node)], location: location)
  }
}

extension SelectionTree {
  /// The field at a path, with all that the document selects of it, in several fragments, too.
  func field(at keys: [String]) -> Field? {
    guard let key = keys.last else { return nil }
    let selected = selections(at: keys.dropLast()).flatMap { fields(of: $0) }
      .filter { $0.responseKey == key }
    guard var field = selected.first else { return nil }
    // A leaf has no selection set, which is not an empty one.
    let sets = selected.compactMap(\.selectionSet)
    if !sets.isEmpty {
      field.selectionSet = SelectionSet(
        selections: sets.flatMap(\.selections), location: field.location)
    }
    return field
  }

  /// The response keys of the lists of a connection: its `nodes` and `edges`.
  func lists(of connection: Field) -> [String] {
    var lists: [String] = []
    for list in connection.selectionSet.map({ fields(of: $0) }) ?? []
    where ["nodes", "edges"].contains(list.name.value) && !lists.contains(list.responseKey) {
      lists.append(list.responseKey)
    }
    return lists
  }

  /// The type of the object that has the field at a path: that of the fragment around the field, or that of the schema; `nil`
  /// if neither is known.
  func type(at keys: [String], schema: Schema?) -> String? {
    let query = schema?.rootType(for: .query)?.name
    guard let field = field(at: keys) else { return nil }
    return found(keys[...], in: root, of: query, schema: schema, leaf: field)?.type
  }

  /// The selection set that has only the field at a path, replaced by `leaf`, and the type that has the field.
  fileprivate func found(
    _ keys: ArraySlice<String>, in set: SelectionSet, of type: String?, schema: Schema?,
    leaf: Field
  ) -> (set: SelectionSet, type: String?)? {
    for selection in set.selections {
      switch selection {
      case .field(var field):
        guard field.responseKey == keys.first else { continue }
        guard keys.count > 1 else {
          return (SelectionSet(selections: [.field(leaf)], location: set.location), type)
        }
        let inner = type.flatMap { schema?.field(field.name.value, on: $0)?.type.namedType.value }
        guard let selections = field.selectionSet,
          let found = found(
            keys.dropFirst(), in: selections, of: inner, schema: schema, leaf: leaf)
        else { continue }
        field.selectionSet = found.set
        return (SelectionSet(selections: [.field(field)], location: set.location), found.type)
      case .inlineFragment(var fragment):
        guard
          let found = found(
            keys, in: fragment.selectionSet, of: fragment.typeCondition?.value ?? type,
            schema: schema, leaf: leaf)
        else { continue }
        fragment.selectionSet = found.set
        return (
          SelectionSet(selections: [.inlineFragment(fragment)], location: set.location), found.type
        )
      case .fragmentSpread(let spread):
        guard
          let fragment = document.fragments.first(where: { $0.name.value == spread.name.value }),
          let found = found(
            keys, in: fragment.selectionSet, of: fragment.typeCondition.value, schema: schema,
            leaf: leaf)
        else { continue }
        let inline = InlineFragment(
          typeCondition: fragment.typeCondition, directives: spread.directives,
          selectionSet: found.set, location: spread.location)
        return (
          SelectionSet(selections: [.inlineFragment(inline)], location: set.location), found.type
        )
      }
    }
    return nil
  }
}

/// The variables that a part of a document uses, also in fragments.
private struct UsedVariables {
  private(set) var names: Set<String> = []
  /// The fragments that are not yet searched.
  private var fragments: [String: FragmentDefinition]

  init(_ document: Document) {
    fragments = Dictionary(document.fragments.map { ($0.name.value, $0) }) { first, _ in first }
  }

  mutating func add(_ set: SelectionSet) {
    for selection in set.selections {
      switch selection {
      case .field(let field):
        for argument in field.arguments { add(argument.value) }
        add(field.directives)
        if let set = field.selectionSet { add(set) }
      case .inlineFragment(let fragment):
        add(fragment.directives)
        add(fragment.selectionSet)
      case .fragmentSpread(let spread):
        add(spread.directives)
        if let fragment = fragments.removeValue(forKey: spread.name.value) {
          add(fragment.directives)
          add(fragment.selectionSet)
        }
      }
    }
  }

  private mutating func add(_ directives: [Directive]) {
    for argument in directives.flatMap(\.arguments) { add(argument.value) }
  }

  private mutating func add(_ value: Value) {
    switch value {
    case .variable(let name): names.insert(name.value)
    case .list(let elements, _): for element in elements { add(element) }
    case .object(let fields, _): for field in fields { add(field.value) }
    default: break
    }
  }
}
