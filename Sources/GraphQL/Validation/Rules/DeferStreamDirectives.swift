/// The label of a `@defer` or `@stream` is a string without variables, and unique in the document.
///
/// https://github.com/graphql/graphql-spec/pull/1110
final class DeferStreamDirectiveLabel: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(
    directive: Directive, at location: DirectiveLocation, _ context: ValidationContext
  ) {
    let name = directive.name.value
    guard name == "defer" || name == "stream", context.directives[name] != nil,
      let label = directive.arguments.first(where: { $0.name.value == "label" })
    else { return }
    switch label.value {
    case .null: return
    case .string(let text):
      guard let first = known[text.value] else {
        known[text.value] = directive.location
        return
      }
      context.report(
        .deferStreamDirectiveLabel, "Defer/Stream directive label argument must be unique.",
        at: [first, directive.location])
    default:
      context.report(
        .deferStreamDirectiveLabel,
        "\(name == "defer" ? "Defer" : "Stream") directive label argument must be a static string.",
        at: directive.location)
    }
  }
}

/// Mutations and subscriptions have no `@defer` or `@stream` at their root, directly or in fragments.
///
/// https://github.com/graphql/graphql-spec/pull/1110
final class DeferStreamDirectiveOnRootField: RuleVisitor {
  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard operation.type != .query, let root = context.schema?.rootType(for: operation.type),
      context.directives["defer"] != nil || context.directives["stream"] != nil
    else { return }
    var spread: Set<String> = []
    var open = [operation.selectionSet.selections[...]]
    while let last = open.indices.last {
      guard let selection = open[last].popFirst() else {
        open.removeLast()
        continue
      }
      switch selection {
      case .field:
        report(
          "stream", title: "Stream", selection: selection, operation: operation, root: root.name,
          context: context)
      case .inlineFragment(let fragment):
        report(
          "defer", title: "Defer", selection: selection, operation: operation, root: root.name,
          context: context)
        open.append(fragment.selectionSet.selections[...])
      case .fragmentSpread(let used):
        report(
          "defer", title: "Defer", selection: selection, operation: operation, root: root.name,
          context: context)
        guard spread.insert(used.name.value).inserted,
          let fragment = context.fragment(named: used.name.value)
        else { continue }
        open.append(fragment.selectionSet.selections[...])
      }
    }
  }

  private func report(
    _ name: String, title: String, selection: Selection, operation: OperationDefinition,
    root: String, context: ValidationContext
  ) {
    guard context.directives[name] != nil,
      let directive = selection.directives.first(where: { $0.name.value == name })
    else { return }
    context.report(
      .deferStreamDirectiveOnRootField,
      "\(title) directive cannot be used on root \(operation.type.rawValue) type '\(root)'.",
      at: directive.location)
  }
}

/// A field with `@stream` is a list.
///
/// https://github.com/graphql/graphql-spec/pull/1110
final class StreamDirectiveOnListField: RuleVisitor {
  func enter(
    directive: Directive, at location: DirectiveLocation, _ context: ValidationContext
  ) {
    guard directive.name.value == "stream", context.directives["stream"] != nil,
      case .field = location, let field = context.types.field,
      let parent = context.types.parentType
    else { return }
    if case .list = field.type.nullable { return }
    context.report(
      .streamDirectiveOnListField,
      "Stream directive cannot be used on non-list field '\(field.name.value)' on type '\(parent.name)'.",
      at: directive.location)
  }
}
