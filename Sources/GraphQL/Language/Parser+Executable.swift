extension Parser {
  /// `Definition+`
  mutating func document() throws(GraphQLSyntaxError) -> Document {
    var definitions = [try definition()]
    while !peek(.endOfFile) { definitions.append(try definition()) }
    return Document(definitions: definitions)
  }

  private mutating func definition() throws(GraphQLSyntaxError) -> Definition {
    let start = token.location
    let description = try self.description()
    if peek(.braceLeft) {
      // The shorthand form of an operation has no description.
      guard description == nil else { throw unexpected() }
      return .operation(
        OperationDefinition(
          type: .query, name: nil, variables: [], directives: [],
          selectionSet: try selectionSet(), isShorthand: true, location: start))
    }
    guard peek(.name) else { throw unexpected() }
    if let type = operationType {
      return .operation(try operation(type, description, start))
    }
    if peekKeyword("fragment") { return .fragment(try fragment(description, start)) }
    if let keyword = typeSystemKeyword {
      return .typeSystem(
        try typeSystemDefinition(keyword, description, isExtension: false, start))
    }
    if description != nil {
      throw error(
        "Unexpected description, descriptions are supported only on type definitions.", at: start)
    }
    guard try skipKeyword("extend") else { throw unexpected() }
    guard let keyword = typeSystemKeyword, keyword != .directive else { throw unexpected() }
    return .typeSystem(try typeSystemDefinition(keyword, nil, isExtension: true, start))
  }

  /// `StringValue`, or nothing.
  mutating func description() throws(GraphQLSyntaxError) -> StringValue? {
    peek(.string) || peek(.blockString) ? try stringValue() : nil
  }

  /// The operation type whose keyword is the current token.
  var operationType: OperationType? {
    if peekKeyword("query") { return .query }
    if peekKeyword("mutation") { return .mutation }
    if peekKeyword("subscription") { return .subscription }
    return nil
  }

  private mutating func operation(
    _ type: OperationType, _ description: StringValue?, _ start: SourceLocation
  ) throws(GraphQLSyntaxError) -> OperationDefinition {
    try advance()
    return OperationDefinition(
      description: description, type: type, name: peek(.name) ? try name() : nil,
      variables: try optionalMany(.parenLeft, .parenRight) {
        parser throws(GraphQLSyntaxError) in try parser.variableDefinition()
      },
      directives: try directives(isConstant: false), selectionSet: try selectionSet(),
      location: start)
  }

  /// `Description? Variable : Type DefaultValue? Directives[Const]?`
  private mutating func variableDefinition() throws(GraphQLSyntaxError) -> VariableDefinition {
    let start = token.location
    let description = try self.description()
    let name = try variable()
    try expect(.colon)
    return VariableDefinition(
      description: description, name: name, type: try typeReference(),
      defaultValue: try skip(.equals) ? try value(isConstant: true) : nil,
      directives: try directives(isConstant: true), location: start)
  }

  /// `fragment FragmentName TypeCondition Directives? SelectionSet`
  private mutating func fragment(
    _ description: StringValue?, _ start: SourceLocation
  ) throws(GraphQLSyntaxError) -> FragmentDefinition {
    try advance()
    let name = try fragmentName()
    try expectKeyword("on")
    return FragmentDefinition(
      description: description, name: name, typeCondition: try self.name(),
      directives: try directives(isConstant: false), selectionSet: try selectionSet(),
      location: start)
  }

  /// `Name` but not `on`.
  private mutating func fragmentName() throws(GraphQLSyntaxError) -> Name {
    if peekKeyword("on") { throw unexpected() }
    return try name()
  }

  /// `{ Selection+ }`
  mutating func selectionSet() throws(GraphQLSyntaxError) -> SelectionSet {
    let start = token.location
    let selections = try nested { parser throws(GraphQLSyntaxError) in
      try parser.many(.braceLeft, .braceRight) { parser throws(GraphQLSyntaxError) in
        try parser.selection()
      }
    }
    return SelectionSet(selections: selections, location: start)
  }

  private mutating func selection() throws(GraphQLSyntaxError) -> Selection {
    let start = token.location
    guard try skip(.spread) else { return .field(try field()) }
    let hasTypeCondition = try skipKeyword("on")
    if !hasTypeCondition, peek(.name) {
      return .fragmentSpread(
        FragmentSpread(
          name: try fragmentName(), directives: try directives(isConstant: false),
          location: start))
    }
    return .inlineFragment(
      InlineFragment(
        typeCondition: hasTypeCondition ? try name() : nil,
        directives: try directives(isConstant: false), selectionSet: try selectionSet(),
        location: start))
  }

  /// `Alias? Name Arguments? Directives? SelectionSet?`
  private mutating func field() throws(GraphQLSyntaxError) -> Field {
    let start = token.location
    var alias: Name?
    var name = try self.name()
    if try skip(.colon) {
      alias = name
      name = try self.name()
    }
    return Field(
      alias: alias, name: name, arguments: try arguments(isConstant: false),
      directives: try directives(isConstant: false),
      selectionSet: peek(.braceLeft) ? try selectionSet() : nil, location: start)
  }
}
