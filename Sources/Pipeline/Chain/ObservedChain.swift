import GQLRunCache
import GQLRunLanguage

/// Observes the calls of interceptors, for example to count or to trace them.
package protocol StepObserver: Sendable {
  /// Called before an interceptor is.
  ///
  /// - Returns: Observes this call; `nil` observes nothing.
  func begin(_ step: ObservedStep, in context: ChainContext) -> (any StepObservation)?
}

/// An interceptor of an entry.
package struct ObservedStep: Sendable {
  /// What it does.
  package enum Kind: Sendable {
    case graphQL, cacheRead, cacheWrite, http, fetch, parse
    /// The commit of a result, within the call of the cache write.
    case commit
  }

  /// What it does.
  package fileprivate(set) var kind: Kind
  /// The identifier of its entry.
  package let id: String
  /// The name of its plugin; the identifier if it has none.
  package let plugin: String
  /// Whether a call of it is a call of its entry, which may have several interceptors: the fetch, or the first one.
  package fileprivate(set) var isMain: Bool
}

/// The observation of one call.
package protocol StepObservation: Sendable {
  /// Runs the interceptor, or reads a result of its stream; by default without effects of its own.
  func run<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result
  /// Called with what happens, in this order.
  func note(_ event: StepEvent)
}

/// What an interceptor does in a call.
package enum StepEvent: Sendable {
  /// It passes the request to the next interceptor.
  case passed
  /// It has read the cache.
  case read(CacheReadOutcome)
  /// It returns the head of a response.
  case response(HTTPResponseMessage)
  /// Its stream has a result.
  case result(GraphQLResponse)
  /// It throws, or its stream does; ``ChainRetry`` restarts the chain.
  case failed(any Error)
  /// It has returned, and its stream has had a complete result. More results follow with `cache-and-network`.
  case ended
}

extension Pipeline {
  /// The same pipeline, with interceptors whose calls are observed. Error taps are not.
  package func observed(by observer: some StepObserver) -> Pipeline {
    var pipeline = self
    for index in entries.indices {
      let entry = entries[index]
      let main =
        entry.parts.firstIndex { if case .fetch = $0 { true } else { false } }
        ?? entry.parts.firstIndex { if case .errorTap = $0 { false } else { true } }
      pipeline.entries[index].parts = entry.parts.enumerated().map { position, part in
        func step(_ kind: ObservedStep.Kind) -> Observed {
          Observed(
            observer: observer,
            step: ObservedStep(
              kind: kind, id: entry.id, plugin: entry.pluginName ?? entry.id,
              isMain: position == main))
        }
        return switch part {
        case .graphQL(let base): .graphQL(ObservedGraphQL(base: base, step: step(.graphQL)))
        case .cacheRead(let base): .cacheRead(ObservedCache(base: base, step: step(.cacheRead)))
        case .cacheWrite(let base): .cacheWrite(ObservedCache(base: base, step: step(.cacheWrite)))
        case .http(let base): .http(ObservedHTTP(base: base, step: step(.http)))
        case .fetch(let base): .fetch(ObservedHTTP(base: base, step: step(.fetch)))
        case .parsing(let base): .parsing(ObservedParsing(base: base, step: step(.parse)))
        case .errorTap: part
        }
      }
    }
    return pipeline
  }
}

/// An observer, with the interceptor that it observes.
private struct Observed: Sendable {
  let observer: any StepObserver
  var step: ObservedStep

  var commit: Observed {
    var commit = self
    commit.step.kind = .commit
    commit.step.isMain = false
    return commit
  }

  /// Runs a call that returns no stream.
  ///
  /// - Parameter body: The call, with its observation; `nil` if it is not observed.
  func call<Result: Sendable>(
    in context: ChainContext, _ body: ((any StepObservation)?) async throws -> Result,
    event: (Result) -> StepEvent? = { _ in nil }
  ) async throws -> Result {
    guard let call = observer.begin(step, in: context) else { return try await body(nil) }
    let result = try await call.part { try await body(call) }
    if let event = event(result) { call.note(event) }
    call.note(.ended)
    return result
  }

  /// Runs a call that returns a stream, whose results belong to it.
  ///
  /// - Parameter body: The call, with its observation; `nil` if it is not observed.
  func stream(
    of request: GraphQLRequest, in context: ChainContext,
    _ body: ((any StepObservation)?) async throws -> ResponseStream
  ) async throws -> ResponseStream {
    guard let call = observer.begin(step, in: context) else { return try await body(nil) }
    let results = try await call.part { try await body(call) }
    // The events of a subscription have no end that an observer could wait for.
    guard request.operationType != .subscription else {
      call.note(.ended)
      return results
    }
    return ResponseStream(pull: {
      let result = try await call.part { try await results.next() }
      if let result { call.note(.result(result)) }
      if result?.isComplete ?? true { call.note(.ended) }
      return result
    })
  }
}

extension StepObservation {
  package func run<Result: Sendable>(
    _ body: () async throws -> Result
  ) async throws -> Result {
    try await body()
  }

  /// Runs a part of a call, and notes its error.
  package func part<Result: Sendable>(
    _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await run(body)
    } catch {
      note(.failed(error))
      throw error
    }
  }
}

private struct ObservedGraphQL: GraphQLInterceptor {
  let base: any GraphQLInterceptor
  let step: Observed

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    try await step.stream(of: request, in: context) { call in
      try await base.intercept(
        request, context: context,
        next: call.map { call in
          NextGraphQL { request in
            call.note(.passed)
            return await next(request)
          }
        } ?? next)
    }
  }
}

private struct ObservedHTTP: HTTPInterceptor {
  let base: any HTTPInterceptor
  let step: Observed

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    try await step.call(in: context) { call in
      try await base.intercept(
        request, context: context,
        next: call.map { call in
          NextHTTP { request in
            call.note(.passed)
            return try await next(request)
          }
        } ?? next)
    } event: {
      .response($0)
    }
  }
}

private struct ObservedCache: CacheInterceptor {
  let base: any CacheInterceptor
  let step: Observed

  var defaultPolicy: CachePolicy? { base.defaultPolicy }
  var maxAge: Duration? { base.maxAge }
  var maxStale: Duration? { base.maxStale }
  var errors: ErrorReadPolicy { base.errors }
  var joinsParts: Bool { base.joinsParts }

  func read(
    _ request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheReadOutcome {
    try await step.call(in: context) { _ in
      try await base.read(request, context: context)
    } event: {
      .read($0)
    }
  }

  func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget? {
    try await base.prepareWrite(for: request, context: context)
  }

  func write(
    _ response: GraphQLResponse, for request: GraphQLRequest, context: ChainContext
  ) async throws {
    try await step.call(in: context) { call in
      var response = response
      if let write = response.pendingWrite, call != nil {
        response.pendingWrite = ObservedWrite(base: write, step: step.commit, context: context)
      }
      try await base.write(response, for: request, context: context)
    }
  }
}

private struct ObservedWrite: PendingCacheWrite {
  let base: any PendingCacheWrite
  let step: Observed
  let context: ChainContext

  func commit() async throws -> WriteSummary {
    try await step.call(in: context) { _ in try await base.commit() }
  }

  func rollback() async { await base.rollback() }
}

private struct ObservedParsing: ResponseParsingInterceptor {
  let base: any ResponseParsingInterceptor
  let step: Observed

  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest,
    target: CacheWriteTarget?, context: ChainContext
  ) async throws -> ResponseStream {
    try await step.stream(of: request, in: context) { _ in
      try await base.parse(response, for: request, target: target, context: context)
    }
  }
}
