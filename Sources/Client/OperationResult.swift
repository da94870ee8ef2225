import Foundation
public import GQLRunCache
public import GQLRunJSON
public import GQLRunPipeline
import GQLRunTyped
public import HTTPTypes

/// A result of an operation: its decoded data, with the errors, source and metadata of the
/// response.
public struct OperationResult<Value: Sendable>: Sendable {
  /// The data; `nil` if the response has none, or if its errors left nulls that the type cannot
  /// represent.
  public var data: Value?
  /// The response as the pipeline delivered it, with timing, attempt and changed records.
  public var response: GraphQLResponse

  /// The GraphQL errors of the response; empty if there are none.
  public var errors: [GraphQLError] { response.errors }
  /// Whether the server or the cache answered.
  public var source: GraphQLResponse.Source { response.source }
  /// The age of the first stale field of a cached result; `nil` if all fields are fresh.
  public var staleness: Staleness? { response.staleness }
  /// What the server has announced and not yet sent of a response with `@defer` or `@stream`.
  public var pending: [PendingFragment] { response.pending }
  /// The `extensions` of the response.
  public var extensions: JSONObject? { response.extensions }
  /// For an element of a subscription that is no event: events since that time may be missing. `nil` for results and
  /// events.
  public var gap: SubscriptionGap? { response.gap }
  /// Whether this element of a subscription is no event but the result of the pipeline's catch-up query.
  public var isCatchUp: Bool { response.isCatchUp }
  /// Status and header fields of the HTTP response; `nil` for a result of the cache.
  public var http: HTTPResponse? { response.http }
}

/// How a client handles a response with GraphQL errors.
///
/// https://spec.graphql.org/September2025/#sec-Errors
public enum GraphQLErrorHandling: Sendable, Hashable {
  /// Delivers the result with its errors and partial data.
  ///
  /// The data is `nil` if an error left a null that the type cannot represent. The error of a field with
  /// `@catch(to: THROW)` is thrown, unless a field around it catches errors.
  case partial
  /// Throws the first `GraphQLError` instead of delivering the result.
  case firstError
}

extension OperationResult where Value: Decodable {
  /// Decodes the data of a response from its JSON text.
  ///
  /// `JSONValue`, `[UInt8]` and `Data` get the text itself: as JSON with every number as the server
  /// sent it, or as bytes.
  ///
  /// - Throws: The first error of the response, with ``GraphQLErrorHandling/firstError``;
  ///   `ChainError` with code `undecodable_data` if the data does not match the type.
  init(
    _ response: GraphQLResponse, label: String, decoder: JSONTextDecoder,
    onErrors: GraphQLErrorHandling
  ) throws {
    try self.init(response, onErrors: onErrors) { bytes in
      do {
        return try Self.decode(bytes, decoder)
      } catch let error as DecodingError {
        // The first parts of a response may lack fields that the type requires.
        if error.isExplained(by: response.errors) || !response.isComplete { return nil }
        throw ChainError(
          .graphQL, code: .undecodableData,
          message:
            "the data of \(label) cannot be decoded as \(Value.self); compare the type with the document",
          cause: error, graphQLErrors: response.errors)
      }
    }
  }

  private static func decode(_ bytes: [UInt8], _ decoder: JSONTextDecoder) throws -> Value? {
    if Value.self == JSONValue.self { return try JSONValue(parsing: bytes) as? Value }
    if Value.self == [UInt8].self { return bytes as? Value }
    if Value.self == Data.self { return Data(bytes) as? Value }
    return try decoder.decode(Value.self, from: bytes)
  }
}

extension OperationResult {
  /// Decodes the data of a response with the generated type of its operation.
  ///
  /// - Throws: The first error of the response, with ``GraphQLErrorHandling/firstError``; the error of a field with
  ///   `@catch(to: THROW)` that nothing above it catches; `ChainError` with code `undecodable_data` if the data does
  ///   not match the type.
  init<Operation: GraphQLOperation>(
    _ response: GraphQLResponse, of operation: Operation, onErrors: GraphQLErrorHandling
  ) throws where Value == Operation.Data {
    try self.init(response, onErrors: onErrors) { bytes in
      do {
        return try operation.data(checked: bytes, errors: response.errors)
      } catch is UncaughtNull {
        return nil
      } catch let error as TypeMismatch {
        if error.isNull, response.errors.explainNull(at: error.path) { return nil }
        throw ChainError(
          .graphQL, code: .undecodableData,
          message:
            "the data of \(Operation.operationName) does not match its type: \(error); compare the schema "
            + "with the server's, and run gqlrun generate",
          cause: error, graphQLErrors: response.errors)
      }
    }
  }

