/// Type conditions of fragments are object, interface or union types.
///
/// https://spec.graphql.org/September2025/#sec-Fragments-on-Object-Interface-or-Union-Types
final class FragmentsOnCompositeTypes: RuleVisitor {
  func enter(inlineFragment: InlineFragment, _ context: ValidationContext) {
    guard let condition = inlineFragment.typeCondition else { return }
    check(condition, subject: "Fragment", context: context)
  }

  func enter(fragment: FragmentDefinition, _ context: ValidationContext) {
    check(fragment.typeCondition, subject: "Fragment '\(fragment.name.value)'", context: context)
  }

  private func check(_ condition: Name, subject: String, context: ValidationContext) {
    guard let type = context.type(named: condition.value), !type.isComposite else { return }
    context.report(
      .fragmentsOnCompositeTypes,
      "\(subject) cannot condition on non composite type '\(condition.value)'.",
      at: condition.location)
  }
}

/// https://spec.graphql.org/September2025/#sec-Fragment-Spread-Target-Defined
final class KnownFragmentNames: RuleVisitor {
  func enter(spread: FragmentSpread, _ context: ValidationContext) {
    guard context.fragmentIndexes[spread.name.value] == nil else { return }
    context.report(
      .knownFragmentNames, "Unknown fragment '\(spread.name.value)'.", at: spread.name.location)
  }
}

/// Fragments do not contain themselves, directly or through others.
///
/// https://spec.graphql.org/September2025/#sec-Fragment-Spreads-Must-Not-Form-Cycles
final class NoFragmentCycles: RuleVisitor {
  private var search = CycleSearch<FragmentSpread>()

  func enter(fragment: FragmentDefinition, _ context: ValidationContext) {
    search.visit(
      fragment.name.value, edges: context.spreads(in: context.definitionIndex),
      target: { $0.name.value },
      successors: { context.fragmentIndexes[$0.name.value].map(context.spreads) ?? [] },
      onCycle: { via, last in
        report(via, last, context: context)
        return !context.isAborted
      })
  }

  private func report(
    _ cycle: ArraySlice<FragmentSpread>, _ last: FragmentSpread, context: ValidationContext
  ) {
    // Limited, because every spread of a long chain can close a cycle.
    let via = cycle.prefix(1_000).map { "'\($0.name.value)'" }
    context.report(
      .noFragmentCycles,
      "Cannot spread fragment '\(last.name.value)' within itself"
        + (via.isEmpty ? "." : " via \(via.joined(separator: ", "))."),
      at: (cycle.prefix(999) + [last]).map(\.location))
  }
}

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
    check(type.name, subject: "Fragment", location: inlineFragment.location, context: context)
  }

  func enter(spread: FragmentSpread, _ context: ValidationContext) {
    let name = spread.name.value
    guard let condition = context.fragment(named: name)?.typeCondition.value,
      context.type(named: condition)?.isComposite == true
    else { return }
    check(condition, subject: "Fragment '\(name)'", location: spread.location, context: context)
  }

  private func check(
    _ fragment: String, subject: String, location: SourceLocation, context: ValidationContext
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

/// https://spec.graphql.org/September2025/#sec-Fragment-Name-Uniqueness
final class UniqueFragmentNames: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(fragment: FragmentDefinition, _ context: ValidationContext) {
    let name = fragment.name
    context.require(
      unique: name.value, at: name.location, among: &known, rule: .uniqueFragmentNames,
      message: "There can be only one fragment named '\(name.value)'.")
  }
}
