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
      let label = directive.value(of: "label")
    else { return }
    switch label {
    case .null: return
    case .string(let text):
      context.require(
        unique: text.value, at: directive.location, among: &known, rule: .deferStreamDirectiveLabel,
        message: "Defer/Stream directive label argument must be unique.")
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
    context.forEachRootSelection(of: operation) { selection, _ in
      let (name, title) =
        if case .field = selection { ("stream", "Stream") } else { ("defer", "Defer") }
      let directive = selection.directives.first { $0.name.value == name }
      if let directive, context.directives[name] != nil {
        context.report(
          .deferStreamDirectiveOnRootField,
          "\(title) directive cannot be used on root \(operation.type.rawValue) type '\(root.name)'.",
          at: directive.location)
      }
      return true
    }
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
      let parent = context.types.parentType, !field.type.isList
    else { return }
    context.report(
      .streamDirectiveOnListField,
      "Stream directive cannot be used on non-list field '\(field.name.value)' on type '\(parent.name)'.",
      at: directive.location)
  }
}
