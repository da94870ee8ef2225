extension Lexer {
  /// Reads the integer or float at `position`.
  ///
  /// https://spec.graphql.org/September2025/#sec-Int-Value,
  /// https://spec.graphql.org/September2025/#sec-Float-Value
  mutating func number() throws(GraphQLSyntaxError) -> Token {
    var token = openToken(.int)
    if byte(at: position) == UInt8(ascii: "-") { position += 1 }
    if byte(at: position) == UInt8(ascii: "0") {
      position += 1
      if byte(at: position)?.isDigit == true {
        throw error(
          at: position,
          "Invalid number, unexpected digit after 0: \(scalarDescription(at: position)).")
      }
    } else {
      try stepOverDigits()
    }
    if byte(at: position) == UInt8(ascii: ".") {
      token.kind = .float
      position += 1
      try stepOverDigits()
    }
    if let exponent = byte(at: position), exponent | 0x20 == UInt8(ascii: "e") {
      token.kind = .float
      position += 1
      if let sign = byte(at: position), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
        position += 1
      }
      try stepOverDigits()
    }
    if let byte = byte(at: position), byte == UInt8(ascii: ".") || byte.isNameStart {
      throw expectedDigit()
    }
    return closed(token)
  }

  private mutating func stepOverDigits() throws(GraphQLSyntaxError) {
    guard byte(at: position)?.isDigit == true else { throw expectedDigit() }
    while byte(at: position)?.isDigit == true { position += 1 }
  }

  private func expectedDigit() -> GraphQLSyntaxError {
    error(
      at: position,
      "Invalid number, expected digit but got: \(scalarDescription(at: position)).")
  }
}
