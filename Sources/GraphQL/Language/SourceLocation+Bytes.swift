extension SourceLocation {
  /// The location of the byte at `offset` in a UTF-8 text; the end of the text if `offset` is
  /// larger.
  ///
  /// Takes time linear in `offset`, so it is for errors only; the lexer keeps its own count.
  package init(ofByteAt offset: Int, in bytes: [UInt8]) {
    let end = min(max(offset, 0), bytes.count)
    var line = 1
    var column = 1
    var index = 0
    while index < end {
      switch bytes[index] {
      case UInt8(ascii: "\n"):
        line += 1
        column = 1
      case UInt8(ascii: "\r"):
        // CRLF is one line terminator, counted at the LF.
        if index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "\n") { break }
        line += 1
        column = 1
      case 0x80...0xBF:
        break
      default:
        column += 1
      }
      index += 1
    }
    self.init(line: line, column: column, offset: end)
  }
}
