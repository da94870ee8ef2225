/// A fragment's type and the enclosing type have a possible object type in common.
///
/// https://spec.graphql.org/September2025/#sec-Fragment-Spread-Is-Possible
final class PossibleFragmentSpreads: RuleVisitor {
  private var known: [Pair: Bool] = [:]

  private struct Pair: Hashable {
    var fragment: String
    var parent: String
  }

  func enter(inlineFragment: InlineFragment, _ context: ValidationContext) {
    guard let type = context.namedType(of: context.types.type), type.isComposite else { return }
    check(type.name, "Fragment", inlineFragment.location, context)
  }

  func enter(spread: FragmentSpread, _ context: ValidationContext) {
    let name = spread.name.value
    guard let condition = context.fragment(named: name)?.typeCondition.value,
      context.type(named: condition)?.isComposite == true
    else { return }
    check(condition, "Fragment '\(name)'", spread.location, context)
  }

  private func check(
    _ fragment: String, _ subject: String, _ location: SourceLocation, _ context: ValidationContext
  ) {
    guard let schema = context.schema, let parent = context.types.parentType?.name else { return }
    let pair = Pair(fragment: fragment, parent: parent)
    let isPossible = known[pair] ?? schema.doTypesOverlap(fragment, parent)
    known[pair] = isPossible
    guard !isPossible else { return }
    context.report(
      .possibleFragmentSpreads,
      "\(subject) cannot be spread here as objects of type '\(parent)' can never be of type "
        + "'\(fragment)'.",
      at: location)
  }
}
