import GQLRunSupport

/// Extended types are defined and are of the extension's kind.
///
/// https://spec.graphql.org/September2025/#sec-Type-Extensions
final class PossibleTypeExtensions: RuleVisitor {
  private var defined: [String: TypeSystemDefinition] = [:]

  init(_ context: ValidationContext) {
    for case .typeSystem(let definition) in context.document.definitions
    where !definition.isExtension {
      if case .directive = definition { continue }
      if let name = definition.name?.value { defined[name] = definition }
    }
  }

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard definition.isExtension, let name = definition.name else { return }
    let base = defined[name.value]
    let existing = context.type(named: name.value)
    guard let kind = base?.kindName ?? existing?.kindName else {
      var known = Array(defined.keys)
      if let schema = context.schema { known += schema.types.keys.filter(context.isKnownType) }
      context.report(
        .possibleTypeExtensions,
        "Cannot extend type '\(name.value)' because it is not defined."
          + didYouMean(suggestions(for: name.value, in: known)),
        at: name.location)
      return
    }
    guard kind != definition.kindName else { return }
    context.report(
      .possibleTypeExtensions,
      "Cannot extend non-\(definition.kindName) type '\(name.value)'.",
      at: [base?.location, definition.location].compactMap { $0 })
  }
}

extension SchemaType {
  /// The kind as error messages show it.
  var kindName: String {
    switch self {
    case .scalar: "scalar"
    case .object: "object"
    case .interface: "interface"
    case .union: "union"
    case .enumeration: "enum"
    case .inputObject: "input object"
    }
  }
}
