/// Removes ignored characters from a document: white space, commas and comments that no token
/// needs.
///
/// The result parses to an equal document, and equals the result of graphql-core's
/// `strip_ignored_characters`. Block strings lose their indentation. Takes linear time.
///
/// - Throws: ``GraphQLSyntaxError`` if the source contains an invalid token.
///
/// https://spec.graphql.org/September2025/#sec-Language.Source-Text.Ignored-Tokens
public func strippingIgnoredCharacters(of source: String) throws(GraphQLSyntaxError) -> String {
  var lexer = Lexer(bytes: Array(source.utf8))
  var result = ""
  var followsWord = false
  while true {
    let token = try lexer.next()
    if token.kind == .endOfFile { return result }
    let isWord = token.kind.rawValue >= Token.Kind.name.rawValue
    if followsWord, isWord || token.kind == .spread { result += " " }
    result +=
      token.kind == .blockString
      ? BlockString.printed(lexer.text, isMinimal: true) : lexer.source(of: token)
    followsWord = isWord
  }
}
