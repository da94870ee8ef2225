extension Schema {
  /// The type inside all list and non-null wrappers; `nil` if the schema does not define it.
  public func namedType(of reference: TypeReference) -> SchemaType? {
    types[reference.namedType.value]
  }

  /// Whether a field of type `reference` is valid where one of type `supertype` is expected.
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
  /// Whether both references denote the same type; source locations are ignored.
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
  /// The argument with that name; `nil` if there is none.
  public func argument(named name: String) -> InputValueDefinition? {
    arguments.first { $0.name.value == name }
  }

  /// The reason for the field's deprecation; `nil` if it is not deprecated.
  public var deprecationReason: String? { directives.deprecationReason }
}

extension EnumValueDefinition {
  /// The reason for the value's deprecation; `nil` if it is not deprecated.
  public var deprecationReason: String? { directives.deprecationReason }
}

extension InputValueDefinition {
  /// The reason for the deprecation of the argument or input field; `nil` if it is not deprecated.
  public var deprecationReason: String? { directives.deprecationReason }

  /// Whether a value is required: the type is non-null and there is no default value. A schema has
  /// no default values of the wrong type.
  public var isRequired: Bool { type.isNonNull && defaultValue == nil }
}

extension DirectiveDefinition {
  /// The argument with that name; `nil` if there is none.
  public func argument(named name: String) -> InputValueDefinition? {
    arguments.first { $0.name.value == name }
  }
}

extension [Directive] {
  /// In the reference implementation, `reason: null` does not deprecate.
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
