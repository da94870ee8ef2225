import Foundation
public import GQLRunCache
public import GQLRunJSON
public import GQLRunPipeline
public import HTTPTypes

/// One result of an operation: its data as a type of the program, and what the server or the cache said
/// beside it.
public struct OperationResult<Value: Sendable>: Sendable {
  /// The data; `nil` when the response has none, or none that the type can hold because of its errors.
  public var data: Value?
  /// The response as the pipeline delivered it, with timing, attempt and the changed records.
  public var response: GraphQLResponse

  /// The errors that the server reported; empty when there are none.
  public var errors: [GraphQLError] { response.errors }
  /// Whether the server or the cache answered.
  public var source: GraphQLResponse.Source { response.source }
  /// The age of the first stale field of a cached result; `nil` when all of it is fresh.
  public var staleness: Staleness? { response.staleness }
  /// The `extensions` of the response.
  public var extensions: JSONObject? { response.extensions }
  /// Status and header of the HTTP response; `nil` for a result from the cache.
  public var http: HTTPResponse? { response.http }
}

/// What happens to a response that has errors.
///
/// https://spec.graphql.org/September2025/#sec-Errors
public enum GraphQLErrorHandling: Sendable, Hashable {
  /// Delivers the result with its errors and with the data that there is.
  ///
  /// Data that the type cannot hold because an error left a null in it is `nil`.
  case partial
  /// Throws the first `GraphQLError` instead of delivering the result.
  case firstError
}

extension OperationResult where Value: Decodable {
  /// Decodes the data of a response from its text.
  ///
  /// `JSONValue`, `[UInt8]` and `Data` receive the text itself: as JSON with every number as the server
  /// wrote it, or as bytes.
  ///
  /// - Throws: The first error of the response, under ``GraphQLErrorHandling/firstError``; a `ChainError`
  ///   with code `undecodable_data` when the data is not of the type.
  init(
    _ response: GraphQLResponse, label: String, decoder: JSONDecoder,
    onErrors: GraphQLErrorHandling
  ) throws {
    self.response = response
    if onErrors == .firstError, let error = response.errors.first { throw error }
    guard let text = response.data else { return }
    var bytes = Data(capacity: text.count)
    try text.forEachChunk { bytes.append(contentsOf: $0) }
    if bytes.elementsEqual("null".utf8) { return }
    do {
      data = try Self.decode(bytes, decoder)
    } catch let error as DecodingError {
      if error.isExplained(by: response.errors) { return }
      throw ChainError(
        .graphQL, .undecodableData,
        "the data of \(label) cannot be decoded as \(Value.self); compare the type with the document",
        cause: error, graphQLErrors: response.errors)
    }
  }

  private static func decode(_ bytes: Data, _ decoder: JSONDecoder) throws -> Value? {
    if Value.self == JSONValue.self { return try JSONValue(parsing: [UInt8](bytes)) as? Value }
    if Value.self == [UInt8].self { return [UInt8](bytes) as? Value }
    if Value.self == Data.self { return bytes as? Value }
    return try decoder.decode(Value.self, from: bytes)
  }
}

extension ChainError.Code {
  /// The data of a response is not of the type that the program asked for.
  public static let undecodableData = Self(rawValue: "undecodable_data")
}

extension DecodingError {
  /// Whether the value is missing because of an error of the response: a null at the path of the error, or
  /// at one of its ancestors, to which the null was propagated.
  fileprivate func isExplained(by errors: [GraphQLError]) -> Bool {
    guard case .valueNotFound(_, let context) = self else { return false }
    return errors.contains { error in
      guard let path = error.path, path.count >= context.codingPath.count else { return false }
      return zip(context.codingPath, path).allSatisfy { step, element in
        switch element {
        case .key(let key): step.stringValue == key
        case .index(let index): step.intValue == index
        }
      }
    }
  }
}

extension JSONValue: Decodable {
  /// Decodes any JSON value.
  ///
  /// Inside another type a number is decoded as an integer of 64 bits or a `Decimal` of 38 digits, and the
  /// members of an object have no order. Fetch a whole result as `JSONValue` for its exact text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {
      self = .boolean(flag)
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let elements = try? container.decode([JSONValue].self) {
      self = .array(elements)
    } else if let members = try? container.decode([String: JSONValue].self) {
      var object = JSONObject()
      for (key, value) in members.sorted(by: { $0.key < $1.key }) { object[key] = value }
      self = .object(object)
    } else if let number = try? container.decode(Int64.self) {
      self = .number(JSONNumber(number))
    } else if let number = JSONNumber(text: "\(try container.decode(Decimal.self))") {
      self = .number(number)
    } else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "The number is not finite.")
    }
  }
}
