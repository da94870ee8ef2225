import GQLRunSupport

/// Referenced types are defined.
///
/// https://spec.graphql.org/September2025/#sec-Fragment-Spread-Type-Existence
final class KnownTypeNames: RuleVisitor {
  private let defined: Set<String>
  private var isInTypeSystem = false

  init(_ context: ValidationContext) {
    var defined: Set<String> = []
    for case .typeSystem(let definition) in context.document.definitions
    where !definition.isExtension {
      if case .directive = definition { continue }
      if let name = definition.name?.value { defined.insert(name) }
    }
    self.defined = defined
  }

  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    isInTypeSystem = false
  }

  func enter(fragment: FragmentDefinition, _ context: ValidationContext) {
    isInTypeSystem = false
  }

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    isInTypeSystem = true
  }

  func enter(namedType name: Name, _ context: ValidationContext) {
    guard !context.isKnownType(name.value), !defined.contains(name.value) else { return }
    if isInTypeSystem, BuiltIns.typeNames.contains(name.value) { return }
    var known = Array(defined)
    if let schema = context.schema { known += schema.types.keys.filter(context.isKnownType) }
    if isInTypeSystem { known += BuiltIns.typeNames }
    context.report(
      .knownTypeNames,
      "Unknown type '\(name.value)'." + didYouMean(suggestions(for: name.value, in: known)),
      at: name.location)
  }
}
