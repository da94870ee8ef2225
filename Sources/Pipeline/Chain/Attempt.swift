import GQLRunLanguage
import GQLRunSupport
import HTTPTypes
import Logging
import Synchronization

/// One attempt of a request: one pass through its chain.
///
/// The ten steps:
///
///  1. The GraphQL interceptors receive the request, in chain order, and may change it.
///  2. The cache is read at the position of the cache read's entry, if the policy allows it. A hit
///     ends the pass; GraphQL interceptors below the cache read only see requests to the network.
///  3. The HTTP request is built.
///  4. The HTTP interceptors receive it, in chain order, and may change it.
///  5. The fetch sends it.
///  6. The head and the chunks of the response pass the HTTP interceptors in reverse order, then
///     those below the fetch.
///  7. The parser turns the chunks into results; records go into a pending write.
///  8. The GraphQL interceptors receive each result, in reverse order, and may change it.
///  9. The pending write is committed, unless the cache interceptor refuses.
/// 10. The result is delivered.
///
/// Steps 1 to 8 are here. ``Execution`` does steps 9 and 10 and handles errors and retries.
///
/// An immutable class, because every step refers to it.
final class Attempt: Sendable {
  let route: Route
  let state: ExecutionState
  let number: Int
  let start: Duration
  private let routes: Routes
  /// The part of the context that all interceptors share.
  private let shared: Shareable<ChainContext.Shared>

  init(
    _ routes: Routes, _ route: Route, state: ExecutionState, number: Int,
    retryCause: (any Error)?, start: Duration
  ) {
    self.routes = routes
    self.route = route
    self.state = state
    self.number = number
    self.start = start
    var shared = routes.shared(by: route)
    if retryCause != nil { shared.value.retryCause = retryCause }
    self.shared = shared
  }

  private var services: Services { routes.services }

  /// Starts at the first interceptor; results and errors are elements of the stream.
  func run(_ request: GraphQLRequest) async -> ResponseStream {
    do throws(ChainError) {
      // Checked before the first interceptor, which may renew a token or start a process.
      try request.checkUploads()
      try request.checkPolicy(policy(of: request))
    } catch {
      return ResponseStream(failing: error)
    }
    return await run(request, from: 0)
  }

  private func policy(of request: GraphQLRequest) -> CachePolicy {
    // The cache would take two queries with different files for the same one.
    if !request.uploads.isEmpty, request.operationType == .query { return .noCache }
    return route.policy(of: request)
  }

  func context(_ id: String, _ request: GraphQLRequest) -> ChainContext {
    ChainContext(shared, request, entryID: id)
  }
}

// MARK: Steps 1, 2 and 8

extension Attempt {
  private func run(_ request: GraphQLRequest, from index: Int) async -> ResponseStream {
    do {
      try Task.checkCancellation()
      guard index < route.graphQLSteps.count else { return try await network(request) }
      switch route.graphQLSteps[index] {
      case .graphQL(let step):
        let next = NextGraphQL { request in
          // Reading the first result here runs the interceptors below with the task-local values
          // that the interceptor above has set around its call.
          // The first event of a subscription may be hours away.
          let stream = await self.run(self.numbered(request), from: index + 1)
          return request.operationType == .subscription
            ? stream : await stream.withFirstResultRead()
        }
        return try await step.interceptor.intercept(
          request, context: context(step.id, request), next: next)
      case .cacheRead(let step):
        return try await readCache(step, request) { await self.run($0, from: index + 1) }
      }
    } catch {
      return ResponseStream(failing: error)
    }
  }

  /// Sets the attempt of a request that an interceptor created itself.
  private func numbered(_ request: GraphQLRequest) -> GraphQLRequest {
    guard request.attempt != number else { return request }
    var request = request
    request.attempt = number
    return request
  }

