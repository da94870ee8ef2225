public import GQLRunCache

/// Sees a request on its way down and its results on their way up.
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
/// Throwing ``ChainRetry``, here or in a closure given to the stream, starts the chain again at its
/// first interceptor.
public protocol GraphQLInterceptor: Sendable {
  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream
}

/// Sees an HTTP request on its way down, and the response's head and chunks on their way up.
///
/// It knows nothing of GraphQL and cannot retry: it throws, and a ``GraphQLInterceptor`` decides.
public protocol HTTPInterceptor: Sendable {
  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage
}

/// Reads results from a store, and decides which results are kept there.
public protocol CacheInterceptor: Sendable {
  /// The policy of requests that have none.
  var defaultPolicy: CachePolicy? { get }

  /// How long data are fresh for which the pipeline has no rule of their own; `nil` is no limit.
  var maxAge: Duration? { get }

  /// Looks for the result of a request.
  func read(_ request: GraphQLRequest, context: ChainContext) async throws -> CacheReadOutcome

  /// Opens the place where the parser puts the records of a response; `nil` keeps nothing.
  ///
  /// Called once per attempt, when the head of the response is there and only when the policy
  /// writes.
  func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget?

  /// Keeps a result: commits its pending write. Returning without doing so is a veto, and the chain
  /// rolls back.
  ///
  /// Called after all GraphQL interceptors and before the result is delivered.
  func write(
    _ response: GraphQLResponse, for request: GraphQLRequest, context: ChainContext
  ) async throws
}

extension CacheInterceptor {
  public var defaultPolicy: CachePolicy? { nil }

  public var maxAge: Duration? { nil }

  public func read(
    _ request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheReadOutcome {
    .miss(missing: nil)
  }

  public func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget? {
    nil
  }

  public func write(
    _ response: GraphQLResponse, for request: GraphQLRequest, context: ChainContext
  ) async throws {
    _ = try await response.pendingWrite?.commit()
  }
}

/// What a look into the cache found.
public enum CacheReadOutcome: Sendable {
  case hit(GraphQLResponse)
  /// `missing` names the first field that was not there or too old, as a path; `staleness` says how
  /// old.
  case miss(missing: String?, staleness: Staleness? = nil)
}

/// Turns the chunks of a response into results.
public protocol ResponseParsingInterceptor: Sendable {
  /// - Parameter target: Where records go; `nil` when this response is not kept.
  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest,
    target: CacheWriteTarget?, context: ChainContext
  ) async throws -> ResponseStream
}

/// Sees every error of whatever origin just before the caller does, and says what the caller gets
/// instead.
///
/// The taps of a chain are asked from the first to the last, until one has no error to hand on.
public protocol ErrorTap: Sendable {
  func tap(
    _ error: any Error, request: GraphQLRequest, context: ChainContext
  ) async -> ErrorOutcome
}

/// What becomes of an error at the end of its chain.
public enum ErrorOutcome: Sendable {
  /// The caller sees an error: the same, or another in its place.
  case error(any Error)
  /// The caller gets a result instead, and the end after it.
  case result(GraphQLResponse)
  /// The results end without an error.
  case suppressed
}

/// The rest of the chain, as a GraphQL interceptor sees it.
public struct NextGraphQL: Sendable {
  private let body: @Sendable (GraphQLRequest) async -> ResponseStream

  public init(_ body: @escaping @Sendable (GraphQLRequest) async -> ResponseStream) {
    self.body = body
  }

  /// Sends the request on. Errors of later steps, preflight ones too, come out of the stream.
  public func callAsFunction(_ request: GraphQLRequest) async -> ResponseStream {
    await body(request)
  }
}

/// The rest of the chain, as an HTTP interceptor sees it.
public struct NextHTTP: Sendable {
  private let body: @Sendable (HTTPRequestMessage) async throws -> HTTPResponseMessage

  public init(
    _ body: @escaping @Sendable (HTTPRequestMessage) async throws -> HTTPResponseMessage
  ) {
    self.body = body
  }

  /// Sends the request on, and returns when the head of the response has arrived.
  public func callAsFunction(_ request: HTTPRequestMessage) async throws -> HTTPResponseMessage {
    try await body(request)
  }
}
