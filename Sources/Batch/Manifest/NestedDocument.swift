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
    let location = field.location
    field.arguments.removeAll { $0.name.value == "after" }
    field.arguments.append(
      Argument(
        name: Name("after", at: location),
        value: .variable(Name(Self.cursorVariable, at: location)),
        location: location))
    field.directives = []
    let used = Set(field.arguments.compactMap { Self.variable($0.value) })
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
        type: .nonNull(.named(Name("ID", at: location))), defaultValue: nil, directives: [],
        location: location),
      VariableDefinition(
        name: Name(Self.cursorVariable, at: location), type: .named(Name("String", at: location)),
        defaultValue: nil, directives: [], location: location),
    ]
    let operation = OperationDefinition(
      type: .query, name: Name((template.name ?? "Batch") + "NextPage", at: location),
      variables: own + template.definition.variables.filter { used.contains($0.name.value) },
      directives: [], selectionSet: SelectionSet(selections: [.field(node)], location: location),
      location: location)
    document = Document(
      definitions: [.operation(operation)]
        + template.callerDocument.fragments.map { .fragment($0) })
  }

  private static func variable(_ value: Value) -> String? {
    if case .variable(let name) = value { name.value } else { nil }
  }
}