  /// - Parameter decode: Decodes the JSON text of the data; `nil` if an error explains why it cannot be decoded.
  private init(
    _ response: GraphQLResponse, onErrors: GraphQLErrorHandling, decode: ([UInt8]) throws -> Value?
  ) throws {
    self.response = response
    if onErrors == .firstError, let error = response.errors.first { throw error }
    guard let bytes = try response.data?.bytes(), !bytes.elementsEqual("null".utf8) else { return }
    data = try decode(bytes)
  }
}

extension ChainError.Code {
  /// The data of a response does not match the type that the program decodes.
  public static let undecodableData = Self(rawValue: "undecodable_data")
}

extension DecodingError {
  /// Whether an error of the response explains the missing value.
  fileprivate func isExplained(by errors: [GraphQLError]) -> Bool {
    guard case .valueNotFound(_, let context) = self else { return false }
    return errors.explainNull(
      at: context.codingPath.map { $0.intValue.map { .index($0) } ?? .key($0.stringValue) })
  }
}

extension [GraphQLError] {
  /// Whether one of the errors explains a null: it is at the path, or below it, from where the null was
  /// propagated.
  fileprivate func explainNull(at path: [GraphQLError.PathElement]) -> Bool {
    contains { $0.path?.starts(with: path) == true }
  }
}

/// The results of an operation: two with `cache-and-network` on a cache hit, otherwise one.
///
/// The operation starts when the first result is read. Use only one iterator.
public struct OperationResults<Value: Sendable>: AsyncSequence, Sendable {
  /// A result of the operation.
  public typealias Element = OperationResult<Value>

  let begin: @Sendable () throws -> ResponseStream
  let convert: @Sendable (GraphQLResponse) throws -> OperationResult<Value>

  /// Creates an iterator.
  public func makeAsyncIterator() -> Iterator { Iterator(results: self) }

  /// Iterates over the results of an operation.
  public struct Iterator: AsyncIteratorProtocol {
    let results: OperationResults
    var stream: ResponseStream?

    /// Returns the next result, or `nil` at the end.
    ///
    /// - Throws: The errors of
    ///   ``PipelineClient/fetch(_:variables:uploads:operationName:cachePolicy:onErrors:as:)``.
    public mutating func next() async throws -> OperationResult<Value>? {
      let stream = try self.stream ?? results.begin()
      self.stream = stream
      return try await stream.next().map(results.convert)
    }
  }
}

/// An element of a watched query.
public enum OperationUpdate<Value: Sendable>: Sendable {
  /// A result: of the pipeline, or of the cache after a change.
  case result(OperationResult<Value>)
  /// The cache no longer has all the data.
  case missing(CacheMiss)
  /// The pipeline failed, or a result could not be decoded. The watch continues.
  case failure(any Error)

  /// The result; `nil` for another element.
  public var result: OperationResult<Value>? {
    if case .result(let result) = self { result } else { nil }
  }
}

/// The results of a query: its first result, and a new one after every change of the cache.
///
/// The sequence ends when its task is cancelled, the client is shut down, or the iterator is
/// released.
public struct OperationUpdates<Value: Sendable>: AsyncSequence, Sendable {
  /// A result, a cache miss, or an error.
  public typealias Element = OperationUpdate<Value>

  let begin: @Sendable () throws -> OperationWatch
  let convert: @Sendable (GraphQLResponse) throws -> OperationResult<Value>
  let operations: OperationRegister

  /// Starts a watch; each iterator has its own request.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: self) }

  /// Iterates over the updates of a query.
  public struct Iterator: AsyncIteratorProtocol {
    let updates: OperationUpdates
    var watch: OperationWatch.Iterator?

    /// Returns the next update, or `nil` at the end.
    ///
    /// - Throws: Only before the first update: if the document is not a query, its variables are
    ///   invalid, or the client has no store.
    public mutating func next() async throws -> OperationUpdate<Value>? {
      let watch = try self.watch ?? updates.begin().makeAsyncIterator()
      self.watch = watch
      let event: WatchEvent?
      do {
        event = try await updates.operations.run {
          var watch = watch
          return await watch.next()
        }
      } catch let error as ChainError where error.code == .clientShutDown {
        return nil
      }
      switch event {
      case .response(let response):
        do { return .result(try updates.convert(response)) } catch { return .failure(error) }
      case .missing(let miss): return .missing(miss)
      case .failure(let error): return .failure(error)
      case nil: return nil
      }
    }
  }
}
