/// There is at most one schema definition.
final class LoneSchemaDefinition: RuleVisitor {
  private var isDefined = false

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard case .schema(let schema) = definition, !schema.isExtension else { return }
    if context.schema != nil {
      context.report(
        .loneSchemaDefinition, "Cannot define a new schema within a schema extension.",
        at: schema.location)
    } else if isDefined {
      context.report(
        .loneSchemaDefinition, "Must provide only one schema definition.", at: schema.location)
    }
    isDefined = true
  }
}
