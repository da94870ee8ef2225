/// Directives are defined and are applied at a location that their definition allows.
///
/// Without a schema, only the standard directives are checked.
///
/// https://spec.graphql.org/September2025/#sec-Directives-Are-Defined
final class KnownDirectives: RuleVisitor {
  func enter(
    directive: Directive, at location: DirectiveLocation, _ context: ValidationContext
  ) {
    let name = directive.name.value
    guard let definition = context.directives[name] else {
      if context.schema != nil || context.isTypeSystem {
        context.report(
          .knownDirectives, "Unknown directive '@\(name)'.", at: directive.location)
      }
      return
    }
    guard !definition.locations.contains(location) else { return }
    context.report(
      .knownDirectives, "Directive '@\(name)' may not be used on \(location.title).",
      at: directive.location)
  }
}

/// A directive is applied at most once per location, unless it is repeatable.
///
/// https://spec.graphql.org/September2025/#sec-Directives-Are-Unique-per-Location
final class UniqueDirectivesPerLocation: RuleVisitor {
  private typealias Seen = [String: SourceLocation]
  private var ofSchema: Seen = [:]
  private var ofTypes: [String: Seen] = [:]

  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    check(operation.directives, context)
  }

  func enter(fragment: FragmentDefinition, _ context: ValidationContext) {
    check(fragment.directives, context)
  }

  func enter(variable: VariableDefinition, _ context: ValidationContext) {
    check(variable.directives, context)
  }

  func enter(field: Field, _ context: ValidationContext) { check(field.directives, context) }

  func enter(spread: FragmentSpread, _ context: ValidationContext) {
    check(spread.directives, context)
  }

  func enter(inlineFragment: InlineFragment, _ context: ValidationContext) {
    check(inlineFragment.directives, context)
  }

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard !definition.directives.isEmpty else { return }
    if var name = definition.name?.value {
      // A type may have the same name.
      if case .directive = definition { name = "@" + name }
      check(definition.directives, seen: &ofTypes[name, default: [:]], context: context)
    } else {
      check(definition.directives, seen: &ofSchema, context: context)
    }
  }

  func enter(fieldDefinition: FieldDefinition, _ context: ValidationContext) {
    check(fieldDefinition.directives, context)
  }

  func enter(inputValue: InputValueDefinition, _ context: ValidationContext) {
    check(inputValue.directives, context)
  }

  func enter(enumValue: EnumValueDefinition, _ context: ValidationContext) {
    check(enumValue.directives, context)
  }

  private func check(_ directives: [Directive], _ context: ValidationContext) {
    guard directives.count > 1 else { return }
    var seen: Seen = [:]
    check(directives, seen: &seen, context: context)
  }

  private func check(_ directives: [Directive], seen: inout Seen, context: ValidationContext) {
    for directive in directives {
      let name = directive.name.value
      guard let definition = context.directives[name], !definition.isRepeatable else { continue }
      context.require(
        unique: name, at: directive.location, among: &seen, rule: .uniqueDirectivesPerLocation,
        message: "The directive '@\(name)' can only be used once at this location.")
    }
  }
}