  /// Not inlined: without a read, its frame is not needed.
  @inline(never)
  private func readCache(
    _ step: Route.Step<any CacheInterceptor>, _ request: GraphQLRequest,
    network: @escaping @Sendable (GraphQLRequest) async -> ResponseStream
  ) async throws -> ResponseStream {
    let policy = policy(of: request)
    // An interceptor above may have changed the policy.
    try request.checkPolicy(policy)
    let mayRead =
      switch request.operationType {
      case .query: policy == .cacheOnly || !state.hasUnfinishedParts
      case .mutation: false
      case .subscription: policy == .cacheAndNetwork && !state.hasUnfinishedParts
      }
    guard mayRead else { return await network(request) }
    switch policy {
    case .networkOnly, .noCache:
      return await network(request)
    case .cacheOnly:
      return ResponseStream(try await onlyCached(step, request))
    case .cacheFirst:
      if let response = try await cached(step, request) { return ResponseStream(response) }
      return await network(request)
    case .cacheAndNetwork:
      guard state.consultCacheOnce(), let response = try await cached(step, request) else {
        return await network(request)
      }
      return ResponseStream(response).followed { await network(request) }
    case .networkFirst:
      let cached = { @Sendable [self] (error: any Error) async throws -> GraphQLResponse? in
        guard (error as? ChainError)?.isNetworkFailure == true, !state.hasUnfinishedParts else {
          return nil
        }
        return try await self.cached(step, request, isAfterFailure: true)
      }
      let results = await network(request).mapErrors { error in
        guard let response = try await cached(error) else { throw error }
        return response
      }
      return ResponseStream(pull: {
        guard let result = try await results.next() else { return nil }
        guard let refusal = result.refusal else { return result }
        return try await cached(refusal) ?? result
      })
    }
  }

  /// The cached result, or `nil`. A cache that cannot be read counts as a miss.
  private func cached(
    _ step: Route.Step<any CacheInterceptor>, _ request: GraphQLRequest,
    isAfterFailure: Bool = false
  ) async throws -> GraphQLResponse? {
    do {
      guard
        case .hit(let response) = try await read(step, request, isAfterFailure: isAfterFailure)
      else { return nil }
      return response
    } catch let retry as ChainRetry {
      throw retry
    } catch {
      services.logger.warning(
        "the cache could not be read", metadata: ["entry": "\(step.id)", "error": "\(error)"])
      return nil
    }
  }

  private func onlyCached(
    _ step: Route.Step<any CacheInterceptor>, _ request: GraphQLRequest
  ) async throws -> GraphQLResponse {
    switch try await read(step, request) {
    case .hit(let response): return response
    case .miss(let missing, let staleness):
      let what = missing.map { "`\($0)` of " } ?? ""
      let why = staleness.map { "is stale in the cache (\($0))" } ?? "is not in the cache"
      throw ChainError(
        .cache, code: .cacheMiss,
        message:
          "\(what)\(request.label) \(why), and the policy cache-only does not use the network",
        entry: step.id)
    }
  }

  private func read(
    _ step: Route.Step<any CacheInterceptor>, _ request: GraphQLRequest,
    isAfterFailure: Bool = false
  ) async throws -> CacheReadOutcome {
    do {
      var context = context(step.id, request)
      context.isAfterFailure = isAfterFailure
      let outcome = try await step.interceptor.read(request, context: context)
      guard case .hit(var response) = outcome else { return outcome }
      response.attempt = number
      response.timing.total = services.clock.now() - start
      return .hit(response)
    } catch let error where error.isOfChain {
      throw error
    } catch {
      throw ChainError(
        .cache, code: .cacheReadFailed, message: "the cache could not be read", entry: step.id,
        cause: error)
    }
  }
}

// MARK: Steps 3 to 7

extension Attempt {
  private func network(_ request: GraphQLRequest) async throws -> ResponseStream {
    let policy = policy(of: request)
    guard policy != .cacheOnly else {
      throw ChainError(
        .chain, code: .noResult,
        message:
          "the policy cache-only forbids the network, and no cache was read; add `- cache-read`",
        entry: PluginStage.cache.rawValue)
    }
    guard let builder = routes.builder else {
      throw ChainError(
        notSent: .invalidRequest, "the pipeline has no endpoint to send \(request.label) to")
    }
    guard let parser = route.parser else {
      throw ChainError(
        .chain, code: .noResult, message: "no plugin of the chain parses responses; add `- parse`",
        entry: PluginStage.parsing.rawValue)
    }
    let message = try builder.message(for: request)
    let sent = services.clock.now()
    let response: HTTPResponseMessage
    do {
      response = try await http(message, builder: builder, request: request)
    } catch let error as ChainError {
      throw error.located(in: request)
    }
    let firstByte = services.clock.now() - sent
    // The body of a refusal may be a result, too.
    if response.head.status.code < 400 {
      state.reconnection?.connected(at: services.clock.now())
      request.context[SubscriptionHandle.self]?.connected(response.interrupt)
    }
    let keeps = policy.writesCache
    let target = keeps ? try await writeTarget(request) : nil
    let results = try await parser.interceptor.parse(
      response, for: request, target: target, context: context(parser.id, request))
    // Each result of a shared connection has a head of its own, or none.
    let answer = Answer(
      request: request, results: results, head: response.deliversResults ? nil : response.head,
      isReplayed: response.isReplayed, firstByte: firstByte, parser: parser.id, keeps: keeps)
    return ResponseStream(pull: {
      guard let result = try await self.next(answer.results) else { return try self.end(answer) }
      return await self.received(result, of: answer)
    })
  }

