/// A recursive descent parser with one token of lookahead.
///
/// Its rules are in extensions, one per part of the grammar; each consumes exactly the tokens of
/// its construct. https://spec.graphql.org/September2025/#sec-Appendix-Grammar-Summary
struct Parser {
  var lexer: Lexer
  /// The lookahead token.
  var token: Token
  private let options: ParseOptions
  private(set) var tokenCount = 0
  private var depth = 0

  private init(_ bytes: [UInt8], _ options: ParseOptions) throws(GraphQLSyntaxError) {
    self.lexer = Lexer(bytes: bytes, edition: options.edition)
    self.options = options
    self.token = lexer.openToken(.endOfFile)
    try advance()
  }

  /// Parses the whole text with `rule`.
  static func parse<Result>(
    _ bytes: [UInt8], options: ParseOptions,
    rule: (inout Parser) throws(GraphQLSyntaxError) -> Result
  ) throws(GraphQLSyntaxError) -> Result {
    var parser = try Parser(bytes, options)
    let result = try rule(&parser)
    try parser.expect(.endOfFile)
    return result
  }

  /// Throws an error located at the first byte that is not valid UTF-8.
  static func requireUTF8(_ bytes: [UInt8]) throws(GraphQLSyntaxError) {
    guard String(validating: bytes, as: UTF8.self) == nil else { return }
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    var offset = 0
    while case .scalarValue(let scalar) = decoder.decode(&iterator) {
      offset += UTF8.width(scalar)
    }
    let byte = offset < bytes.count ? bytes[offset] : 0
    let digits = String(byte, radix: 16, uppercase: true)
    throw GraphQLSyntaxError(
      message: "Syntax Error: Invalid UTF-8: unexpected byte 0x\(byte < 16 ? "0" : "")\(digits).",
      location: SourceLocation(ofByteAt: offset, in: bytes))
  }

  // MARK: - Tokens

  /// Advances to the next token.
  mutating func advance() throws(GraphQLSyntaxError) {
    token = try lexer.next()
    guard token.kind != .endOfFile else { return }
    tokenCount += 1
    if tokenCount > options.maxTokens {
      throw error(
        "Document contains more than \(options.maxTokens) tokens. Parsing aborted.",
        at: token.location)
    }
  }

  func peek(_ kind: Token.Kind) -> Bool { token.kind == kind }

  func peekKeyword(_ keyword: StaticString) -> Bool {
    guard token.kind == .name, token.end - token.start == keyword.utf8CodeUnitCount else {
      return false
    }
    return keyword.withUTF8Buffer { lexer.bytes[token.start..<token.end].elementsEqual($0) }
  }

  mutating func expect(_ kind: Token.Kind) throws(GraphQLSyntaxError) {
    guard token.kind == kind else { throw expected(kind.description) }
    if kind != .endOfFile { try advance() }
  }

  mutating func skip(_ kind: Token.Kind) throws(GraphQLSyntaxError) -> Bool {
    guard token.kind == kind else { return false }
    try advance()
    return true
  }

  mutating func expectKeyword(_ keyword: StaticString) throws(GraphQLSyntaxError) {
    guard peekKeyword(keyword) else { throw expected("'\(keyword)'") }
    try advance()
  }

  mutating func skipKeyword(_ keyword: StaticString) throws(GraphQLSyntaxError) -> Bool {
    guard peekKeyword(keyword) else { return false }
    try advance()
    return true
  }

  mutating func name() throws(GraphQLSyntaxError) -> Name {
    guard token.kind == .name else { throw expected(Token.Kind.name.description) }
    let name = Name(lexer.source(of: token), at: token.location)
    try advance()
    return name
  }

  // MARK: - Lists

  /// `open item+ close`.
  mutating func many<Item>(
    _ open: Token.Kind, close: Token.Kind,
    item: (inout Parser) throws(GraphQLSyntaxError) -> Item
  ) throws(GraphQLSyntaxError) -> [Item] {
    try expect(open)
    var items = [try item(&self)]
    while try !skip(close) { items.append(try item(&self)) }
    return items
  }

  /// `open item+ close`, or nothing.
  mutating func optionalMany<Item>(
    _ open: Token.Kind, close: Token.Kind,
    item: (inout Parser) throws(GraphQLSyntaxError) -> Item
  ) throws(GraphQLSyntaxError) -> [Item] {
    peek(open) ? try many(open, close: close, item: item) : []
  }

  /// `open item* close`.
  mutating func any<Item>(
    _ open: Token.Kind, close: Token.Kind,
    item: (inout Parser) throws(GraphQLSyntaxError) -> Item
  ) throws(GraphQLSyntaxError) -> [Item] {
    try expect(open)
    var items: [Item] = []
    while try !skip(close) { items.append(try item(&self)) }
    return items
  }

