@_exported public import GQLRunJSON

/// An operation with its variables, whose results have a type.
///
/// `gqlrun generate` writes a type for each operation of a project. Execute a value with the client:
///
/// ```swift
/// let country = try await client.fetch(CountryQuery(code: "PT")).data?.country
/// ```
public protocol GraphQLOperation: Sendable {
  /// The data of a result.
  associatedtype Data: GraphQLObject
  /// The name of the operation.
  static var operationName: String { get }
  /// The GraphQL document: the operation and the fragments that it uses.
  static var document: String { get }
  /// The values of the Boolean variables that `@skip` and `@include` use.
  var conditions: [String: Bool] { get }
  /// Whether fields of the data have or throw their errors (`@catch`), so that decoding needs those of the response.
  static var catchesErrors: Bool { get }
  /// Writes the variables.
  func write(to variables: inout ObjectWriter)
}

/// A query with its variables.
public protocol GraphQLQuery: GraphQLOperation {}
/// A mutation with its variables.
public protocol GraphQLMutation: GraphQLOperation {}
/// A subscription with its variables.
public protocol GraphQLSubscription: GraphQLOperation {}

extension GraphQLOperation {
  /// No variables.
  public func write(to variables: inout ObjectWriter) {}

  /// No variables of `@skip` and `@include`.
  public var conditions: [String: Bool] { [:] }

  /// `false`: errors are beside the data.
  public static var catchesErrors: Bool { false }

  /// The variables as JSON. Omitted ones are not in it.
  public var variables: JSONObject { ObjectWriter { write(to: &$0) }.object }

  /// The files in the variables by their paths: `input.attachments.0`. The variables have null there.
  public var uploadsByPath: [String: GraphQLUpload] {
    ObjectWriter(collectsUploads: true) { write(to: &$0) }.uploads
  }

  /// Decodes the `data` of a response from its JSON text.
  ///
  /// - Parameters:
  ///   - json: The text of `data`.
  ///   - errors: The `errors` of the response, for fields with `@catch`; not used without such fields.
  /// - Throws: `JSONError` if the text is not valid JSON; ``TypeMismatch`` if it does not match the
  ///   operation; the ``FieldError`` of a field with `@catch(to: THROW)`, or of a null that the type cannot represent,
  ///   if nothing above the field has it.
  public func data(json: some Sequence<UInt8>, errors: [FieldError] = []) throws -> Data {
    do {
      return try TokenIndex(
        checking: Array(json), conditions: conditions, errors: Self.catchesErrors ? errors : []
      ).root(as: Data.self)
    } catch let null as UncaughtNull {
      throw null.error
    }
  }

  /// Decodes data from text that the pipeline has produced.
  ///
  /// - Throws: ``UncaughtNull`` for a null that an error explains and no field catches; otherwise as
  ///   ``data(json:errors:)``.
  package func data(checked json: [UInt8], errors: [FieldError] = []) throws -> Data {
    try TokenIndex(
      checked: json, conditions: conditions, errors: Self.catchesErrors ? errors : []
    ).root(as: Data.self)
  }
}

/// Values of an object type of the schema: the fields that an operation or fragment selects.
public protocol GraphQLObject: GraphQLDecodable, GraphQLEncodable {
  /// Reads the fields.
  ///
  /// A function, so that a generated structure keeps the memberwise initializer of Swift.
  static func read(from object: inout ObjectReader) throws -> Self
  /// Writes the fields with their response keys.
  func write(to object: inout ObjectWriter)
}

extension GraphQLObject {
  /// Reads the fields of an object value.
  @inlinable
  public init(from value: borrowing ValueReader) throws {
    var object = try value.object()
    self = try .read(from: &object)
  }

  /// Decodes an object from its JSON text, such as a fixture of a test.
  ///
  /// Fragments with `@skip` or `@include` on a variable are absent.
  ///
  /// - Throws: `JSONError` if the text is not valid JSON; ``TypeMismatch`` if it lacks a field or a
  ///   field has another type.
  public init(json: String) throws {
    self = try TokenIndex(checking: Array(json.utf8)).root(as: Self.self)
  }

  /// The object as JSON.
  public var json: JSONValue { .object(ObjectWriter { write(to: &$0) }.object) }
}
