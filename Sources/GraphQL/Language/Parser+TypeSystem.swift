extension Parser {
  /// The keywords that start a type system definition.
  enum TypeSystemKeyword {
    case schema, scalar, type, interface, union, enumeration, input, directive
  }

  var typeSystemKeyword: TypeSystemKeyword? {
    if peekKeyword("type") { return .type }
    if peekKeyword("input") { return .input }
    if peekKeyword("enum") { return .enumeration }
    if peekKeyword("interface") { return .interface }
    if peekKeyword("union") { return .union }
    if peekKeyword("scalar") { return .scalar }
    if peekKeyword("directive") { return .directive }
    if peekKeyword("schema") { return .schema }
    return nil
  }

  /// Parses a definition or extension, starting at its keyword.
  ///
  /// An extension that adds nothing is a syntax error, as in the grammar.
  mutating func typeSystemDefinition(
    _ keyword: TypeSystemKeyword, _ description: StringValue?, isExtension: Bool,
    _ start: SourceLocation
  ) throws(GraphQLSyntaxError) -> TypeSystemDefinition {
    try advance()
    switch keyword {
    case .schema: return try schema(description, isExtension, start)
    case .directive: return try directive(description, start)
    default: break
    }
    let name = try self.name()
    let isComposite = keyword == .type || keyword == .interface
    let interfaces = isComposite ? try implementsInterfaces() : []
    let directives = try directives(isConstant: true)
    // Whether it has more than a name, which the grammar requires of extensions.
    var isFilled = !interfaces.isEmpty || !directives.isEmpty
    let definition: TypeSystemDefinition
    switch keyword {
    case .type, .interface:
      let fields = try fieldDefinitions()
      isFilled = isFilled || !fields.isEmpty
      definition =
        keyword == .type
        ? .object(
          ObjectTypeDefinition(
            description: description, name: name, interfaces: interfaces, directives: directives,
            fields: fields, isExtension: isExtension, location: start))
        : .interface(
          InterfaceTypeDefinition(
            description: description, name: name, interfaces: interfaces, directives: directives,
            fields: fields, isExtension: isExtension, location: start))
    case .union:
      let types = try unionMembers()
      isFilled = isFilled || !types.isEmpty
      definition = .union(
        UnionTypeDefinition(
          description: description, name: name, directives: directives, types: types,
          isExtension: isExtension, location: start))
    case .enumeration:
      let values = try optionalMany(.braceLeft, .braceRight) {
        parser throws(GraphQLSyntaxError) in try parser.enumValueDefinition()
      }
      isFilled = isFilled || !values.isEmpty
      definition = .enumeration(
        EnumTypeDefinition(
          description: description, name: name, directives: directives, values: values,
          isExtension: isExtension, location: start))
    case .input:
      let fields = try inputValueDefinitions(.braceLeft, .braceRight)
      isFilled = isFilled || !fields.isEmpty
      definition = .inputObject(
        InputObjectTypeDefinition(
          description: description, name: name, directives: directives, fields: fields,
          isExtension: isExtension, location: start))
    case .scalar, .schema, .directive:
      definition = .scalar(
        ScalarTypeDefinition(
          description: description, name: name, directives: directives, isExtension: isExtension,
          location: start))
    }
    if isExtension, !isFilled { throw unexpected() }
    return definition
  }

  /// `schema Directives[Const]? { RootOperationTypeDefinition+ }`
  private mutating func schema(
    _ description: StringValue?, _ isExtension: Bool, _ start: SourceLocation
  ) throws(GraphQLSyntaxError) -> TypeSystemDefinition {
    let directives = try directives(isConstant: true)
    var operationTypes: [OperationTypeDefinition] = []
    if !isExtension || peek(.braceLeft) {
      operationTypes = try many(.braceLeft, .braceRight) { parser throws(GraphQLSyntaxError) in
        try parser.operationTypeDefinition()
      }
    }
    if isExtension, directives.isEmpty, operationTypes.isEmpty { throw unexpected() }
    return .schema(
      SchemaDefinition(
        description: description, directives: directives, operationTypes: operationTypes,
        isExtension: isExtension, location: start))
  }

  /// `OperationType : NamedType`
  private mutating func operationTypeDefinition() throws(GraphQLSyntaxError)
    -> OperationTypeDefinition
  {
    let start = token.location
    guard let operation = operationType else { throw try unexpectedName() }
    try advance()
    try expect(.colon)
    return OperationTypeDefinition(operation: operation, type: try name(), location: start)
  }

  /// `directive @ Name ArgumentsDefinition? repeatable? on DirectiveLocations`
  private mutating func directive(
    _ description: StringValue?, _ start: SourceLocation
  ) throws(GraphQLSyntaxError) -> TypeSystemDefinition {
    try expect(.at)
    let name = try self.name()
    let arguments = try inputValueDefinitions(.parenLeft, .parenRight)
    let isRepeatable = try skipKeyword("repeatable")
    try expectKeyword("on")
    let locations = try delimited(by: .pipe) { parser throws(GraphQLSyntaxError) in
      try parser.directiveLocation()
    }
    return .directive(
      DirectiveDefinition(
        description: description, name: name, arguments: arguments, isRepeatable: isRepeatable,
        locations: locations, location: start))
  }

  private mutating func directiveLocation() throws(GraphQLSyntaxError) -> DirectiveLocation {
    guard peek(.name), let location = DirectiveLocation(rawValue: lexer.source(of: token)) else {
      throw try unexpectedName()
    }
    try advance()
    return location
  }

  /// The error for an unexpected name. An invalid next token takes precedence.
  private mutating func unexpectedName() throws(GraphQLSyntaxError) -> GraphQLSyntaxError {
    let error = unexpected()
    try expect(.name)
    return error
  }

  /// `implements &? NamedType (& NamedType)*`, or nothing.
  private mutating func implementsInterfaces() throws(GraphQLSyntaxError) -> [Name] {
    guard try skipKeyword("implements") else { return [] }
    return try delimited(by: .ampersand) { parser throws(GraphQLSyntaxError) in
      try parser.name()
    }
  }

  /// `= |? NamedType (| NamedType)*`, or nothing.
  private mutating func unionMembers() throws(GraphQLSyntaxError) -> [Name] {
    guard try skip(.equals) else { return [] }
    return try delimited(by: .pipe) { parser throws(GraphQLSyntaxError) in try parser.name() }
  }

  /// `{ FieldDefinition+ }`, or nothing.
  private mutating func fieldDefinitions() throws(GraphQLSyntaxError) -> [FieldDefinition] {
    try optionalMany(.braceLeft, .braceRight) { parser throws(GraphQLSyntaxError) in
      let start = parser.token.location
      let description = try parser.description()
      let name = try parser.name()
      let arguments = try parser.inputValueDefinitions(.parenLeft, .parenRight)
      try parser.expect(.colon)
      return FieldDefinition(
        description: description, name: name, arguments: arguments,
        type: try parser.typeReference(), directives: try parser.directives(isConstant: true),
        location: start)
    }
  }

  /// `open InputValueDefinition+ close`, or nothing.
  private mutating func inputValueDefinitions(
    _ open: Token.Kind, _ close: Token.Kind
  ) throws(GraphQLSyntaxError) -> [InputValueDefinition] {
    try optionalMany(open, close) { parser throws(GraphQLSyntaxError) in
      let start = parser.token.location
      let description = try parser.description()
      let name = try parser.name()
      try parser.expect(.colon)
      return InputValueDefinition(
        description: description, name: name, type: try parser.typeReference(),
        defaultValue: try parser.skip(.equals) ? try parser.value(isConstant: true) : nil,
        directives: try parser.directives(isConstant: true), location: start)
    }
  }

  /// `Description? EnumValue Directives[Const]?`; `true`, `false` and `null` are not allowed.
  private mutating func enumValueDefinition() throws(GraphQLSyntaxError) -> EnumValueDefinition {
    let start = token.location
    let description = try self.description()
    if peekKeyword("true") || peekKeyword("false") || peekKeyword("null") {
      throw error(
        "\(tokenDescription) is reserved and cannot be used for an enum value.",
        at: token.location)
    }
    return EnumValueDefinition(
      description: description, name: try name(), directives: try directives(isConstant: true),
      location: start)
  }
}
