import GQLRunLanguage

/// The document that is sent for an operation: with `__typename` where the Swift types need it, and without `@catch` and
/// `@catchByDefault`, which concern only the types.
struct OperationText {
  let schema: Schema
  let fragments: [String: FragmentDefinition]

  /// The operation with its fragments, without ignored characters.
  func text(of operation: OperationDefinition) throws -> String {
    var document = Document(definitions: definitions(of: operation)).withoutCatches()
    for index in document.definitions.indices {
      switch document.definitions[index] {
      case .operation(var operation):
        let root = schema.rootType(for: operation.type)?.name ?? ""
        operation.selectionSet = adding(operation.selectionSet, root)
        operation.description = nil
        document.definitions[index] = .operation(operation)
      case .fragment(var fragment):
        let type = fragment.typeCondition.value
        fragment.selectionSet = identified(adding(fragment.selectionSet, type), type)
        fragment.description = nil
        document.definitions[index] = .fragment(fragment)
      case .typeSystem: break
      }
    }
    return try strippingIgnoredCharacters(of: document.printed())
  }

  /// Whether the types of the operation need the errors of a response.
  func catchesErrors(_ operation: OperationDefinition) -> Bool {
    schema.catchByDefault != nil || definitions(of: operation).contains(where: \.hasCatches)
  }

  /// The operation and the fragments that it reaches, sorted by name.
  func definitions(of operation: OperationDefinition) -> [Definition] {
    [.operation(operation)] + reached(from: operation.selectionSet).map { .fragment($0) }
  }

  /// The fragments that a selection set reaches, sorted by name.
  func reached(from selectionSet: SelectionSet) -> [FragmentDefinition] {
    var reached: Set<String> = []
    var pending = selectionSet.fragmentSpreads
    while let spread = pending.popLast() {
      guard reached.insert(spread.name.value).inserted else { continue }
      pending += fragments[spread.name.value]?.selectionSet.fragmentSpreads ?? []
    }
    return reached.sorted().compactMap { fragments[$0] }
  }

  private func adding(_ set: SelectionSet, _ type: String) -> SelectionSet {
    var set = set
    set.selections = set.selections.map { selection in
      switch selection {
      case .field(var field):
        guard let inner = field.selectionSet,
          let type = schema.field(field.name.value, on: type)?.type.namedType.value
        else { return selection }
        field.selectionSet = identified(adding(inner, type), type)
        return .field(field)
      case .inlineFragment(var fragment):
        fragment.selectionSet = adding(
          fragment.selectionSet, fragment.typeCondition?.value ?? type)
        return .inlineFragment(fragment)
      case .fragmentSpread: return selection
      }
    }
    return set
  }

  /// The selection set with `__typename` if its type is an interface or union.
  private func identified(_ set: SelectionSet, _ type: String) -> SelectionSet {
    let hasTypename = set.selections.contains { selection in
      guard case .field(let field) = selection else { return false }
      return field.responseKey == "__typename" && field.directives.isEmpty
    }
    guard schema.type(named: type)?.isAbstract == true, !hasTypename else { return set }
    let typename = Field(name: Name("__typename", at: set.location), location: set.location)
    return SelectionSet(selections: [.field(typename)] + set.selections, location: set.location)
  }

  /// The variables of `@skip` and `@include`, if a fragment depends on one.
  ///
  /// Fields need no condition: they are in the response, or not.
  func conditions(of operation: OperationDefinition) -> Set<String> {
    var variables: Set<String> = []
    var concernsFragment = false
    func visit(_ set: SelectionSet, _ isConditional: Bool) {
      for selection in set.selections {
        let conditions = InclusionCondition.of(selection.directives)
        for case .variable(let name, _) in conditions { variables.insert(name) }
        switch selection {
        case .field(let field): if let inner = field.selectionSet { visit(inner, isConditional) }
        case .inlineFragment(let fragment):
          visit(fragment.selectionSet, isConditional || !conditions.isEmpty)
        case .fragmentSpread:
          concernsFragment = concernsFragment || isConditional || !conditions.isEmpty
        }
      }
    }
    visit(operation.selectionSet, false)
    for fragment in reached(from: operation.selectionSet) { visit(fragment.selectionSet, false) }
    return concernsFragment ? variables : []
  }
}
