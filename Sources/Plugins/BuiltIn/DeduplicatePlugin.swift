import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging

/// Lets identical queries that are in flight at the same time share one result.
public struct DeduplicatePlugin: Plugin {
  /// What `deduplicate` does, in one sentence.
  public static let summary =
    "Lets identical queries that are in flight at the same time share one result"
  /// When to use `deduplicate`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it where several parts of a program ask for the same data at the same time.",
    position:
      "Put it above `cache-read` and below plugins that add context to requests: only queries with "
      + "equal text, variables, headers and context values share an answer.",
    example: "deduplicate",
    narration:
      "The first of five equal queries is sent. The other four wait for its answer and receive "
      + "it. Mutations and subscriptions are never shared.",
    subscriptions:
      "Passes subscriptions unchanged.",
    uploads:
      "Passes requests with files unchanged: equal variables may have different files.")

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Passes subscriptions and requests with files unchanged.
  public var traits: PluginTraits { [.passesSubscriptions, .passesUploads] }

  /// Surrounds operations, anywhere in the GraphQL stage.
  public var placement: Placement { .wrap(.graphQL) }

  /// Creates the interceptor, with the queries in flight that requests of this entry share.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.graphQL(DeduplicateInterceptor(requests: SharedRequests()))]
  }
}

private struct DeduplicateInterceptor: GraphQLInterceptor {
  let requests: SharedRequests

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    guard request.operationType == .query, request.uploads.isEmpty,
      request.operation?.hasDeferredParts != true
    else {
      return await next(request)
    }
    let (shared, isFirst) = await requests.request(for: Self.key(of: request)) {
      await next(request)
    }
    if !isFirst {
      context.services.logger.debug("\(request.label): waits for an identical query in flight")
    }
    let reader = SharedRequest.Reader(shared)
    return ResponseStream(pull: {
      do {
        guard var response = try await reader.next() else { return nil }
        response.attempt = context.attempt
        if !isFirst { response.context.named.merge(request.context.named) { $1 } }
        return response
      } catch let retry as ChainRetry where !isFirst {
        // The error contains the first caller's request; each caller retries its own.
        throw ChainRetry(request.withOwnRetry(), cause: retry.cause)
      }
    })
  }

  /// A key that is equal for requests with the same result: equal documents, variables, header
  /// fields and context values.
  ///
  /// Bytes instead of a string, because Swift compares strings by canonical equivalence: ids that
  /// differ only in the normalization of `é` are different ids.
  private static func key(of request: GraphQLRequest) -> [UInt8] {
    let own = request.context[CorrelationID.FieldNames.self] ?? []
    var named = request.context.named
    if request.context[CorrelationID.FieldNames.self] != nil {
      named[CorrelationID.contextName] = nil
    }
    let fields = request.additionalHeaders.filter { !own.contains($0.name) }
      .map { JSONValue.string("\($0.name.canonicalName): \($0.value)") }
    let values = named.sorted { $0.key < $1.key }
      .map { JSONValue.array([.string($0.key), .string($0.value)]) }
    let text = JSONValue.array([
      .string(request.document), request.operationName.map { .string($0) } ?? .null,
      .object(request.variables), .object(request.extensions),
      request.documentID.map { .string($0) } ?? .null, .boolean(request.sendsDocument),
      .string(request.method?.rawValue ?? ""), .string(request.onError?.rawValue ?? ""),
      .string(request.cachePolicy?.rawValue ?? ""), .array(fields), .array(values),
    ]).canonicalText
    return Array(text.utf8)
  }
}

/// The queries in flight, by their keys.
private actor SharedRequests {
  private var requests: [[UInt8]: SharedRequest] = [:]

  /// The request in flight for `key`, or a new one; and whether it is new.
  func request(
    for key: [UInt8], _ begin: @escaping @Sendable () async -> ResponseStream
  ) -> (SharedRequest, isFirst: Bool) {
    if let request = requests[key], request.join() { return (request, false) }
    let request = SharedRequest()
    requests[key] = request
    request.run(begin) { [weak self] in await self?.remove(key, request) }
    return (request, true)
  }

  private func remove(_ key: [UInt8], _ request: SharedRequest) {
    if requests[key] === request { requests[key] = nil }
  }
}

/// One request with several readers of its results.
///
/// It runs in a task of its own, which is cancelled when the last reader leaves.
private final class SharedRequest: Sendable {
  private struct State: Sendable {
    var results: [GraphQLResponse] = []
    var end: Result<Void, any Error>?
    var readers = 1
    var task: Task<Void, Never>?
  }

  private let state = Monitor(State())

  /// Adds a reader; returns `false` if the request has ended or was cancelled.
  func join() -> Bool {
    state.withLock { state in
      guard state.end == nil, state.readers > 0 else { return false }
      state.readers += 1
      return true
    }
  }

  func run(
    _ begin: @escaping @Sendable () async -> ResponseStream,
    onEnd: @escaping @Sendable () async -> Void
  ) {
    let task = Task { [state] in
      let stream = await begin()
      do {
        while let response = try await stream.next() {
          state.update { $0.results.append(response) }
        }
        state.update { $0.end = .success(()) }
      } catch {
        state.update { $0.end = .failure(error) }
      }
      await onEnd()
    }
    state.withLock { $0.task = task }
  }

  private func leave() {
    state.withLock { state in
      state.readers -= 1
      return state.readers == 0 ? state.task : nil
    }?.cancel()
  }

  private func result(_ index: Int) async throws -> GraphQLResponse? {
    try Task.checkCancellation()
    return try await state.take { state -> GraphQLResponse?? in
      if index < state.results.count {
        // The first reader commits the records; they are committed once.
        defer { state.results[index].pendingWrite = nil }
        return state.results[index]
      }
      guard let end = state.end else { return nil }
      try end.get()
      return .some(nil)
    }
  }

  /// Reads the results of a shared request; leaves it when released.
  actor Reader {
    private let request: SharedRequest
    private var index = 0
    private var hasLeft = false

    init(_ request: SharedRequest) { self.request = request }

    deinit { if !hasLeft { request.leave() } }

    func next() async throws -> GraphQLResponse? {
      do {
        let response = try await request.result(index)
        index += 1
        return response
      } catch {
        // Leave before the error is delivered, so that a request after it does not join this one.
        if !hasLeft {
          hasLeft = true
          request.leave()
        }
        throw error
      }
    }
  }
}
