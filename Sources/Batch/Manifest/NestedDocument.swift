import GQLRunCache
import GQLRunLanguage

/// Creates the document that requests the next page of a connection inside one object:
///
/// ```graphql
/// query($gqlrunID: ID!, $gqlrunAfter: String) {
///   node(id: $gqlrunID) { ... on Post { comments(after: $gqlrunAfter) { … } } }
/// }
/// ```
struct NestedDocument {
  /// The response key of the object.
  static let objectKey = "node"
  static let idVariable = "gqlrunID"
  static let cursorVariable = "gqlrunAfter"

  let document: Document
  /// The response keys of the connection's lists: its `nodes` and `edges`.
  let lists: [String]

  /// Creates the document.
  ///
  /// - Parameters:
  ///   - tree: The selections of the operation.
  ///   - keys: The response keys to the connection.
  ///   - type: The type of the object with the connection.
  ///   - schema: Has the types of the arguments `id` and `after`; without one, they are `ID!` and `String`.
  /// - Returns: `nil` if the operation does not select the connection.
  init?(
    _ tree: SelectionTree, template: OperationTemplate, keys: [String], type: String,
    schema: Schema?
  ) {
    guard let key = keys.last else { return nil }
    let selected = tree.selections(at: Array(keys.dropLast())).flatMap { tree.fields(of: $0) }
      .filter { $0.responseKey == key }
    guard var field = selected.first else { return nil }
    let location = field.location
    // A document may select parts of the connection in several fragments.
    let set = SelectionSet(
      selections: selected.flatMap { $0.selectionSet?.selections ?? [] }, location: location)
    var lists: [String] = []
    for list in tree.fields(of: set) where ["nodes", "edges"].contains(list.name.value) {
      if !lists.contains(list.responseKey) { lists.append(list.responseKey) }
    }
    self.lists = lists
    field.selectionSet = set
    let query = schema?.rootType(for: .query)?.name
    let id = query.flatMap { schema?.field(Self.objectKey, on: $0)?.argument(named: "id") }
    let cursor = schema?.field(field.name.value, on: type)?.argument(named: "after")
    field.arguments.removeAll { $0.name.value == "after" }
    field.arguments.append(
      Argument(
        name: Name("after", at: location),
        value: .variable(Name(Self.cursorVariable, at: location)),
        location: location))
    field.directives = []
    var used = UsedVariables(template.callerDocument)
    used.add(field)
    let node = Field(
      name: Name(Self.objectKey, at: location),
      arguments: [
        Argument(
          name: Name("id", at: location), value: .variable(Name(Self.idVariable, at: location)),
          location: location)
      ],
      selectionSet: SelectionSet(
        selections: [
          .inlineFragment(
            InlineFragment(
              typeCondition: Name(type, at: location), directives: [],
              selectionSet: SelectionSet(selections: [.field(field)], location: location),
              location: location))
        ], location: location), location: location)
    let own = [
      VariableDefinition(
        name: Name(Self.idVariable, at: location),
        type: id?.type ?? .nonNull(.named(Name("ID", at: location))), defaultValue: nil,
        directives: [], location: location),
      VariableDefinition(
        name: Name(Self.cursorVariable, at: location),
        type: cursor?.type ?? .named(Name("String", at: location)), defaultValue: nil,
        directives: [], location: location),
    ]
    let operation = OperationDefinition(
      type: .query, name: Name((template.name ?? "Batch") + "NextPage", at: location),
      variables: own
        + template.definition.variables.filter { used.names.contains($0.name.value) },
      directives: [], selectionSet: SelectionSet(selections: [.field(node)], location: location),
      location: location)
    document = Document(
      definitions: [.operation(operation)]
        + template.callerDocument.fragments.map { .fragment($0) })
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

  mutating func add(_ field: Field) {
    for argument in field.arguments { add(argument.value) }
    add(field.directives)
    if let set = field.selectionSet { add(set) }
  }

  private mutating func add(_ set: SelectionSet) {
    for selection in set.selections {
      switch selection {
      case .field(let field): add(field)
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
