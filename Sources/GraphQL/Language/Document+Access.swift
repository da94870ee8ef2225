extension Value {
  /// Where the value starts.
  public var location: SourceLocation {
    switch self {
    case .variable(let name), .enumeration(let name): name.location
    case .int(_, let location), .float(_, let location), .boolean(_, let location),
      .null(let location), .list(_, let location), .object(_, let location):
      location
    case .string(let string): string.location
    }
  }

  /// The names of the variables the value holds, at any depth, in source order.
  public var variables: [Name] {
    switch self {
    case .variable(let name): [name]
    case .list(let values, _): values.flatMap(\.variables)
    case .object(let fields, _): fields.flatMap(\.value.variables)
    case .int, .float, .string, .boolean, .null, .enumeration: []
    }
  }

  /// Whether the value holds no variable.
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
  /// Where the reference starts.
  public var location: SourceLocation {
    switch self {
    case .named(let name): name.location
    case .list(_, let location): location
    case .nonNull(let inner): inner.location
    }
  }

  /// The name inside all lists and non-nulls.
  public var namedType: Name {
    switch self {
    case .named(let name): name
    case .list(let inner, _), .nonNull(let inner): inner.namedType
    }
  }

  public var isNonNull: Bool {
    if case .nonNull = self { true } else { false }
  }
}

extension Definition {
  public var location: SourceLocation {
    switch self {
    case .operation(let operation): operation.location
    case .fragment(let fragment): fragment.location
    case .typeSystem(let definition): definition.location
    }
  }

  /// The name defined; `nil` for anonymous operations and `schema`.
  public var name: Name? {
    switch self {
    case .operation(let operation): operation.name
    case .fragment(let fragment): fragment.name
    case .typeSystem(let definition): definition.name
    }
  }
}

extension Selection {
  public var location: SourceLocation {
    switch self {
    case .field(let field): field.location
    case .fragmentSpread(let spread): spread.location
    case .inlineFragment(let fragment): fragment.location
    }
  }

  public var directives: [Directive] {
    switch self {
    case .field(let field): field.directives
    case .fragmentSpread(let spread): spread.directives
    case .inlineFragment(let fragment): fragment.directives
    }
  }
}
