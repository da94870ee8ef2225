/// https://spec.graphql.org/September2025/#sec-Fragments-Must-Be-Used
final class NoUnusedFragments: RuleVisitor {
  func leave(document: Document, _ context: ValidationContext) {
    // Unlike other rules, this one can start from all operations at once.
    var used: Set<String> = []
    var open: [Int] = document.definitions.indices.filter {
      if case .operation = document.definitions[$0] { true } else { false }
    }
    while let index = open.popLast() {
      for spread in context.spreads(in: index) where used.insert(spread.name.value).inserted {
        if let fragment = context.fragmentIndexes[spread.name.value] { open.append(fragment) }
      }
    }
    for case .fragment(let fragment) in document.definitions
    where !used.contains(fragment.name.value) {
      context.report(
        .noUnusedFragments, "Fragment '\(fragment.name.value)' is never used.",
        at: fragment.location)
    }
  }
}
