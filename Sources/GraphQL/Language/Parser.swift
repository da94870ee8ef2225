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
    self.lexer = Lexer(bytes: bytes)
    self.options = options
    self.token = lexer.openToken(.endOfFile)
    try advance()
  }

  /// Parses the whole text with `rule`.
  static func parse<Result>(
    _ bytes: [UInt8], _ options: ParseOptions,
    _ rule: (inout Parser) throws(GraphQLSyntaxError) -> Result
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
    _ open: Token.Kind, _ close: Token.Kind,
    _ item: (inout Parser) throws(GraphQLSyntaxError) -> Item
  ) throws(GraphQLSyntaxError) -> [Item] {
    try expect(open)
    var items = [try item(&self)]
    while try !skip(close) { items.append(try item(&self)) }
    return items
  }

  /// `open item+ close`, or nothing.
  mutating func optionalMany<Item>(
    _ open: Token.Kind, _ close: Token.Kind,
    _ item: (inout Parser) throws(GraphQLSyntaxError) -> Item
  ) throws(GraphQLSyntaxError) -> [Item] {
    peek(open) ? try many(open, close, item) : []
  }

  /// `open item* close`.
  mutating func any<Item>(
    _ open: Token.Kind, _ close: Token.Kind,
    _ item: (inout Parser) throws(GraphQLSyntaxError) -> Item
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

  private func expected(_ what: String) -> GraphQLSyntaxError {
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
