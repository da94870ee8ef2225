public import GQLRunJSON

/// A value that can be read from a response.
public protocol GraphQLDecodable: Sendable {
  /// Reads a value.
  ///
  /// An initializer without `borrowing` conforms, too, at the cost of a reference count for each value.
  ///
  /// - Throws: ``TypeMismatch`` if the value has another type.
  init(from value: borrowing ValueReader) throws
}

/// A value that can be written as a variable, or as data into the cache.
public protocol GraphQLEncodable: Sendable {
  /// The value as JSON.
  var json: JSONValue { get }
  /// The files in the value by their paths, such as `attachments.0`; `""` for a file itself. Empty by default.
  var uploadsByPath: [String: GraphQLUpload] { get }
  /// Whether there is nothing to write, because the value is the error of a field. `false` by default.
  var isAbsent: Bool { get }
}

extension GraphQLEncodable {
  /// Not absent.
  public var isAbsent: Bool { false }
  /// No files.
  public var uploadsByPath: [String: GraphQLUpload] { [:] }
}

/// A custom scalar of a schema, represented by a type of the program.
///
/// ```swift
/// extension Money: GraphQLScalar {
///   init(json: JSONValue) throws {
///     guard let text = json.stringValue, let money = Money(text) else { throw ScalarError("not an amount") }
///     self = money
///   }
///   var json: JSONValue { .string(text) }
/// }
/// ```
/// `gqlrun generate --scalar Money=Money` then uses it for every field of the scalar type.
public protocol GraphQLScalar: GraphQLDecodable, GraphQLEncodable {
  /// Creates a value from the JSON in a response.
  ///
  /// - Throws: ``ScalarError`` with the reason if the JSON is not a value of the scalar.
  init(json: JSONValue) throws
}

/// Why a JSON value is not a value of a custom scalar.
public struct ScalarError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reason, such as `not a date`.
  public var description: String

  /// Creates an error.
  public init(_ reason: String) { description = reason }
}

extension GraphQLScalar {
  /// Reads the JSON of a scalar.
  public init(from value: borrowing ValueReader) throws {
    do {
      try self.init(json: value.json())
    } catch {
      throw value.failure("\(error)")
    }
  }
}

extension String: GraphQLDecodable, GraphQLEncodable {
  /// Reads a string.
  @inlinable
  public init(from value: borrowing ValueReader) throws { self = try value.string() }
  /// The string as JSON.
  public var json: JSONValue { .string(self) }
}

extension Int: GraphQLDecodable, GraphQLEncodable {
  /// Reads a whole number.
  @inlinable
  public init(from value: borrowing ValueReader) throws { self = try value.int() }
  /// The number as JSON.
  public var json: JSONValue { .number(JSONNumber(self)) }
}

extension Double: GraphQLDecodable, GraphQLEncodable {
  /// Reads a number.
  @inlinable
  public init(from value: borrowing ValueReader) throws { self = try value.double() }
  /// The number as JSON; null for infinities and NaN, which JSON lacks.
  public var json: JSONValue { JSONNumber(self).map { .number($0) } ?? .null }
}

extension Bool: GraphQLDecodable, GraphQLEncodable {
  /// Reads a Boolean.
  @inlinable
  public init(from value: borrowing ValueReader) throws { self = try value.bool() }
  /// The Boolean as JSON.
  public var json: JSONValue { .boolean(self) }
}

extension JSONValue: GraphQLDecodable, GraphQLEncodable {
  /// Reads any value. A null that has an error is none.
  @inlinable
  public init(from value: borrowing ValueReader) throws {
    guard value.error == nil else { throw value.failure() }
    self = try value.json()
  }
  /// The value itself.
  public var json: JSONValue { self }
}

extension Optional: GraphQLDecodable where Wrapped: GraphQLDecodable {
  /// Reads a value or null.
  @inlinable
  public init(from value: borrowing ValueReader) throws {
    self = value.isNull ? nil : try Wrapped(from: value)
  }
}

extension Optional: GraphQLEncodable where Wrapped: GraphQLEncodable {
  /// The value as JSON, or null.
  public var json: JSONValue { map(\.json) ?? .null }
  /// Whether the value is absent; null is not.
  public var isAbsent: Bool { self?.isAbsent ?? false }
  /// The files of the value.
  public var uploadsByPath: [String: GraphQLUpload] { self?.uploadsByPath ?? [:] }
}

extension Array: GraphQLDecodable where Element: GraphQLDecodable {
  /// Reads a list.
  @inlinable
  public init(from value: borrowing ValueReader) throws {
    self = try value.array(Element.init(from:))
  }
}

extension Array: GraphQLEncodable where Element: GraphQLEncodable {
  /// The list as JSON.
  public var json: JSONValue { .array(map(\.json)) }
  /// Whether an element is absent, without which the list would be another.
  public var isAbsent: Bool { contains(where: \.isAbsent) }
  /// The files of the elements, below their indices.
  public var uploadsByPath: [String: GraphQLUpload] {
    var uploads: [String: GraphQLUpload] = [:]
    for (index, element) in enumerated() {
      for (path, file) in element.uploadsByPath { uploads[path.below("\(index)")] = file }
    }
    return uploads
  }
}
