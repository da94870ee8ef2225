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
  public init(from value: ValueReader) throws { self.init(name: try value.string()) }
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
  public var json: JSONValue {
    var writer = ObjectWriter()
    write(to: &writer)
    return .object(writer.object)
  }

  /// The files in the fields.
  public var uploadsByPath: [String: GraphQLUpload] {
    var writer = ObjectWriter(collectsUploads: true)
    write(to: &writer)
    return writer.uploads
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