  /// `delimiter? item (delimiter item)*`.
  mutating func delimited<Item>(
    by delimiter: Token.Kind, _ item: (inout Parser) throws(GraphQLSyntaxError) -> Item
  ) throws(GraphQLSyntaxError) -> [Item] {
    _ = try skip(delimiter)
    var items = [try item(&self)]
    while try skip(delimiter) { items.append(try item(&self)) }
    return items
  }

  // MARK: - Editions

  /// Throws if the edition of the options lacks a construct.
  ///
  /// - Parameter refusal: The error that parsers of that edition have.
  func require(
    _ addition: LanguageAddition, refusal: @autoclosure () -> GraphQLSyntaxError
  ) throws(GraphQLSyntaxError) {
    guard addition.edition > options.edition else { return }
    throw refusal().explained(by: addition, edition: options.edition)
  }

  // MARK: - Depth

  /// Parses with `rule` one level deeper; throws if that exceeds the depth limit.
  mutating func nested<Result>(
    _ rule: (inout Parser) throws(GraphQLSyntaxError) -> Result
  ) throws(GraphQLSyntaxError) -> Result {
    depth += 1
    if depth > options.maxDepth {
      throw error(
        "Document is nested more than \(options.maxDepth) levels deep. Parsing aborted.",
        at: token.location)
    }
    let result = try rule(&self)
    depth -= 1
    return result
  }

  // MARK: - Errors

  func error(_ message: String, at location: SourceLocation) -> GraphQLSyntaxError {
    GraphQLSyntaxError(message: "Syntax Error: " + message, location: location)
  }

  func unexpected() -> GraphQLSyntaxError {
    error("Unexpected \(tokenDescription).", at: token.location)
  }

  func expected(_ what: String) -> GraphQLSyntaxError {
    error("Expected \(what), found \(tokenDescription).", at: token.location)
  }

