/// A subscription selects exactly one root field, without conditions, and not an introspection
/// field.
///
/// https://spec.graphql.org/September2025/#sec-Single-Root-Field
final class SingleFieldSubscriptions: RuleVisitor {
  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard operation.type == .subscription,
      let root = context.schema?.rootType(for: .subscription)
    else { return }
    let subject = operation.name.map { "Subscription '\($0.value)'" } ?? "Anonymous Subscription"
    let fields = RootFields(of: operation, on: root.name, context)
    if !fields.conditions.isEmpty {
      context.report(
        .singleFieldSubscriptions,
        "\(subject) must not use `@skip` or `@include` directives in the top level selection.",
        at: fields.conditions)
      return
    }
    if fields.groups.count > 1 {
      context.report(
        .singleFieldSubscriptions, "\(subject) must select only one top level field.",
        at: fields.groups.dropFirst().flatMap(\.locations))
    }
    for group in fields.groups where group.name.hasPrefix("__") {
      context.report(
        .singleFieldSubscriptions,
        "\(subject) must not select an introspection top level field.", at: group.locations)
    }
  }
}

/// The fields that an operation selects from its root type, by response key.
///
/// https://spec.graphql.org/September2025/#CollectSubscriptionFields()
private struct RootFields {
  /// `name` is the name of the first field of the group.
  var groups: [(name: String, locations: [SourceLocation])] = []
  /// The source locations of fields and fragments with a condition.
  var conditions: [SourceLocation] = []

  init(of operation: OperationDefinition, on root: String, _ context: ValidationContext) {
    var positions: [String: Int] = [:]
    var spread: Set<String> = []
    var open = [operation.selectionSet.selections[...]]
    while let last = open.indices.last {
      guard let selection = open[last].popFirst() else {
        open.removeLast()
        continue
      }
      for directive in selection.directives
      where directive.name.value == "skip" || directive.name.value == "include" {
        conditions.append(directive.location)
      }
      switch selection {
      case .field(let field):
        if let position = positions[field.responseKey] {
          groups[position].locations.append(field.location)
        } else {
          positions[field.responseKey] = groups.count
          groups.append((field.name.value, [field.location]))
        }
      case .inlineFragment(let fragment):
        guard RootFields.applies(fragment.typeCondition, to: root, context) else { continue }
        open.append(fragment.selectionSet.selections[...])
      case .fragmentSpread(let fragmentSpread):
        guard spread.insert(fragmentSpread.name.value).inserted,
          let fragment = context.fragment(named: fragmentSpread.name.value),
          RootFields.applies(fragment.typeCondition, to: root, context)
        else { continue }
        open.append(fragment.selectionSet.selections[...])
      }
    }
  }

  private static func applies(
    _ condition: Name?, to root: String, _ context: ValidationContext
  ) -> Bool {
    guard let condition else { return true }
    return context.schema?.isSubtype(root, of: condition.value) == true
  }
}
