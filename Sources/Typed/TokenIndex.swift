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

/// Numbers in their usual notations, read from the bytes. Other notations are for the general parsers.
extension TokenIndex {
  /// The number at `token` if it is an integer of at most 18 digits.
  func shortInteger(_ token: Int) -> Int? {
    withNumber(token) { digits, isNegative in
      guard digits.count <= 18 else { return nil }
      var value = 0
      for byte in digits {
        let digit = byte &- UInt8(ascii: "0")
        guard digit < 10 else { return nil }
        value = value &* 10 &+ Int(digit)
      }
      return isNegative ? -value : value
    }
  }

  /// The number at `token` if it is a quotient of two integers that `Double` represents exactly: digits below
  /// 2⁵³ and a power of ten. One division then gives the nearest number
  /// ([Clinger](https://dl.acm.org/doi/10.1145/93542.93557), section 5).
  func shortDecimal(_ token: Int) -> Double? {
    withNumber(token) { digits, isNegative in
      guard digits.count <= 19 else { return nil }
      var value: UInt64 = 0
      var point: Int?
      for (offset, byte) in digits.enumerated() {
        let digit = byte &- UInt8(ascii: "0")
        if digit < 10 {
          value = value &* 10 &+ UInt64(digit)
        } else {
          guard byte == UInt8(ascii: "."), point == nil, offset > 0 else { return nil }
          point = offset
        }
      }
      guard value < 1 << 53 else { return nil }
      let fraction = point.map { digits.count - 1 - $0 } ?? 0
      let number = Double(value) / Self.powersOfTen[fraction]
      return isNegative ? -number : number
    }
  }

  /// 10⁰ to 10¹⁸, which `Double` represents exactly.
  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
  ]

  /// Calls `read` with the bytes after the sign, if there are any.
  @inline(__always)
  private func withNumber<Number>(
    _ token: Int, _ read: (Slice<UnsafeBufferPointer<UInt8>>, _ isNegative: Bool) -> Number?
  ) -> Number? {
    let (start, end) = (Int(tokens[token].start), Int(tokens[token].end))
    return bytes.withUnsafeBufferPointer { bytes in
      let isNegative = bytes[start] == UInt8(ascii: "-")
      let digits = bytes[(isNegative ? start + 1 : start)..<end]
      return digits.isEmpty ? nil : read(digits, isNegative)
    }
  }
}

/// The bytes of JSON strings that a parser has accepted.
enum StringText {
  /// Returns the offset of the first quotation mark or backslash, or `bytes.count`.
  ///
  /// Compares eight bytes at once: a byte is zero if it equals the one that is searched for, and only zero
  /// borrows from its highest bit ([Hacker's Delight](https://en.wikipedia.org/wiki/Hacker%27s_Delight), 6-1).
  @inline(__always)
  static func firstSpecial(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var offset = start
    while offset + 8 <= bytes.count {
      let word = UnsafeRawBufferPointer(bytes)
        .loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian
      let quote = word ^ 0x2222_2222_2222_2222
      let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
      let found =
        (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)) & 0x8080_8080_8080_8080
      // A borrow may mark a byte after the first one found, never one before it.
      if found != 0 { return offset + found.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < bytes.count, bytes[offset] != UInt8(ascii: "\""),
      bytes[offset] != UInt8(ascii: "\\")
    { offset += 1 }
    return offset
  }

  private static let ones: UInt64 = 0x0101_0101_0101_0101

  /// The string with the given text between its quotation marks.
  static func string(_ content: UnsafeBufferPointer<UInt8>) -> String {
    let plain = firstSpecial(in: content, from: 0)
    if plain == content.count { return String(decoding: content, as: UTF8.self) }
    return String(unsafeUninitializedCapacity: content.count) { output in
      var writer = Unescaper(input: content, output: output)
      writer.run()
      return writer.count
    }
  }
}

/// Replaces the escape sequences of RFC 8259 section 7. The result is never longer than the text.
private struct Unescaper {
  let input: UnsafeBufferPointer<UInt8>
  let output: UnsafeMutableBufferPointer<UInt8>
  private var offset = 0
  private(set) var count = 0

  init(input: UnsafeBufferPointer<UInt8>, output: UnsafeMutableBufferPointer<UInt8>) {
    self.input = input
    self.output = output
  }

  mutating func run() {
    while offset < input.count {
      copyPlain()
      guard offset + 1 < input.count else { return }
      let escape = input[offset + 1]
      offset += 2
      switch escape {
      case UInt8(ascii: "n"): append(0x0A)
      case UInt8(ascii: "t"): append(0x09)
      case UInt8(ascii: "r"): append(0x0D)
      case UInt8(ascii: "b"): append(0x08)
      case UInt8(ascii: "f"): append(0x0C)
      case UInt8(ascii: "u"): appendScalar()
      default: append(escape)
      }
    }
  }

  /// Copies the text before the next escape sequence.
  private mutating func copyPlain() {
    let end = StringText.firstSpecial(in: input, from: offset)
    UnsafeMutableRawBufferPointer(output)[count...]
      .copyBytes(from: UnsafeRawBufferPointer(input)[offset..<end])
    count += end - offset
    offset = end
  }

  private mutating func append(_ byte: UInt8) {
    output[count] = byte
    count += 1
  }

  /// Appends the character of four hexadecimal digits, or of a pair of surrogates.
  private mutating func appendScalar() {
    var value = UInt32(hexadecimal())
    if value & 0xFC00 == 0xD800, offset + 2 <= input.count {
      offset += 2
      value = 0x10000 + (value & 0x3FF) << 10 + UInt32(hexadecimal()) & 0x3FF
    }
    let scalar = Unicode.Scalar(value) ?? "\u{FFFD}"
    for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(byte) }
  }

  private mutating func hexadecimal() -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 where offset < input.count {
      let byte = input[offset]
      let digit = byte < 0x3A ? byte & 0xF : (byte & 0xF) &+ 9
      value = value << 4 | UInt16(digit & 0xF)
      offset += 1
    }
    return value
  }
}
