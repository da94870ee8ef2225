/// The positions of the values in a JSON text, found in one pass over it.
///
/// Types decode themselves from the text with the help of this index: no dictionary and no value tree is created,
/// members are found in any order, and a part of the text that no type reads costs nothing further.
package struct JSONIndex: Sendable {
  /// A value or key of the text.
  package struct Token: Sendable {
    /// The offset of the first byte.
    package var start: UInt32
    /// The offset after the last byte.
    package var end: UInt32
    /// The position in the index after this value and everything in it.
    package var next: UInt32
  }

  /// The text.
  package let bytes: [UInt8]
  /// The values and keys in the order of their starts. A key precedes its value.
  package let tokens: [Token]

  /// Indexes a text that a parser or `JSONWriter` has already checked.
  ///
  /// - Throws: `JSONError` if the text is larger than 4 GiB or is not one complete value.
  package init(checked bytes: [UInt8]) throws(JSONError) {
    guard bytes.count < UInt32.max else {
      throw JSONError(
        code: .limitExceeded, message: "a text of at most 4 GiB can be decoded into a type",
        offset: bytes.count)
    }
    self.bytes = bytes
    tokens = try bytes.withUnsafeBufferPointer { bytes throws(JSONError) in
      try Tokenizer.tokens(of: UnsafeRawBufferPointer(bytes))
    }
  }

  /// Checks a text with the strict parser, then indexes it.
  ///
  /// - Throws: `JSONError` if the text is not valid JSON, exceeds a limit or is larger than 4 GiB.
  init(checking bytes: [UInt8], limits: JSONLimits) throws(JSONError) {
    var parser = try CountingParser(limits: limits)
    try bytes.withUnsafeBufferPointer { text throws(JSONError) in
      try parser.feed(UnsafeRawBufferPointer(text))
      try parser.finish()
    }
    try self.init(checked: bytes)
  }

  /// The bytes of the value or key at `token`.
  package func text(_ token: Int) -> ArraySlice<UInt8> {
    bytes[Int(tokens[token].start)..<Int(tokens[token].end)]
  }

  /// The first byte of the value at `token`, which decides about its kind.
  package func first(_ token: Int) -> UInt8 { bytes[Int(tokens[token].start)] }

  /// The string at `token`, without quotes and escape sequences; `nil` if it is another value.
  package func string(_ token: Int) -> String? {
    first(token) == UInt8(ascii: "\"") ? withContent(of: token, JSONUnescaper.string) : nil
  }

  /// Whether the string at `token` has escape sequences.
  func isEscaped(_ token: Int) -> Bool {
    withContent(of: token) { $0.firstSpecial(from: 0) < $0.count }
  }

  /// Whether the string at `token` has these bytes between its quotation marks.
  func isString(_ token: Int, _ content: UnsafeBufferPointer<UInt8>) -> Bool {
    withContent(of: token) { $0.count == content.count && $0.elementsEqual(content) }
  }

  /// Calls `read` with the bytes between the quotation marks of the string at `token`.
  private func withContent<Result>(
    of token: Int, _ read: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    let (start, end) = (Int(tokens[token].start), Int(tokens[token].end))
    return bytes.withUnsafeBytes {
      read(UnsafeRawBufferPointer(rebasing: $0[(start + 1)..<(end - 1)]))
    }
  }

  /// The number at `token`.
  func number(_ token: Int) -> JSONNumber {
    JSONNumber(verified: String(decoding: text(token), as: UTF8.self))
  }

  /// The position after the value at `token` and everything in it.
  package func position(after token: Int) -> Int { Int(tokens[token].next) }

  /// The number of elements of the array at `token`.
  package func elementCount(_ token: Int) -> Int {
    let end = Int(tokens[token].next)
    var (current, count) = (token + 1, 0)
    while current < end {
      count += 1
      current = Int(tokens[current].next)
    }
    return count
  }
}

/// Finds the tokens of a valid JSON text. Invalid text, as of a damaged record, gives an error or tokens of the right kinds:
/// never an access out of bounds, by any reader of the tokens.
private struct Tokenizer {
  let bytes: UnsafeRawBufferPointer
  var tokens: [JSONIndex.Token] = []
  /// The open containers, with the number of keys and values in those around the innermost one.
  var open: [(token: Int, outer: Int)] = []
  /// The number of keys and values in the innermost container.
  var children = 0

