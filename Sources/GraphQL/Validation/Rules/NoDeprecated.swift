/// Warns about deprecated fields, arguments, input fields and enum values.
///
/// https://spec.graphql.org/September2025/#sec--deprecated
final class NoDeprecated: RuleVisitor {
  func enter(field: Field, _ context: ValidationContext) {
    guard let reason = context.types.field?.deprecationReason,
      let parent = context.types.parentType
    else { return }
    report(
      "The field \(parent.name).\(field.name.value) is deprecated. \(reason)", field.location,
      context)
  }

  func enter(argument: Argument, _ context: ValidationContext) {
    let types = context.types
    guard let reason = types.argument?.deprecationReason else { return }
    let name = argument.name.value
    if let directive = types.directive {
      report(
        "Directive '@\(directive.name.value)' argument '\(name)' is deprecated. \(reason)",
        argument.location, context)
    } else if let parent = types.parentType {
      report(
        "Field '\(parent.name).\(types.fieldName)' argument '\(name)' is deprecated. \(reason)",
        argument.location, context)
    }
  }

  func enter(objectField field: ObjectField, _ context: ValidationContext) {
    guard case .inputObject(let type)? = context.namedType(of: context.types.parentInputType),
      let reason = type.fields[field.name.value]?.deprecationReason
    else { return }
    report(
      "The input field \(type.name).\(field.name.value) is deprecated. \(reason)",
      field.location, context)
  }

  func enter(value: Value, _ context: ValidationContext) {
    guard case .enumeration(let name) = value,
      case .enumeration(let type)? = context.namedType(of: context.types.inputType),
      let reason = type.values[name.value]?.deprecationReason
    else { return }
    report(
      "The enum value '\(type.name).\(name.value)' is deprecated. \(reason)", name.location,
      context)
  }

  private func report(_ message: String, _ location: SourceLocation, _ context: ValidationContext) {
    context.report(.noDeprecated, message, at: location)
  }
}
