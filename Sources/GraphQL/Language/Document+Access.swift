extension Value {
  /// The source location of the value's first token.
  public var location: SourceLocation {
    switch self {
    case .variable(let name), .enumeration(let name): name.location
    case .int(_, let location), .float(_, let location), .boolean(_, let location),
      .null(let location), .list(_, let location), .object(_, let location):
      location
    case .string(let string): string.location
    }
  }

  /// The names of the variables in the value, at any depth, in source order.
  public var variables: [Name] {
    switch self {
    case .variable(let name): [name]
    case .list(let values, _): values.flatMap(\.variables)
    case .object(let fields, _): fields.flatMap(\.value.variables)
    case .int, .float, .string, .boolean, .null, .enumeration: []
    }
  }

  /// Whether the value contains no variable.
  public var isConstant: Bool {
    switch self {
    case .variable: false
    case .list(let values, _): values.allSatisfy(\.isConstant)
    case .object(let fields, _): fields.allSatisfy(\.value.isConstant)
    case .int, .float, .string, .boolean, .null, .enumeration: true
    }
  }
}

extension TypeReference {
  /// The source location of the reference's first token.
  public var location: SourceLocation {
    switch self {
    case .named(let name): name.location
    case .list(_, let location): location
    case .nonNull(let inner): inner.location
    }
  }

  /// The name inside all list and non-null wrappers.
  public var namedType: Name {
    switch self {
    case .named(let name): name
    case .list(let inner, _), .nonNull(let inner): inner.namedType
    }
  }

  /// Whether the reference ends with `!`.
  public var isNonNull: Bool {
    if case .nonNull = self { true } else { false }
  }
}

extension Definition {
  /// The source location of the definition's first token.
  public var location: SourceLocation {
    switch self {
    case .operation(let operation): operation.location
    case .fragment(let fragment): fragment.location
    case .typeSystem(let definition): definition.location
    }
  }

  /// The name of the definition; `nil` for anonymous operations and `schema`.
  public var name: Name? {
    switch self {
    case .operation(let operation): operation.name
    case .fragment(let fragment): fragment.name
    case .typeSystem(let definition): definition.name
    }
  }
}

extension Selection {
  /// The source location of the selection's first token.
  public var location: SourceLocation {
    switch self {
    case .field(let field): field.location
    case .fragmentSpread(let spread): spread.location
    case .inlineFragment(let fragment): fragment.location
    }
  }

  /// The directives applied to the selection, in source order.
  public var directives: [Directive] {
    switch self {
    case .field(let field): field.directives
    case .fragmentSpread(let spread): spread.directives
    case .inlineFragment(let fragment): fragment.directives
    }
  }
}