  static func tokens(of bytes: UnsafeRawBufferPointer) throws(JSONError) -> [JSONIndex.Token] {
    var tokenizer = Tokenizer(bytes: bytes)
    tokenizer.tokens.reserveCapacity(bytes.count / 8)
    try tokenizer.run()
    return tokenizer.tokens
  }

  mutating func run() throws(JSONError) {
    var offset = 0
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        guard let end = JSONCursor.endOfString(in: bytes, from: offset) else {
          throw unexpected(bytes.count)
        }
        append(offset, end)
        offset = end
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        guard !expectsKey else { throw unexpected(offset) }
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
        guard !expectsKey else { throw unexpected(offset) }
        var end = offset + 1
        while end < bytes.count, !bytes[end].endsJSONScalar { end += 1 }
        append(offset, end)
        offset = end
      }
    }
    guard open.isEmpty, let first = tokens.first, Int(first.next) == tokens.count else {
      throw unexpected(bytes.count)
    }
  }

  /// Whether only a string can follow: a key.
  private var expectsKey: Bool {
    guard children.isMultiple(of: 2), let (start, _) = open.last else { return false }
    return bytes[Int(tokens[start].start)] == UInt8(ascii: "{")
  }

  private mutating func append(_ start: Int, _ end: Int) {
    children += 1
    tokens.append(
      JSONIndex.Token(
        start: UInt32(start), end: UInt32(end), next: UInt32(truncatingIfNeeded: tokens.count + 1)))
  }

  private func unexpected(_ offset: Int) -> JSONError {
    JSONError(code: .syntax, message: "the text is not one complete value", offset: offset)
  }
}

/// Numbers in their usual notations, read from the bytes. Other notations are for the general parsers.
extension JSONIndex {
  /// The number at `token` if it is an integer of at most 18 digits.
  package func shortInteger(_ token: Int) -> Int? {
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
  package func shortDecimal(_ token: Int) -> Double? {
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

extension JSONValue {
  /// The value at `token` of an indexed text, whose grammar is not checked again, apart from numbers.
  ///
  /// - Throws: `JSONError` if an object has two members with one key, for a nesting that is too deep for a tree, and for
  ///   what is no value.
  package init(_ index: JSONIndex, at token: Int) throws(JSONError) {
    try self.init(index, at: token, offset: Int(index.tokens[token].start), depth: 0)
  }

  private init(
    _ index: JSONIndex, at token: Int, offset: Int, depth: Int32
  ) throws(JSONError) {
    let limits = JSONLimits()
    func failure(_ code: JSONFailureCode, at position: UInt32) -> JSONError {
      JSONError(
        code: code.code, message: code.explanation(limits), offset: Int(position) - offset)
    }
    let end = index.position(after: token)
    var current = token + 1
    switch index.first(token) {
    case let bracket where "{[".utf8.contains(bracket) && depth == limits.maxDepth:
      throw failure(.depthExceeded, at: index.tokens[token].start + 1)
    case UInt8(ascii: "{"):
      var members: [JSONObject.Member] = []
      while current < end {
        let value = try Self(index, at: current + 1, offset: offset, depth: depth + 1)
        members.append(JSONObject.Member(key: index.string(current) ?? "", value: value))
        current = index.position(after: current + 1)
      }
      guard let object = JSONObject(uniqueMembers: members) else {
        throw failure(.duplicateKey, at: index.tokens[token].end)
      }
      self = .object(object)
    case UInt8(ascii: "["):
      var elements: [JSONValue] = []
      while current < end {
        elements.append(try Self(index, at: current, offset: offset, depth: depth + 1))
        current = index.position(after: current)
      }
      self = .array(elements)
    case UInt8(ascii: "\""): self = .string(index.string(token) ?? "")
    case UInt8(ascii: "t"): self = .boolean(true)
    case UInt8(ascii: "f"): self = .boolean(false)
    case UInt8(ascii: "n"): self = .null
    default:
      guard let number = JSONNumber(text: String(decoding: index.text(token), as: UTF8.self)) else {
        throw JSONError(
          code: .syntax, message: "expected a value",
          offset: Int(index.tokens[token].start) - offset)
      }
      self = .number(number)
    }
  }
}
