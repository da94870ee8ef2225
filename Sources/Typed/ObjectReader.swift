public import GQLRunJSON

/// Reads the members of one JSON object, in any order; generated types decode themselves with it.
///
/// Responses list their fields in selection order, so the next member is compared first. Members that
/// no property reads are ignored. Several types can read the same object: an object and its fragments.
public struct ObjectReader {
  @usableFromInline let index: TokenIndex
  /// The position of the object in the index.
  @usableFromInline let token: Int
  /// The position of the key that is compared first.
  private var next: Int

  @usableFromInline
  init(_ index: TokenIndex, at token: Int) {
    self.index = index
    self.token = token
    next = token + 1
  }

  /// Reads the value of a member.
  ///
  /// - Parameters:
  ///   - key: The response key.
  ///   - type: The type in the GraphQL schema, for error messages.
  /// - Throws: ``TypeMismatch`` if the member is missing or has another type.
  @inlinable
  public mutating func read<Value: GraphQLDecodable>(
    _ key: StaticString, _ type: StaticString
  ) throws -> Value {
    guard let member = member(key) else { throw missing(key, type) }
    do {
      return try Value(from: ValueReader(index, at: member))
    } catch {
      throw Self.mismatch(error, type)
    }
  }

  /// Reads the value of a member that `@skip` or `@include` may exclude from the response.
  ///
  /// Other selections of the same object may include the member when this one is excluded; its value then
  /// may lack fields.
  ///
  /// - Returns: The value; `nil` if the member is missing or null, or if it lacks a field.
  /// - Throws: ``TypeMismatch`` if the member has another type.
  @inlinable
  public mutating func readIfIncluded<Value: GraphQLDecodable>(
    _ key: StaticString, _ type: StaticString
  ) throws -> Value? {
    do {
      return member(key) == nil ? nil : try read(key, type) as Value?
    } catch let error as TypeMismatch where error.isMissing {
      return nil
    }
  }

  /// Reads fields that the server may send later, from the same object.
  public mutating func deferred<Value: GraphQLObject>() throws -> Deferred<Value> {
    do {
      return .loaded(try .read(from: &self))
    } catch let error as TypeMismatch where error.isMissing {
      return .pending
    }
  }

  /// The value of `__typename`.
  ///
  /// - Throws: ``TypeMismatch`` if the object has none.
  public mutating func typename() throws -> String { try read("__typename", "String!") }

  /// Whether the Boolean variable with that name is true, for fragments with `@skip` or `@include`.
  public func isTrue(_ variable: String) -> Bool { index.conditions[variable] ?? false }

  @usableFromInline
  func missing(_ key: StaticString, _ type: StaticString) -> TypeMismatch {
    TypeMismatch(missing: key, of: index, at: token, type: type)
  }

  /// The error of a value, with the type of its field if the error has none.
  @usableFromInline
  static func mismatch(_ error: any Error, _ type: StaticString) -> any Error {
    guard var mismatch = error as? TypeMismatch, mismatch.type.isEmpty else { return error }
    mismatch.type = type.description
    return mismatch
  }

  /// The position of the value of a member.
  @usableFromInline
  mutating func member(_ key: StaticString) -> Int? {
    index.json.value(of: key, in: token, next: &next)
  }
}

/// Reads one JSON value; a scalar of the program decodes itself with it.
public struct ValueReader {
  @usableFromInline let index: TokenIndex
  @usableFromInline let token: Int

  @inlinable
  init(_ index: TokenIndex, at token: Int) {
    self.index = index
    self.token = token
  }

  /// The error of a null; `nil` if the response has none for it, and for other values.
  @usableFromInline var error: FieldError? { index.errors[token] }

  /// Whether the value is null.
  public var isNull: Bool { first == UInt8(ascii: "n") }

  /// The value as a string.
  ///
  /// - Throws: ``TypeMismatch`` if it is not a string.
  public func string() throws -> String {
    guard let text = index.json.string(token) else { throw failure() }
    return text
  }

  /// The value as a Boolean.
  ///
  /// - Throws: ``TypeMismatch`` if it is neither `true` nor `false`.
  public func bool() throws -> Bool {
    switch first {
    case UInt8(ascii: "t"): return true
    case UInt8(ascii: "f"): return false
    default: throw failure()
    }
  }

  /// The value as a number, with its text as sent.
  ///
  /// - Throws: ``TypeMismatch`` if it is not a number.
  public func number() throws -> JSONNumber {
    guard let number = JSONNumber(text: String(decoding: index.json.text(token), as: UTF8.self))
    else {
      throw failure()
    }
    return number
  }

  /// The value as an integer.
  ///
  /// - Throws: ``TypeMismatch`` if it is not a whole number that fits into 64 bits.
  public func int() throws -> Int {
    if let value = index.json.shortInteger(token) { return value }
    guard let value = try number().intValue else { throw failure() }
    return value
  }

  /// The value as the nearest floating-point number.
  ///
  /// - Throws: ``TypeMismatch`` if it is not a number, or larger than every finite one.
  public func double() throws -> Double {
    if let value = index.json.shortDecimal(token) { return value }
    let start = first
    guard start == UInt8(ascii: "-") || start &- UInt8(ascii: "0") < 10,
      let value = Double(String(decoding: index.json.text(token), as: UTF8.self)), value.isFinite
    else { throw failure() }
    return value
  }

  /// The value as JSON, with exact numbers.
  public func json() throws -> JSONValue {
    try JSONValue(index.json, at: token)
  }

  /// A reader of the members.
  ///
  /// - Throws: ``TypeMismatch`` if the value is not an object.
  @inlinable
  public func object() throws -> ObjectReader {
    guard isObject else { throw failure() }
    return ObjectReader(index, at: token)
  }

  /// The elements, each read by `element`.
  ///
  /// - Throws: ``TypeMismatch`` if the value is not an array; errors of `element`.
  @inlinable
  public func array<Element>(_ element: (ValueReader) throws -> Element) throws -> [Element] {
    guard isArray else { throw failure() }
    let end = index.position(after: token)
    return try Array(unsafeUninitializedCapacity: index.elementCount(token)) { elements, count in
      var current = token + 1
      while current < end {
        elements.initializeElement(at: count, to: try element(ValueReader(index, at: current)))
        count += 1
        current = index.position(after: current)
      }
    }
  }

  /// The error for a value that the type cannot represent.
  ///
  /// - Parameter reason: Why it cannot, for a value of the right kind: "not a date".
  public func mismatch(_ reason: String? = nil) -> TypeMismatch {
    TypeMismatch(of: index, at: token, reason: reason)
  }

  /// The error for a value that the type cannot represent: for a null, that of the response, if decoding has it.
  @usableFromInline
  func failure(_ reason: String? = nil) -> any Error {
    if let error { return UncaughtNull(error: error) }
    return mismatch(reason)
  }

  @usableFromInline var isObject: Bool { first == UInt8(ascii: "{") }
  @usableFromInline var isArray: Bool { first == UInt8(ascii: "[") }
  private var first: UInt8 { index.json.first(token) }
}
