extension Parser {
  /// `Value[?Const]`: constant values contain no variables.
  mutating func value(isConstant: Bool) throws(GraphQLSyntaxError) -> Value {
    let start = token.location
    switch token.kind {
    case .bracketLeft:
      let values = try nested { parser throws(GraphQLSyntaxError) in
        try parser.any(.bracketLeft, .bracketRight) { parser throws(GraphQLSyntaxError) in
          try parser.value(isConstant: isConstant)
        }
      }
      return .list(values, start)
    case .braceLeft:
      let fields = try nested { parser throws(GraphQLSyntaxError) in
        try parser.any(.braceLeft, .braceRight) { parser throws(GraphQLSyntaxError) in
          try parser.objectField(isConstant: isConstant)
        }
      }
      return .object(fields, start)
    case .int, .float:
      let text = lexer.source(of: token)
      let isInt = peek(.int)
      try advance()
      return isInt ? .int(text, start) : .float(text, start)
    case .string, .blockString:
      return .string(try stringValue())
    case .name:
      if try skipKeyword("true") { return .boolean(true, start) }
      if try skipKeyword("false") { return .boolean(false, start) }
      if try skipKeyword("null") { return .null(start) }
      return .enumeration(try name())
    case .dollar where isConstant:
      let dollar = unexpected()
      try advance()
      guard peek(.name) else { throw dollar }
      let name = lexer.source(of: token)
      throw error("Unexpected variable '$\(name)' in constant value.", at: start)
    case .dollar:
      return .variable(try variable())
    default:
      throw unexpected()
    }
  }

  /// `$ Name`, as a name with the location of the `$`.
  mutating func variable() throws(GraphQLSyntaxError) -> Name {
    let start = token.location
    try expect(.dollar)
    return Name(try name().value, at: start)
  }

  /// The string literal at the current token, which must be one.
  mutating func stringValue() throws(GraphQLSyntaxError) -> StringValue {
    let value = StringValue(lexer.text, isBlock: peek(.blockString), at: token.location)
    try advance()
    return value
  }

  private mutating func objectField(isConstant: Bool) throws(GraphQLSyntaxError) -> ObjectField {
    let name = try self.name()
    try expect(.colon)
    return ObjectField(
      name: name, value: try value(isConstant: isConstant), location: name.location)
  }

  /// `( Argument[?Const]+ )`, or nothing.
  mutating func arguments(isConstant: Bool) throws(GraphQLSyntaxError) -> [Argument] {
    try optionalMany(.parenLeft, .parenRight) { parser throws(GraphQLSyntaxError) in
      let name = try parser.name()
      try parser.expect(.colon)
      return Argument(
        name: name, value: try parser.value(isConstant: isConstant), location: name.location)
    }
  }

  /// `Directive[?Const]*`
  mutating func directives(isConstant: Bool) throws(GraphQLSyntaxError) -> [Directive] {
    var directives: [Directive] = []
    while peek(.at) {
      let start = token.location
      try advance()
      directives.append(
        Directive(
          name: try name(), arguments: try arguments(isConstant: isConstant), location: start))
    }
    return directives
  }

  /// `NamedType`, `[Type]`, or either followed by `!`.
  mutating func typeReference() throws(GraphQLSyntaxError) -> TypeReference {
    let start = token.location
    let type: TypeReference
    if try skip(.bracketLeft) {
      let inner = try nested { parser throws(GraphQLSyntaxError) in try parser.typeReference() }
      try expect(.bracketRight)
      type = .list(inner, start)
    } else {
      type = .named(try name())
    }
    return try skip(.bang) ? .nonNull(type) : type
  }
}
