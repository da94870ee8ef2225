/// Fields of scalar and enum types have no selection set; fields of other types have one.
///
/// https://spec.graphql.org/September2025/#sec-Leaf-Field-Selections
final class ScalarLeafs: RuleVisitor {
  func enter(field: Field, _ context: ValidationContext) {
    guard let type = context.types.type, let named = context.namedType(of: type) else { return }
    let name = field.name.value
    if named.isLeaf {
      guard let selectionSet = field.selectionSet else { return }
      context.report(
        .scalarLeafs,
        "Field '\(name)' must not have a selection since type '\(type.printed())' has no "
          + "subfields.",
        at: selectionSet.location)
    } else if field.selectionSet == nil {
      context.report(
        .scalarLeafs,
        "Field '\(name)' of type '\(type.printed())' must have a selection of subfields."
          + " Did you mean '\(name) { ... }'?",
        at: field.location)
    }
  }
}
