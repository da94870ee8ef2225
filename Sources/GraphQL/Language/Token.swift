/// A lexical token: its kind and its range of bytes.
///
/// https://spec.graphql.org/September2025/#sec-Appendix-Grammar-Summary.Lexical-Tokens
struct Token {
  enum Kind: UInt8 {
    case endOfFile
    case bang, dollar, ampersand, parenLeft, parenRight, spread, colon, equals, at
    case bracketLeft, bracketRight, braceLeft, pipe, braceRight
    case name, int, float, string, blockString
  }

  var kind: Kind
  var start: Int
  var end: Int
  var line: Int
  var column: Int

  var location: SourceLocation { SourceLocation(line: line, column: column, offset: start) }
}

extension Token.Kind {
  /// The kind as error messages show it: `'{'`, `Name`, `<EOF>`.
  var description: String {
    switch self {
    case .endOfFile: "<EOF>"
    case .bang: "'!'"
    case .dollar: "'$'"
    case .ampersand: "'&'"
    case .parenLeft: "'('"
    case .parenRight: "')'"
    case .spread: "'...'"
    case .colon: "':'"
    case .equals: "'='"
    case .at: "'@'"
    case .bracketLeft: "'['"
    case .bracketRight: "']'"
    case .braceLeft: "'{'"
    case .pipe: "'|'"
    case .braceRight: "'}'"
    case .name: "Name"
    case .int: "Int"
    case .float: "Float"
    case .string: "String"
    case .blockString: "BlockString"
    }
  }

  /// The kind of a punctuator of one byte; nil if `byte` is not one.
  init?(punctuator byte: UInt8) {
    switch byte {
    case UInt8(ascii: "!"): self = .bang
    case UInt8(ascii: "$"): self = .dollar
    case UInt8(ascii: "&"): self = .ampersand
    case UInt8(ascii: "("): self = .parenLeft
    case UInt8(ascii: ")"): self = .parenRight
    case UInt8(ascii: ":"): self = .colon
    case UInt8(ascii: "="): self = .equals
    case UInt8(ascii: "@"): self = .at
    case UInt8(ascii: "["): self = .bracketLeft
    case UInt8(ascii: "]"): self = .bracketRight
    case UInt8(ascii: "{"): self = .braceLeft
    case UInt8(ascii: "|"): self = .pipe
    case UInt8(ascii: "}"): self = .braceRight
    default: return nil
    }
  }
}
