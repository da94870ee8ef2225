public import GQLRunJSON

/// Reads one JSON value; a scalar of the program decodes itself with it.
public struct ValueReader {
  let index: TokenIndex
  let token: Int

  init(_ index: TokenIndex, at token: Int) {
    self.index = index
    self.token = token
  }

  /// Whether the value is null.
  public var isNull: Bool { first == UInt8(ascii: "n") }

  /// The value as a string.
  ///
  /// - Throws: ``TypeMismatch`` if it is not a string.
  public func string() throws -> String {
    guard let text = index.string(token) else { throw mismatch() }
    return text
  }

  /// The value as a Boolean.
  ///
  /// - Throws: ``TypeMismatch`` if it is neither `true` nor `false`.
  public func bool() throws -> Bool {
    switch first {
    case UInt8(ascii: "t"): return true
    case UInt8(ascii: "f"): return false
    default: throw mismatch()
    }
  }

  /// The value as a number, with its text as sent.
  ///
  /// - Throws: ``TypeMismatch`` if it is not a number.
  public func number() throws -> JSONNumber {
    guard let number = JSONNumber(text: String(decoding: index.text(token), as: UTF8.self)) else {
      throw mismatch()
    }
    return number
  }

  /// The value as an integer.
  ///
  /// - Throws: ``TypeMismatch`` if it is not a whole number that fits into 64 bits.
  public func int() throws -> Int {
    let text = index.text(token)
    // A short number without a fraction is the usual case.
    if text.count <= 18 {
      let isNegative = text.first == UInt8(ascii: "-")
      let digits = isNegative ? text.dropFirst() : text
      var value = 0
      var isPlain = !digits.isEmpty
      for byte in digits {
        let digit = byte &- UInt8(ascii: "0")
        guard digit < 10 else {
          isPlain = false
          break
        }
        value = value &* 10 &+ Int(digit)
      }
      if isPlain { return isNegative ? -value : value }
    }
    guard let value = try number().intValue else { throw mismatch() }
    return value
  }

  /// The value as the nearest floating-point number.
  ///
  /// - Throws: ``TypeMismatch`` if it is not a number, or larger than every finite one.
  public func double() throws -> Double {
    let start = first
    guard start == UInt8(ascii: "-") || start &- UInt8(ascii: "0") < 10,
      let value = Double(String(decoding: index.text(token), as: UTF8.self)), value.isFinite
    else { throw mismatch() }
    return value
  }

  /// The value as JSON, with exact numbers.
  public func json() throws -> JSONValue {
    try JSONValue(parsing: Array(index.text(token)))
  }

  /// A reader of the members.
  ///
  /// - Throws: ``TypeMismatch`` if the value is not an object.
  public func object() throws -> ObjectReader {
    guard first == UInt8(ascii: "{") else { throw mismatch() }
    return ObjectReader(index, at: token)
  }

  /// The elements, each read by `element`.
  ///
  /// - Throws: ``TypeMismatch`` if the value is not an array; errors of `element`.
  public func array<Element>(_ element: (ValueReader) throws -> Element) throws -> [Element] {
    guard first == UInt8(ascii: "[") else { throw mismatch() }
    var elements: [Element] = []
    var current = token + 1
    let end = Int(index.tokens[token].next)
    var count = 0
    while current < end {
      count += 1
      current = Int(index.tokens[current].next)
    }
    elements.reserveCapacity(count)
    current = token + 1
    while current < end {
      elements.append(try element(ValueReader(index, at: current)))
      current = Int(index.tokens[current].next)
    }
    return elements
  }

  /// The error for a value that the type cannot represent.
  ///
  /// - Parameter reason: Why it cannot, for a value of the right kind: "not a date".
  public func mismatch(_ reason: String? = nil) -> TypeMismatch {
    TypeMismatch(of: index, at: token, reason: reason)
  }

  private var first: UInt8 { index.bytes[Int(index.tokens[token].start)] }
}
