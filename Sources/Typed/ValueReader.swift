public import GQLRunJSON

/// Reads one JSON value; a scalar of the program decodes itself with it.
public struct ValueReader {
  @usableFromInline let index: TokenIndex
  @usableFromInline let token: Int

  @inlinable
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
    if let value = index.shortInteger(token) { return value }
    guard let value = try number().intValue else { throw mismatch() }
    return value
  }

  /// The value as the nearest floating-point number.
  ///
  /// - Throws: ``TypeMismatch`` if it is not a number, or larger than every finite one.
  public func double() throws -> Double {
    if let value = index.shortDecimal(token) { return value }
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
  @inlinable
  public func object() throws -> ObjectReader {
    guard isObject else { throw mismatch() }
    return ObjectReader(index, at: token)
  }

  /// The elements, each read by `element`.
  ///
  /// - Throws: ``TypeMismatch`` if the value is not an array; errors of `element`.
  @inlinable
  public func array<Element>(_ element: (ValueReader) throws -> Element) throws -> [Element] {
    guard isArray else { throw mismatch() }
    var elements: [Element] = []
    elements.reserveCapacity(index.elementCount(token))
    var current = token + 1
    let end = index.position(after: token)
    while current < end {
      elements.append(try element(ValueReader(index, at: current)))
      current = index.position(after: current)
    }
    return elements
  }

  /// The error for a value that the type cannot represent.
  ///
  /// - Parameter reason: Why it cannot, for a value of the right kind: "not a date".
  public func mismatch(_ reason: String? = nil) -> TypeMismatch {
    TypeMismatch(of: index, at: token, reason: reason)
  }

  @usableFromInline var isObject: Bool { first == UInt8(ascii: "{") }
  @usableFromInline var isArray: Bool { first == UInt8(ascii: "[") }
  private var first: UInt8 { index.bytes[Int(index.tokens[token].start)] }
}
