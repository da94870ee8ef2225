/// Rejects introspection; only used on request.
final class NoSchemaIntrospection: RuleVisitor {
  func enter(field: Field, _ context: ValidationContext) {
    guard let type = context.types.type?.namedType.value, BuiltIns.isIntrospection(type) else {
      return
    }
    context.report(
      .noSchemaIntrospection,
      "GraphQL introspection has been disabled, but the requested query contained the field "
        + "'\(field.name.value)'.",
      at: field.location)
  }
}

/// Limits the nesting of lists in introspection, which is expensive for servers.
///
/// Not a rule of the specification, but a default rule of the reference implementation.
final class MaxIntrospectionDepth: RuleVisitor {
  private static let lists: Set<String> = [
    "fields", "interfaces", "possibleTypes", "inputFields",
  ]
  private static let maxDepth = 3
  /// The depth of the current field inside a reported field; 0 outside.
  private var skipped = 0

  func enter(field: Field, _ context: ValidationContext) {
    if skipped > 0 {
      skipped += 1
    } else if field.name.value == "__schema" || field.name.value == "__type",
      isTooDeep(field, context)
    {
      context.report(
        .maxIntrospectionDepth, "Maximum introspection depth exceeded", at: field.location)
      skipped = 1
    }
  }

  func leave(field: Field, _ context: ValidationContext) {
    if skipped > 0 { skipped -= 1 }
  }

  private struct State: Hashable {
    var fragment: String
    var depth: Int
  }

  private struct Level {
    var selections: ArraySlice<Selection>
    var depth: Int
    var fragment: String?
  }

  private func isTooDeep(_ field: Field, _ context: ValidationContext) -> Bool {
    guard let selectionSet = field.selectionSet else { return false }
    var open = [Level(selections: selectionSet.selections[...], depth: 0)]
    // Follows a fragment once per depth; the spreads inside it could multiply otherwise.
    var known: Set<State> = []
    var current: Set<String> = []
    while let last = open.indices.last {
      guard let selection = open[last].selections.popFirst() else {
        if let fragment = open.removeLast().fragment { current.remove(fragment) }
        continue
      }
      var depth = open[last].depth
      switch selection {
      case .field(let field):
        if MaxIntrospectionDepth.lists.contains(field.name.value) {
          depth += 1
          if depth >= MaxIntrospectionDepth.maxDepth { return true }
        }
        if let inner = field.selectionSet {
          open.append(Level(selections: inner.selections[...], depth: depth))
        }
      case .inlineFragment(let fragment):
        open.append(Level(selections: fragment.selectionSet.selections[...], depth: depth))
      case .fragmentSpread(let spread):
        let name = spread.name.value
        guard let fragment = context.fragment(named: name), !current.contains(name),
          known.insert(State(fragment: name, depth: depth)).inserted
        else { continue }
        current.insert(name)
        open.append(
          Level(
            selections: fragment.selectionSet.selections[...], depth: depth, fragment: name))
      }
    }
    return false
  }
}
