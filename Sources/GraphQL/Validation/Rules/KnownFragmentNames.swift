/// https://spec.graphql.org/September2025/#sec-Fragment-Spread-Target-Defined
final class KnownFragmentNames: RuleVisitor {
  func enter(spread: FragmentSpread, _ context: ValidationContext) {
    guard context.fragmentIndexes[spread.name.value] == nil else { return }
    context.report(
      .knownFragmentNames, "Unknown fragment '\(spread.name.value)'.", at: spread.name.location)
  }
}
