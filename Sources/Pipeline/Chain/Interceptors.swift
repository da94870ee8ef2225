public import GQLRunCache

/// Intercepts requests before they are sent, and their results.
///
/// ```swift
/// func intercept(
///   _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
/// ) async throws -> ResponseStream {
///   var request = request
///   request.additionalHeaders[.authorization] = "Bearer \(token)"
///   return await next(request)
///     .map { response in response }
///     .mapErrors { error in throw error }
/// }
/// ```
///
/// Throwing ``ChainRetry``, here or in a closure of the stream, restarts the chain at its first
/// interceptor.
public protocol GraphQLInterceptor: Sendable {
  /// Handles one attempt of a request.
  ///
  /// - Parameters:
  ///   - request: The request as the interceptors above left it.
  ///   - context: The services of the run, and facts about the request.
  ///   - next: The rest of the chain. May be called any number of times, or not at all.
  /// - Returns: The results, usually those of `next`.
  /// - Throws: Any error, which becomes an error of the stream; ``ChainRetry`` restarts the chain.
  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream
}

/// Intercepts HTTP requests before they are sent, and the head and chunks of their responses.
///
/// It does not know GraphQL and does not decide about retries: it throws, and a
/// ``GraphQLInterceptor`` decides.
public protocol HTTPInterceptor: Sendable {
  /// Handles one HTTP exchange.
  ///
  /// - Parameters:
  ///   - request: The HTTP request as the interceptors above left it.
  ///   - context: The services of the run, and facts about the request.
  ///   - next: The rest of the chain.
  /// - Returns: The response, usually that of `next`, as soon as its head has arrived.
  /// - Throws: Any error, which ends the attempt.
  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage
}

/// Reads results from a store, and decides which results are stored.
public protocol CacheInterceptor: Sendable {
  /// The cache policy of requests that have none.
  var defaultPolicy: CachePolicy? { get }

  /// The default max age, for data without a rule in the pipeline; `nil` never expires.
  var maxAge: Duration? { get }

  /// How much older than its max age data may be and still be used; `nil` is not at all.
  var maxStale: Duration? { get }

  /// What fields with stored errors are read as.
  var errors: ErrorReadPolicy { get }

  /// Looks for the result of a request.
  func read(_ request: GraphQLRequest, context: ChainContext) async throws -> CacheReadOutcome

  /// Returns the target for the records of a response; `nil` stores nothing.
  ///
  /// Called once per attempt, after the head of the response has arrived, and only if the policy
  /// writes the cache.
  func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget?

  /// Whether parts of one response that have arrived together are stored together: `write` is then called once, with the
  /// first of them, whose pending write is that of all.
  var joinsParts: Bool { get }

  /// Stores a result: commits its pending write. To refuse the write, return without a commit; the
  /// chain then rolls back.
  ///
  /// Called after all GraphQL interceptors and before the result is delivered.
  func write(
    _ response: GraphQLResponse, for request: GraphQLRequest, context: ChainContext
  ) async throws
}

extension CacheInterceptor {
  /// `nil`: `cache-first` applies.
  public var defaultPolicy: CachePolicy? { nil }

  /// `nil`: data without a rule never expires.
  public var maxAge: Duration? { nil }

  /// `nil`: stale data is not used.
  public var maxStale: Duration? { nil }

  /// `refuse`: such a field is a cache miss, or has its older value.
  public var errors: ErrorReadPolicy { .refuse }

  /// `false`: each part is stored by itself.
  public var joinsParts: Bool { false }

