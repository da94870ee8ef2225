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
