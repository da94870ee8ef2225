import GQLRunJSON

/// The positions of the values in a JSON text, found in one pass over it.
///
/// Generated types decode themselves from the text with the help of this index: no dictionary and no
/// value tree is created, members are found in any order, and a part of the text that no type reads
/// costs nothing further.
@usableFromInline
package final class TokenIndex: Sendable {
  /// A value or key of the text.
  struct Token {
    /// The offset of the first byte.
    var start: UInt32
    /// The offset after the last byte.
    var end: UInt32
    /// The position in the index after this value and everything in it.
    var next: UInt32
  }

  let bytes: [UInt8]
  let tokens: [Token]
  /// The values of the Boolean variables that `@skip` and `@include` use.
  let conditions: [String: Bool]

  /// Indexes a text that a parser or `JSONWriter` has already checked.
  ///
  /// - Throws: `JSONError` if the text is larger than 4 GiB or is not one complete value.
  package init(checked bytes: [UInt8], conditions: [String: Bool] = [:]) throws {
    guard bytes.count < UInt32.max else {
      throw JSONError(
        code: .limitExceeded, message: "a text of at most 4 GiB can be decoded into a type",
        offset: bytes.count)
    }
    self.bytes = bytes
    self.conditions = conditions
    tokens = try bytes.withUnsafeBufferPointer { try Tokenizer.tokens(of: $0) }
  }

  /// Checks a text with the strict parser, then indexes it.
  ///
  /// - Throws: `JSONError` if the text is not valid JSON or exceeds a limit.
  package convenience init(checking bytes: [UInt8], conditions: [String: Bool] = [:]) throws {
    _ = try JSONValue(parsing: bytes)
    try self.init(checked: bytes, conditions: conditions)
  }

  /// The value of the whole text.
  package func root<Value: GraphQLDecodable>(as type: Value.Type) throws -> Value {
    try Value(from: ValueReader(self, at: 0))
  }

  func text(_ token: Int) -> ArraySlice<UInt8> {
    bytes[Int(tokens[token].start)..<Int(tokens[token].end)]
  }

  /// The string at `token`, without quotes and escape sequences; `nil` if it is another value.
  func string(_ token: Int) -> String? {
    let (start, end) = (Int(tokens[token].start), Int(tokens[token].end))
    return bytes.withUnsafeBufferPointer { bytes in
      guard bytes[start] == UInt8(ascii: "\"") else { return nil }
      return StringText.string(UnsafeBufferPointer(rebasing: bytes[(start + 1)..<(end - 1)]))
    }
  }

  /// The position after the value at `token` and everything in it.
  @usableFromInline
  func position(after token: Int) -> Int { Int(tokens[token].next) }

  /// The number of elements of the array at `token`.
  @usableFromInline
  func elementCount(_ token: Int) -> Int {
    let end = Int(tokens[token].next)
    var (current, count) = (token + 1, 0)
    while current < end {
      count += 1
      current = Int(tokens[current].next)
    }
    return count
  }

  /// Whether the key at `token` is `name`.
  @inline(__always)
  func isKey(_ token: Int, _ name: StaticString) -> Bool {
    let start = Int(tokens[token].start) + 1
    let count = Int(tokens[token].end) - 1 - start
    let length = name.utf8CodeUnitCount
    // A key with escape sequences is longer than the name it represents.
    guard count >= length else { return false }
    let isEqual = name.withUTF8Buffer { name in
      bytes.withUnsafeBufferPointer { bytes in
        for index in 0..<length where bytes[start + index] != name[index] { return false }
        return true
      }
    }
    if isEqual, count == length { return true }
    guard count > length, bytes[start..<(start + count)].contains(UInt8(ascii: "\\")) else {
      return false
    }
    return string(token) == name.description
  }
}

/// Finds the tokens of a valid JSON text. Invalid text gives an error, never an access out of bounds.
private struct Tokenizer {
  let bytes: UnsafeBufferPointer<UInt8>
  var tokens: [TokenIndex.Token] = []
  /// The open containers, with the number of keys and values in those around the innermost one.
  var open: [(token: Int, outer: Int)] = []
  /// The number of keys and values in the innermost container.
  var children = 0

  static func tokens(of bytes: UnsafeBufferPointer<UInt8>) throws -> [TokenIndex.Token] {
    var tokenizer = Tokenizer(bytes: bytes)
    tokenizer.tokens.reserveCapacity(bytes.count / 8)
    try tokenizer.run()
    return tokenizer.tokens
  }

  mutating func run() throws {
    var offset = 0
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        let end = try stringEnd(from: offset)
        append(offset, end)
        offset = end
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        append(offset, offset)
        open.append((tokens.count - 1, children))
        children = 0
        offset += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard let (start, outer) = open.popLast(),
          children.isMultiple(of: 2) || bytes[Int(tokens[start].start)] == UInt8(ascii: "[")
        else { throw unexpected(offset) }
        children = outer
        offset += 1
        tokens[start].end = UInt32(offset)
        tokens[start].next = UInt32(tokens.count)
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"),
        UInt8(ascii: ","), UInt8(ascii: ":"):
        offset += 1
      default:
        var end = offset + 1
        while end < bytes.count, !Self.endsLiteral(bytes[end]) { end += 1 }
        append(offset, end)
        offset = end
      }
    }
    guard open.isEmpty, let first = tokens.first, Int(first.next) == tokens.count else {
      throw unexpected(bytes.count)
    }
  }

  private mutating func append(_ start: Int, _ end: Int) {
    children += 1
    tokens.append(
      TokenIndex.Token(
        start: UInt32(start), end: UInt32(end), next: UInt32(truncatingIfNeeded: tokens.count + 1)))
  }

  private func stringEnd(from start: Int) throws -> Int {
    var offset = StringText.firstSpecial(in: bytes, from: start + 1)
    while offset < bytes.count {
      if bytes[offset] == UInt8(ascii: "\"") { return offset + 1 }
      offset = StringText.firstSpecial(in: bytes, from: offset + 2)
    }
    throw unexpected(bytes.count)
  }

  private func unexpected(_ offset: Int) -> JSONError {
    JSONError(code: .syntax, message: "the text is not one complete value", offset: offset)
  }

  private static func endsLiteral(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: " "),
      UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
      true
    default: false
    }
  }
}
