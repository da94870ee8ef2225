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
    let description = location.rawValue.lowercased().split(separator: "_").joined(separator: " ")
    context.report(
      .knownDirectives, "Directive '@\(name)' may not be used on \(description).",
      at: directive.location)
  }
}
