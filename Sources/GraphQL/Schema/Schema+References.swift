extension Schema {
  /// The named type inside all lists and non-nulls.
  public func namedType(of reference: TypeReference) -> SchemaType? {
    types[reference.namedType.value]
  }

  /// Whether a field of type `reference` may stand in for one of type `supertype`.
  ///
  /// https://spec.graphql.org/September2025/#IsSubType()
  public func isSubtype(_ reference: TypeReference, of supertype: TypeReference) -> Bool {
    switch (reference, supertype) {
    case (.nonNull(let inner), .nonNull(let superInner)): isSubtype(inner, of: superInner)
    case (.nonNull(let inner), _): isSubtype(inner, of: supertype)
    case (_, .nonNull): false
    case (.list(let inner, _), .list(let superInner, _)): isSubtype(inner, of: superInner)
    case (.named(let name), .named(let superName)): isSubtype(name.value, of: superName.value)
    case (.list, .named), (.named, .list): false
    }
  }
}

extension TypeReference {
  /// Whether both are the same type, wherever they stand.
  public func isSameType(as other: TypeReference) -> Bool {
    switch (self, other) {
    case (.named(let name), .named(let otherName)): name.value == otherName.value
    case (.list(let inner, _), .list(let otherInner, _)): inner.isSameType(as: otherInner)
    case (.nonNull(let inner), .nonNull(let otherInner)): inner.isSameType(as: otherInner)
    default: false
    }
  }
}

extension FieldDefinition {
  public func argument(named name: String) -> InputValueDefinition? {
    arguments.first { $0.name.value == name }
  }

  /// Why the field should not be used any more; `nil` when it may.
  public var deprecationReason: String? { directives.deprecationReason }
}

extension EnumValueDefinition {
  /// Why the value should not be used any more; `nil` when it may.
  public var deprecationReason: String? { directives.deprecationReason }
}

extension InputValueDefinition {
  /// Why it should not be given any more; `nil` when it may.
  public var deprecationReason: String? { directives.deprecationReason }

  /// Whether it must be given: it is non-null and has no default. In a schema, default values that
  /// their types do not allow do not count.
  public var isRequired: Bool { type.isNonNull && defaultValue == nil }
}

extension DirectiveDefinition {
  public func argument(named name: String) -> InputValueDefinition? {
    arguments.first { $0.name.value == name }
  }
}

extension [Directive] {
  /// As for the reference implementation, a reason that is given as `null` deprecates nothing.
  ///
  /// https://spec.graphql.org/September2025/#sec--deprecated
  fileprivate var deprecationReason: String? {
    guard let directive = first(where: { $0.name.value == "deprecated" }) else { return nil }
    for argument in directive.arguments where argument.name.value == "reason" {
      switch argument.value {
      case .string(let reason): return reason.value
      case .null: return nil
      default: break
      }
    }
    return "No longer supported"
  }
}
