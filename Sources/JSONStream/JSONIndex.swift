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
  @inline(__always)
  func isString(_ token: Int, _ content: UnsafeBufferPointer<UInt8>) -> Bool {
    withContent(of: token) {
      $0.count == content.count && $0.hasBytes(UnsafeRawBufferPointer(content))
    }
  }

  /// The position of the value of a member of an object; `nil` if the object has none of that name.
  ///
  /// - Parameter next: The position of the key that is compared first; those before it are compared last. Becomes the
  ///   position after the value.
  package func value(of name: StaticString, in object: Int, next: inout Int) -> Int? {
    let (first, end) = (next, position(after: object))
    // Usually it is the next member.
    if first < end, name.hasPointerRepresentation,
      isString(
        first, UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    {
      next = position(after: first + 1)
      return first + 1
    }
    guard let key = key(name, from: first, to: end) ?? key(name, from: object + 1, to: first)
    else { return nil }
    next = position(after: key + 1)
    return key + 1
  }

  @inline(never)
  private func key(_ name: StaticString, from start: Int, to end: Int) -> Int? {
    name.withUTF8Buffer { name in
      var key = start
      while key < end {
        if isString(key, name) || isEscaped(key, name) { return key }
        key = position(after: key + 1)
      }
      return nil
    }
  }

  /// Whether the string at `token` has escape sequences, and these characters.
  private func isEscaped(_ token: Int, _ characters: UnsafeBufferPointer<UInt8>) -> Bool {
    withContent(of: token) {
      // An escape sequence is longer than the character it represents.
      $0.count > characters.count && $0.firstSpecial(from: 0) < $0.count
        && JSONUnescaper.string($0).utf8.elementsEqual(characters)
    }
  }

  /// Calls `read` with the bytes between the quotation marks of the string at `token`.
  @inline(__always)
  private func withContent<Result>(
    of token: Int, _ read: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    // A string has two quotation marks.
    let (start, end) = (Int(tokens[token].start) &+ 1, Int(tokens[token].end) &- 1)
    return bytes.withUnsafeBytes {
      read(UnsafeRawBufferPointer(start: $0.baseAddress.map { $0 + start }, count: end &- start))
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
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  /// The innermost open container; ``none`` outside the value. While a container is open, its `next` is the one around it.
  private var container = none
  /// Whether only a string can follow, because in an object a key is before each value.
  private var expectsKey = false

  private static let none = UInt32.max

  static func tokens(of bytes: UnsafeRawBufferPointer) throws(JSONError) -> [JSONIndex.Token] {
    var tokenizer = Tokenizer(bytes: bytes)
    var tokens: [JSONIndex.Token] = []
    var failure: JSONError?
    repeat {
      let found = tokens
      // At first, space for a token in eight bytes. Appending to an array would take a call for each token.
      let capacity = max(found.count * 2, bytes.count / 8 + 8)
      tokens = Array(unsafeUninitializedCapacity: capacity) { space, count in
        count = space.initialize(fromContentsOf: found)
        do throws(JSONError) { try tokenizer.run(&count, space) } catch { failure = error }
      }
      if let failure { throw failure }
    } while tokenizer.offset < bytes.count
    guard tokenizer.container == none, let first = tokens.first, Int(first.next) == tokens.count
    else { throw tokenizer.unexpected(bytes.count) }
    return tokens
  }

  /// Appends tokens until the text ends or `tokens` is full.
  private mutating func run(
    _ count: inout Int, _ tokens: UnsafeMutableBufferPointer<JSONIndex.Token>
  ) throws(JSONError) {
    var (offset, container, next) = (offset, container, count)
    var isInObject = container != Self.none && isObject(tokens[Int(container)])
    var expectsKey = expectsKey
    defer {
      (self.offset, self.container, self.expectsKey) = (offset, container, expectsKey)
      count = next
    }
    while offset < bytes.count, next < tokens.count {
      let start = offset
      switch bytes[start] {
      case UInt8(ascii: "\""):
        guard let end = JSONCursor.endOfString(in: bytes, from: start) else {
          throw unexpected(bytes.count)
        }
        expectsKey = isInObject && !expectsKey
        offset = end
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"),
        UInt8(ascii: ","), UInt8(ascii: ":"):
        offset &+= 1
        continue
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard container != Self.none, expectsKey == isInObject else { throw unexpected(start) }
        offset &+= 1
        let token = Int(container)
        container = tokens[token].next
        tokens[token].end = UInt32(truncatingIfNeeded: offset)
        tokens[token].next = UInt32(truncatingIfNeeded: next)
        isInObject = container != Self.none && isObject(tokens[Int(container)])
        expectsKey = isInObject
        continue
      case let byte:
        guard !expectsKey else { throw unexpected(start) }
        offset &+= 1
        if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
          tokens[next] = JSONIndex.Token(
            start: UInt32(truncatingIfNeeded: start), end: 0, next: container)
          container = UInt32(truncatingIfNeeded: next)
          next &+= 1
          isInObject = byte == UInt8(ascii: "{")
          expectsKey = isInObject
          continue
        }
        while offset < bytes.count, !bytes[offset].endsJSONScalar { offset &+= 1 }
        expectsKey = isInObject
      }
      tokens[next] = JSONIndex.Token(
        start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: offset),
        next: UInt32(truncatingIfNeeded: next &+ 1))
      next &+= 1
    }
  }

  private func isObject(_ token: JSONIndex.Token) -> Bool {
    bytes[Int(token.start)] == UInt8(ascii: "{")
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
  package init(_ index: borrowing JSONIndex, at token: Int) throws(JSONError) {
    try self.init(index, at: token, offset: Int(index.tokens[token].start), depth: 0)
  }

  private init(
    _ index: borrowing JSONIndex, at token: Int, offset: Int, depth: Int32
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
