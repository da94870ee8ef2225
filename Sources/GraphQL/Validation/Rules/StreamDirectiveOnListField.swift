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
