/// Fragments do not contain themselves, directly or through others.
///
/// https://spec.graphql.org/September2025/#sec-Fragment-Spreads-Must-Not-Form-Cycles
final class NoFragmentCycles: RuleVisitor {
  private var visited: Set<String> = []

  /// A fragment on the current path, and its spreads that are not visited yet.
  private struct Step {
    var name: String
    var spreads: ArraySlice<FragmentSpread>
  }

  func enter(fragment: FragmentDefinition, _ context: ValidationContext) {
    guard visited.insert(fragment.name.value).inserted else { return }
    // An explicit stack, because a chain of fragments can be as long as the document.
    var path = [
      Step(
        name: fragment.name.value, spreads: context.spreads(in: context.definitionIndex)[...])
    ]
    var depths = [fragment.name.value: 0]
    /// The spread from each fragment on the path to the next.
    var spreads: [FragmentSpread] = []
    while let last = path.indices.last, !context.isAborted {
      guard let spread = path[last].spreads.popFirst() else {
        depths[path.removeLast().name] = nil
        _ = spreads.popLast()
        continue
      }
      let name = spread.name.value
      if let depth = depths[name] {
        report(spreads[depth...] + [spread], context)
      } else if let index = context.fragmentIndexes[name], visited.insert(name).inserted {
        depths[name] = path.count
        path.append(Step(name: name, spreads: context.spreads(in: index)[...]))
        spreads.append(spread)
      }
    }
  }

  private func report(_ cycle: ArraySlice<FragmentSpread>, _ context: ValidationContext) {
    guard let last = cycle.last else { return }
    // Limited, because every spread of a long chain can close a cycle.
    let via = cycle.dropLast().prefix(1_000).map { "'\($0.name.value)'" }
    context.report(
      .noFragmentCycles,
      "Cannot spread fragment '\(last.name.value)' within itself"
        + (via.isEmpty ? "." : " via \(via.joined(separator: ", "))."),
      at: cycle.prefix(1_000).map(\.location))
  }
}