  /// The token as error messages show it: `Name 'foo'`, `'{'`, `<EOF>`.
  var tokenDescription: String {
    switch token.kind {
    case .name, .int, .float: "\(token.kind.description) '\(lexer.source(of: token))'"
    case .string, .blockString: "\(token.kind.description) '\(lexer.text)'"
    default: token.kind.description
    }
  }
}

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
      try requireDescription(description)
      return .operation(try operation(type, description: description, start: start))
    }
    if peekKeyword("fragment") {
      try requireDescription(description)
      return .fragment(try fragment(description, start))
    }
    if let keyword = typeSystemKeyword {
      return .typeSystem(
        try typeSystemDefinition(
          keyword, description: description, isExtension: false, start: start))
    }
    if description != nil { throw unexpectedDescription(at: start) }
    guard try skipKeyword("extend") else { throw unexpected() }
    guard let keyword = typeSystemKeyword else { throw unexpected() }
    if keyword == .directive { try require(.directiveExtension, refusal: unexpected()) }
    return .typeSystem(
      try typeSystemDefinition(keyword, description: nil, isExtension: true, start: start))
  }

  private func unexpectedDescription(at location: SourceLocation) -> GraphQLSyntaxError {
    error(
      "Unexpected description, descriptions are supported only on type definitions.", at: location)
  }

  /// Throws if there is a description of an operation or fragment and the edition has none.
  private func requireDescription(_ description: StringValue?) throws(GraphQLSyntaxError) {
    guard let description else { return }
    try require(
      .executableDescription, refusal: unexpectedDescription(at: description.location))
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
    _ type: OperationType, description: StringValue?, start: SourceLocation
  ) throws(GraphQLSyntaxError) -> OperationDefinition {
    try advance()
    return OperationDefinition(
      description: description, type: type, name: peek(.name) ? try name() : nil,
      variables: try optionalMany(.parenLeft, close: .parenRight) {
        parser throws(GraphQLSyntaxError) in try parser.variableDefinition()
      },
      directives: try directives(isConstant: false), selectionSet: try selectionSet(),
      location: start)
  }

  /// `Description? Variable : Type DefaultValue? Directives[Const]?`
  private mutating func variableDefinition() throws(GraphQLSyntaxError) -> VariableDefinition {
    let start = token.location
    if peek(.string) || peek(.blockString) {
      try require(.executableDescription, refusal: expected(Token.Kind.dollar.description))
    }
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

  /// `{ Selection* }`
  mutating func selectionSet() throws(GraphQLSyntaxError) -> SelectionSet {
    let start = token.location
    let selections = try nested { parser throws(GraphQLSyntaxError) in
      try parser.expect(.braceLeft)
      if parser.peek(.braceRight) {
        try parser.require(
          .emptySelectionSet, refusal: parser.expected(Token.Kind.name.description))
      }
      var selections: [Selection] = []
      while try !parser.skip(.braceRight) { selections.append(try parser.selection()) }
      return selections
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
    _ keyword: TypeSystemKeyword, description: StringValue?, isExtension: Bool,
    start: SourceLocation
  ) throws(GraphQLSyntaxError) -> TypeSystemDefinition {
    try advance()
    switch keyword {
    case .schema: return try schema(description, isExtension: isExtension, start: start)
    case .directive:
      return isExtension ? try directiveExtension(start) : try directive(description, start)
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
      let values = try optionalMany(.braceLeft, close: .braceRight) {
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
    _ description: StringValue?, isExtension: Bool, start: SourceLocation
  ) throws(GraphQLSyntaxError) -> TypeSystemDefinition {
    let directives = try directives(isConstant: true)
    var operationTypes: [OperationTypeDefinition] = []
    if !isExtension || peek(.braceLeft) {
      operationTypes = try many(.braceLeft, close: .braceRight) {
        parser throws(GraphQLSyntaxError) in
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

  /// `directive @ Name ArgumentsDefinition? Directives[Const]? repeatable? on DirectiveLocations`
  private mutating func directive(
    _ description: StringValue?, _ start: SourceLocation
  ) throws(GraphQLSyntaxError) -> TypeSystemDefinition {
    try expect(.at)
    let name = try self.name()
    let arguments = try inputValueDefinitions(.parenLeft, .parenRight)
    if peek(.at) { try require(.directiveOnDirective, refusal: expected("'on'")) }
    let directives = try directives(isConstant: true)
    let isRepeatable = try skipKeyword("repeatable")
    try expectKeyword("on")
    let locations = try delimited(by: .pipe) { parser throws(GraphQLSyntaxError) in
      try parser.directiveLocation()
    }
    return .directive(
      DirectiveDefinition(
        description: description, name: name, arguments: arguments, directives: directives,
        isRepeatable: isRepeatable, locations: locations, location: start))
  }

  /// `extend directive @ Name Directives[Const]`
  private mutating func directiveExtension(
    _ start: SourceLocation
  ) throws(GraphQLSyntaxError) -> TypeSystemDefinition {
    try expect(.at)
    let name = try self.name()
    let directives = try directives(isConstant: true)
    if directives.isEmpty { throw unexpected() }
    return .directive(
      DirectiveDefinition(name: name, directives: directives, isExtension: true, location: start))
  }

  private mutating func directiveLocation() throws(GraphQLSyntaxError) -> DirectiveLocation {
    guard peek(.name), let location = DirectiveLocation(rawValue: lexer.source(of: token)) else {
      throw try unexpectedName()
    }
    if location == .directiveDefinition {
      try require(.directiveDefinitionLocation, refusal: unexpected())
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
    try optionalMany(.braceLeft, close: .braceRight) { parser throws(GraphQLSyntaxError) in
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
    try optionalMany(open, close: close) { parser throws(GraphQLSyntaxError) in
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

extension Parser {
  /// `Value[?Const]`: constant values contain no variables.
  mutating func value(isConstant: Bool) throws(GraphQLSyntaxError) -> Value {
    let start = token.location
    switch token.kind {
    case .bracketLeft:
      let values = try nested { parser throws(GraphQLSyntaxError) in
        try parser.any(.bracketLeft, close: .bracketRight) { parser throws(GraphQLSyntaxError) in
          try parser.value(isConstant: isConstant)
        }
      }
      return .list(values, start)
    case .braceLeft:
      let fields = try nested { parser throws(GraphQLSyntaxError) in
        try parser.any(.braceLeft, close: .braceRight) { parser throws(GraphQLSyntaxError) in
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
    try optionalMany(.parenLeft, close: .parenRight) { parser throws(GraphQLSyntaxError) in
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

/// The edition of a GraphQL text, and the limits that bound the time and memory that hostile text costs.
public struct ParseOptions: Sendable, Hashable {
  /// The maximum number of tokens. One million by default, enough for schemas of several megabytes.
  public var maxTokens: Int
  /// The maximum nesting depth of selection sets, values and list types. 256 by default.
  ///
  /// It bounds the recursion of the parser and of everything that traverses its result. By
  /// measurement, the default depth needs a stack of 512 KB in release builds and 2 MB in debug
  /// builds; use a higher limit only on threads with more.
  public var maxDepth: Int
  /// The edition whose grammar is accepted; the newest by default. A construct that it lacks is an error, which names
  /// the edition that added it.
  public var edition: Edition

  /// Creates options.
  public init(maxTokens: Int = 1_000_000, maxDepth: Int = 256, edition: Edition = .newest) {
    self.maxTokens = maxTokens
    self.maxDepth = maxDepth
    self.edition = edition
  }
}
