/// Type conditions of fragments are object, interface or union types.
///
/// https://spec.graphql.org/September2025/#sec-Fragments-on-Object-Interface-or-Union-Types
final class FragmentsOnCompositeTypes: RuleVisitor {
  func enter(inlineFragment: InlineFragment, _ context: ValidationContext) {
    guard let condition = inlineFragment.typeCondition else { return }
    check(condition, "Fragment", context)
  }

  func enter(fragment: FragmentDefinition, _ context: ValidationContext) {
    check(fragment.typeCondition, "Fragment '\(fragment.name.value)'", context)
  }

  private func check(_ condition: Name, _ subject: String, _ context: ValidationContext) {
    guard let type = context.type(named: condition.value), !type.isComposite else { return }
    context.report(
      .fragmentsOnCompositeTypes,
      "\(subject) cannot condition on non composite type '\(condition.value)'.",
      at: condition.location)
  }
}