  /// What the results of one response have in common. An object, so that a subscription that waits refers to it, instead of
  /// having all of it in its frame; for the same reason, the functions below are not inlined.
  private final class Answer: Sendable {
    let request: GraphQLRequest
    let results: ResponseStream
    let head: HTTPResponse?
    let isReplayed: Bool
    let firstByte: Duration
    let parser: String
    let keeps: Bool
    /// Whether a result is required. A stream of a subscription may be empty.
    let isMissing: Atomic<Bool>

    init(
      request: GraphQLRequest, results: ResponseStream, head: HTTPResponse?, isReplayed: Bool,
      firstByte: Duration, parser: String, keeps: Bool
    ) {
      self.request = request
      self.results = results
      self.head = head
      self.isReplayed = isReplayed
      self.firstByte = firstByte
      self.parser = parser
      self.keeps = keeps
      isMissing = Atomic(request.operationType != .subscription)
    }
  }

  @inline(never)
  private func end(_ answer: Answer) throws -> GraphQLResponse? {
    guard answer.isMissing.load(ordering: .relaxed) else { return nil }
    throw ChainError(
      .chain, code: .noResult,
      message: "the parsing stage ended without a result for \(answer.request.label)",
      entry: answer.parser)
  }

  @inline(never)
  private func received(
    _ result: consuming GraphQLResponse, of answer: Answer
  ) async -> GraphQLResponse {
    answer.isMissing.store(false, ordering: .relaxed)
    result.attempt = number
    if let head = answer.head { result.http = result.http ?? head } else { result.http = nil }
    result.isReplayed = answer.isReplayed
    result.timing.total = services.clock.now() - start
    result.timing.firstByte = answer.firstByte
    if let write = result.pendingWrite {
      result.pendingWrite = await tracked(write, answer.request, keeps: answer.keeps)
    }
    return result
  }

  private func next(_ results: ResponseStream) async throws -> GraphQLResponse? {
    do {
      return try await results.next()
    } catch {
      state.reconnection?.lost(at: services.clock.now(), date: services.secondsSince1970())
      throw error
    }
  }

  /// Sends a message. A query whose method or URL the endpoint refuses is sent once more, by POST.
  private func http(
    _ message: HTTPRequestMessage, builder: HTTPRequestBuilder, request: GraphQLRequest
  ) async throws -> HTTPResponseMessage {
    let (status, post): (Int, HTTPRequestMessage)
    do {
      let response = try await sent(message, builder: builder, request: request)
      status = response.head.status.code
      guard let other = builder.post(insteadOf: message, for: request, after: status) else {
        return response
      }
      post = other
      // Reading a short body to its end returns the connection to the pool.
      _ = try? await response.body.prefix(16 << 10)
    } catch let error as ChainError where error.code == .httpStatus {
      guard let refused = error.http?.status,
        let other = builder.post(insteadOf: message, for: request, after: refused)
      else { throw error }
      (status, post) = (refused, other)
    }
    services.logger.info(
      "\(request.label): the server answered \(status) to \(message.head.method); POST is used instead"
    )
    return try await http(post, request, from: 0)
  }

