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

  let document: Document?

  init(_ tree: SelectionTree, _ template: OperationTemplate, _ keys: [String], type: String) {
    guard let key = keys.last else {
      document = nil
      return
    }
    let sets = keys.count > 1 ? tree.selections(at: Array(keys.dropLast())) : [tree.root]
    guard var field = sets.flatMap({ tree.fields(of: $0) }).first(where: { $0.responseKey == key })
    else {
      document = nil
      return
    }
    let place = field.location
    field.arguments.removeAll { $0.name.value == "after" }
    field.arguments.append(
      Argument(
        name: Name("after", at: place), value: .variable(Name(Self.cursorVariable, at: place)),
        location: place))
    field.directives = []
    let used = Set(field.arguments.compactMap { Self.variable($0.value) })
    let node = Field(
      name: Name(Self.objectKey, at: place),
      arguments: [
        Argument(
          name: Name("id", at: place), value: .variable(Name(Self.idVariable, at: place)),
          location: place)
      ],
      selectionSet: SelectionSet(
        selections: [
          .inlineFragment(
            InlineFragment(
              typeCondition: Name(type, at: place), directives: [],
              selectionSet: SelectionSet(selections: [.field(field)], location: place),
              location: place))
        ], location: place), location: place)
    let own = [
      VariableDefinition(
        name: Name(Self.idVariable, at: place),
        type: .nonNull(.named(Name("ID", at: place))), defaultValue: nil, directives: [],
        location: place),
      VariableDefinition(
        name: Name(Self.cursorVariable, at: place), type: .named(Name("String", at: place)),
        defaultValue: nil, directives: [], location: place),
    ]
    let operation = OperationDefinition(
      type: .query, name: Name((template.name ?? "Batch") + "NextPage", at: place),
      variables: own + template.definition.variables.filter { used.contains($0.name.value) },
      directives: [], selectionSet: SelectionSet(selections: [.field(node)], location: place),
      location: place)
    document = Document(
      definitions: [.operation(operation)]
        + template.callerDocument.fragments.map { .fragment($0) })
  }

  private static func variable(_ value: Value) -> String? {
    if case .variable(let name) = value { name.value } else { nil }
  }
}
