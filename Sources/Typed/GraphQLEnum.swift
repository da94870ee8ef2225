public import GQLRunJSON

/// An enum of the schema: its values, and `unknown` for values that the server added later.
public protocol GraphQLEnum: GraphQLDecodable, GraphQLEncodable, Hashable, RawRepresentable, Codable
where RawValue == String {
  /// Creates the case of a name in the schema, or the unknown one. Use `init(rawValue:)`.
  init(name: String)
  /// The name in the schema. Use `rawValue`.
  var name: String { get }
}

extension GraphQLEnum {
  /// The case of a name in the schema; the unknown case with this name if there is none.
  public init(rawValue: String) { self.init(name: rawValue) }
  /// The name in the schema.
  public var rawValue: String { name }

  /// Reads the name of an enum value.
  @inlinable
  public init(from value: borrowing ValueReader) throws { self.init(name: try value.string()) }
  /// The name as JSON.
  public var json: JSONValue { .string(name) }
}

/// An input object of the schema.
public protocol GraphQLInputObject: GraphQLEncodable {
  /// Writes the fields.
  func write(to object: inout ObjectWriter)
}

extension GraphQLInputObject {
  /// The object as JSON. Absent fields are not in it.
  public var json: JSONValue { .object(ObjectWriter { write(to: &$0) }.object) }

  /// The files in the fields.
  public var uploadsByPath: [String: GraphQLUpload] {
    ObjectWriter(collectsUploads: true) { write(to: &$0) }.uploads
  }
}

/// Fields that the server may send after the rest of the result, selected with `@defer`.
public enum Deferred<Value: GraphQLObject>: Sendable {
  /// The server has not sent the fields yet.
  case pending
  /// The fields.
  case loaded(Value)

  /// The fields; `nil` as long as the server has not sent them.
  public var value: Value? { if case .loaded(let value) = self { value } else { nil } }
}

extension Deferred: Equatable where Value: Equatable {}
extension Deferred: Hashable where Value: Hashable {}
extension Deferred: Encodable where Value: Encodable {}
extension Deferred: Decodable where Value: Decodable {}

extension Deferred {
  /// Writes the fields, if the server has sent them.
  public func write(to object: inout ObjectWriter) { value?.write(to: &object) }
}

/// A nullable variable or input field: absent, null, or a value.
///
/// A server may treat an absent field and null differently: a mutation keeps a field that is absent,
/// and clears one that is null. Literals need no wrapper, and `nil` is null.
///
/// ```swift
/// UpdateUser(id: "1", name: "Ada", phone: nil)   // clears the phone number, keeps everything else
/// ```
public indirect enum GraphQLNullable<Value: GraphQLEncodable>: Sendable {
  /// The field is not sent.
  case absent
  /// Null is sent.
  case null
  /// The value is sent.
  case value(Value)

  /// The value; `nil` if the field is absent or null.
  public var value: Value? { if case .value(let value) = self { value } else { nil } }

  /// Wraps an optional value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - none: What `nil` means: `.absent`, the default, or `.null`.
  public init(_ value: Value?, ifNil none: Self = .absent) {
    self = value.map { .value($0) } ?? none
  }
}

extension GraphQLNullable: Equatable where Value: Equatable {}
extension GraphQLNullable: Hashable where Value: Hashable {}

extension GraphQLNullable: ExpressibleByNilLiteral {
  /// Null.
  public init(nilLiteral: ()) { self = .null }
}

extension GraphQLNullable: ExpressibleByUnicodeScalarLiteral
where Value: ExpressibleByUnicodeScalarLiteral {
  /// A value.
  public init(unicodeScalarLiteral value: Value.UnicodeScalarLiteralType) {
    self = .value(Value(unicodeScalarLiteral: value))
  }
}

extension GraphQLNullable: ExpressibleByExtendedGraphemeClusterLiteral
where Value: ExpressibleByExtendedGraphemeClusterLiteral {
  /// A value.
  public init(extendedGraphemeClusterLiteral value: Value.ExtendedGraphemeClusterLiteralType) {
    self = .value(Value(extendedGraphemeClusterLiteral: value))
  }
}

extension GraphQLNullable: ExpressibleByStringLiteral where Value: ExpressibleByStringLiteral {
  /// A value.
  public init(stringLiteral value: Value.StringLiteralType) {
    self = .value(Value(stringLiteral: value))
  }
}

extension GraphQLNullable: ExpressibleByIntegerLiteral where Value: ExpressibleByIntegerLiteral {
  /// A value.
  public init(integerLiteral value: Value.IntegerLiteralType) {
    self = .value(Value(integerLiteral: value))
  }
}

extension GraphQLNullable: ExpressibleByFloatLiteral where Value: ExpressibleByFloatLiteral {
  /// A value.
  public init(floatLiteral value: Value.FloatLiteralType) {
    self = .value(Value(floatLiteral: value))
  }
}

extension GraphQLNullable: ExpressibleByBooleanLiteral where Value: ExpressibleByBooleanLiteral {
  /// A value.
  public init(booleanLiteral value: Value.BooleanLiteralType) {
    self = .value(Value(booleanLiteral: value))
  }
}

extension GraphQLNullable: ExpressibleByArrayLiteral
where Value: RangeReplaceableCollection & ExpressibleByArrayLiteral {
  /// A list.
  public init(arrayLiteral elements: Value.Element...) { self = .value(Value(elements)) }
}