  /// Sends a message. Where the endpoint leaves the transport of subscriptions open, WebSocket and HTTP are tried in
  /// turn.
  private func sent(
    _ message: HTTPRequestMessage, builder: HTTPRequestBuilder, request: GraphQLRequest
  ) async throws -> HTTPResponseMessage {
    do {
      let response = try await http(message, request, from: 0)
      guard request.operationType == .subscription, builder.mayUseSocket(insteadOf: message),
        !HTTPRequestBuilder.isOfAnyTransport(response.head.status.code)
      else { return response }
      return try await socket(insteadOf: response, message, builder: builder, request: request)
    } catch let error as ChainError where message.webSocket != nil {
      guard let other = try builder.fallback(for: request, after: error) else { throw error }
      services.logger.info("\(request.label): \(error.message); HTTP is used instead")
      return try await http(other, request, from: 0)
    } catch var error as ChainError
      where error.refusesStream && builder.mayUseSocket(insteadOf: message)
    {
      do {
        return try await socket(builder, request, after: error.message)
      } catch let second as ChainError {
        error.message += "; and over WebSocket: \(second.message)"
        throw error
      }
    }
  }

  /// A response over HTTP, if it is a stream or a result; otherwise that over WebSocket, if there is one.
  private func socket(
    insteadOf response: HTTPResponseMessage, _ message: HTTPRequestMessage,
    builder: HTTPRequestBuilder, request: GraphQLRequest
  ) async throws -> HTTPResponseMessage {
    guard !response.isReplayed else { return response }
    guard !response.isStream else {
      builder.noteStream()
      return response
    }
    var response = response
    guard try await !response.hasResult() else { return response }
    do {
      return try await socket(
        builder, request, after: "the answer over HTTP is no stream of events")
    } catch let error as ChainError {
      services.logger.warning(
        "\(request.label): the server answered with a single result over HTTP, and WebSocket failed, too: \(error.message)"
      )
      return response
    }
  }

  private func socket(
    _ builder: HTTPRequestBuilder, _ request: GraphQLRequest, after reason: String
  ) async throws -> HTTPResponseMessage {
    services.logger.info("\(request.label): \(reason); WebSocket is tried")
    do {
      let response = try await http(builder.socket(request), request, from: 0)
      builder.noteSocket()
      return response
    } catch let error as ChainError {
      builder.noteNoSocket(error)
      throw error
    }
  }

  private func http(
    _ message: HTTPRequestMessage, _ request: GraphQLRequest, from index: Int
  ) async throws -> HTTPResponseMessage {
    try Task.checkCancellation()
    guard index < route.http.count else {
      throw ChainError(
        .chain, code: .noResult, message: "no plugin of the chain sends requests; add `- fetch`",
        entry: PluginStage.http.rawValue)
    }
    let step = route.http[index]
    var response = try await step.interceptor.intercept(
      message, context: context(step.id, request),
      next: NextHTTP { try await self.http($0, request, from: index + 1) })
    // The innermost interceptor knows what was sent.
    if !response.knowsSecrets {
      // A redirect's target gets cookies of its own.
      response.secrets = message.secrets + (response.redirectedRequest?.headerFields.secrets ?? [])
      response.knowsSecrets = true
    }
    return response
  }

  private func writeTarget(_ request: GraphQLRequest) async throws -> CacheWriteTarget? {
    guard let step = route.cacheWrite else { return nil }
    var target = try await step.interceptor.prepareWrite(
      for: request, context: context(step.id, request))
    if routes.isStoreRequired { target?.isRequired = true }
    return target
  }

  private func tracked(
    _ write: any PendingCacheWrite, _ request: GraphQLRequest, keeps: Bool
  ) async -> (any PendingCacheWrite)? {
    guard keeps, route.cacheWrite != nil else {
      await write.rollback()
      return nil
    }
    let tracked = TrackedWrite(write, request: request)
    state.add(tracked)
    return tracked
  }
}

extension ResponseStream {
  /// The same stream, followed by the one that `rest` creates when the reader reads further.
  fileprivate func followed(
    by rest: @escaping @Sendable () async -> ResponseStream
  ) -> ResponseStream {
    let following = Locked<ResponseStream?>(nil)
    return ResponseStream(pull: {
      if let stream = following.withLock({ $0 }) { return try await stream.next() }
      if let response = try await next() { return response }
      let stream = await rest()
      following.withLock { $0 = stream }
      return try await stream.next()
    })
  }
}