  /// Returns a miss.
  public func read(
    _ request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheReadOutcome {
    .miss(missing: nil)
  }

  /// Returns `nil`: nothing is stored.
  public func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget? {
    nil
  }

  /// Commits the pending write of the result.
  public func write(
    _ response: GraphQLResponse, for request: GraphQLRequest, context: ChainContext
  ) async throws {
    _ = try await response.pendingWrite?.commit()
  }
}

/// The outcome of a cache read.
public enum CacheReadOutcome: Sendable {
  /// The cache holds all selected fields.
  case hit(GraphQLResponse)
  /// The cache lacks a selected field. `missing` is the path of the first field that is missing or
  /// stale; `staleness` is its age if it is stale.
  case miss(missing: String?, staleness: Staleness? = nil)
}

/// Parses the chunks of a response into results.
public protocol ResponseParsingInterceptor: Sendable {
  /// Parses a response.
  ///
  /// - Parameters:
  ///   - response: The response; its body is read by the returned stream.
  ///   - request: The request as it was sent.
  ///   - target: The target for records; `nil` if this response is not stored.
  ///   - context: The services of the run, and facts about the request.
  /// - Returns: The results, parsed as the caller reads them.
  /// - Throws: ``ChainError`` if the body is not a GraphQL response.
  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest,
    target: CacheWriteTarget?, context: ChainContext
  ) async throws -> ResponseStream
}

/// Receives every error before the caller does, and decides what the caller gets instead.
///
/// The taps of a chain are called in chain order, until one returns no error.
public protocol ErrorTap: Sendable {
  /// Handles an error that ends the request or was reported; see ``ChainContext/report(_:)``.
  ///
  /// - Parameters:
  ///   - error: The error, as the taps before left it.
  ///   - request: The request of the last attempt.
  ///   - context: The services of the run, and facts about the request.
  /// - Returns: What the caller gets; ignored for reported errors.
  func tap(
    _ error: any Error, request: GraphQLRequest, context: ChainContext
  ) async -> ErrorOutcome
}

/// What the caller gets instead of an error.
public enum ErrorOutcome: Sendable {
  /// The caller gets an error: the same or another one.
  case error(any Error)
  /// The caller gets this result, and then the end of the stream.
  case result(GraphQLResponse)
  /// The stream ends without an error.
  case suppressed
}

/// The rest of the chain for a GraphQL interceptor.
public struct NextGraphQL: Sendable {
  private let body: @Sendable (GraphQLRequest) async -> ResponseStream

  /// Creates the rest of a chain, for tests of interceptors.
  ///
  /// - Parameter body: Called with the request; returns its results.
  public init(_ body: @escaping @Sendable (GraphQLRequest) async -> ResponseStream) {
    self.body = body
  }

  /// Passes the request to the next interceptor. All errors of later steps are errors of the
  /// stream.
  public func callAsFunction(_ request: GraphQLRequest) async -> ResponseStream {
    await body(request)
  }
}

/// The rest of the chain for an HTTP interceptor.
public struct NextHTTP: Sendable {
  private let body: @Sendable (HTTPRequestMessage) async throws -> HTTPResponseMessage

  /// Creates the rest of a chain, for tests of interceptors.
  ///
  /// - Parameter body: Called with the request; returns its response.
  public init(
    _ body: @escaping @Sendable (HTTPRequestMessage) async throws -> HTTPResponseMessage
  ) {
    self.body = body
  }

  /// Passes the request to the next interceptor, and returns when the head of the response has
  /// arrived.
  public func callAsFunction(_ request: HTTPRequestMessage) async throws -> HTTPResponseMessage {
    try await body(request)
  }
}

/// Restarts the chain at its first interceptor, with the given request.
///
/// An interceptor of any stage may throw it, before or after the network.
/// ``ResponseStream/mapErrors(_:)`` does not receive it.
public struct ChainRetry: Error, Sendable {
  /// The request of the next attempt.
  public var request: GraphQLRequest
  /// The reason; the interceptors of the next attempt find it in ``ChainContext/retryCause``.
  public var cause: (any Error)?

  /// Creates a retry.
  ///
  /// - Parameters:
  ///   - request: The request of the next attempt.
  ///   - cause: The error that makes the retry necessary.
  public init(_ request: GraphQLRequest, cause: (any Error)? = nil) {
    self.request = request
    self.cause = cause
  }
}
