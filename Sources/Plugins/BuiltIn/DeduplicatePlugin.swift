import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
import HTTPTypes
import Logging

/// Lets identical queries that are under way at the same time share one answer.
public struct DeduplicatePlugin: Plugin {
  public static let summary =
    "Lets identical queries that are in flight at the same time share one answer"
  public static let documentation = PluginDocumentation(
    use: "Use it where several parts of a program ask for the same data at the same time.",
    position:
      "Put it above `cache-read` and below plugins that add context to requests: only queries with "
      + "equal text, variables, headers and context values share an answer.",
    example: "deduplicate",
    narration:
      "The first of five equal queries is sent. The other four wait for its answer and receive "
      + "it. Mutations and subscriptions are never shared.")

  public init() {}

  public var placement: Placement { .wrap(.graphQL) }

  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.graphQL(DeduplicateInterceptor(flights: SharedAnswers()))]
  }
}

private struct DeduplicateInterceptor: GraphQLInterceptor {
  let flights: SharedAnswers

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    guard request.operationType == .query else { return await next(request) }
    let (answer, isFirst) = await flights.answer(for: Self.key(of: request)) {
      await next(request)
    }
    if !isFirst {
      context.services.logger.debug("\(request.label): waits for the same query under way")
    }
    let reader = SharedAnswer.Reader(answer)
    return ResponseStream(pull: {
      do {
        guard var response = try await reader.next() else { return nil }
        response.attempt = context.attempt
        if !isFirst { response.context.named.merge(request.context.named) { $1 } }
        return response
      } catch let retry as ChainRetry where !isFirst {
        // The retry carries the request of the first one. Each goes on with its own.
        throw ChainRetry(request.withOwnRetry(), cause: retry.cause)
      }
    })
  }

  /// Equal for requests that get the same answer: same text, variables, fields and context values.
  ///
  /// The bytes, not a string: Swift's strings are equal when `é` is one code point in one of them and two in
  /// the other, which are different ids.
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
      .object(request.variables), .object(request.extensions), .object(request.bodyMembers),
      .boolean(request.sendsDocument), .string(request.method?.rawValue ?? ""),
      .string(request.cachePolicy?.rawValue ?? ""), .array(fields), .array(values),
    ]).canonicalText
    return Array(text.utf8)
  }
}

/// The answers under way, by what was asked.
private actor SharedAnswers {
  private var answers: [[UInt8]: SharedAnswer] = [:]

  /// The answer to `key` that is under way, or a new one; and whether it is new.
  func answer(
    for key: [UInt8], _ begin: @escaping @Sendable () async -> ResponseStream
  ) async -> (SharedAnswer, isFirst: Bool) {
    while let answer = answers[key] {
      if await answer.join() { return (answer, false) }
      if answers[key] === answer { answers[key] = nil }
    }
    let answer = SharedAnswer()
    answers[key] = answer
    await answer.run(begin) { [weak self] in await self?.remove(key, answer) }
    return (answer, true)
  }

  private func remove(_ key: [UInt8], _ answer: SharedAnswer) {
    if answers[key] === answer { answers[key] = nil }
  }
}

/// The results of one request, for several readers.
///
/// The work belongs to none of them: it goes on while one is left.
private actor SharedAnswer {
  private var results: [GraphQLResponse] = []
  private var end: Result<Void, any Error>?
  private var readers = 1
  private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  private var nextWaiter = 0
  private var task: Task<Void, Never>?

  /// `false` when the work has ended or was given up.
  func join() -> Bool {
    guard end == nil, readers > 0 else { return false }
    readers += 1
    return true
  }

  func run(
    _ begin: @escaping @Sendable () async -> ResponseStream,
    onEnd: @escaping @Sendable () async -> Void
  ) {
    // The work runs apart, so that readers can come and go while it computes.
    task = Task { @concurrent in
      let stream = await begin()
      do {
        while let response = try await stream.next() { await add(response) }
        await finish(.success(()))
      } catch {
        await finish(.failure(error))
      }
      await onEnd()
    }
  }

  private func add(_ response: GraphQLResponse) {
    results.append(response)
    wake()
  }

  private func finish(_ end: Result<Void, any Error>) {
    self.end = end
    wake()
  }

  private func wake() {
    for continuation in waiting.values { continuation.resume() }
    waiting = [:]
  }

  private func leave() {
    readers -= 1
    if readers == 0 { task?.cancel() }
  }

  private func result(_ index: Int) async throws -> GraphQLResponse? {
    while true {
      try Task.checkCancellation()
      if index < results.count {
        let response = results[index]
        // The first who takes it keeps the records; they are kept once.
        results[index].pendingWrite = nil
        return response
      }
      if let end {
        try end.get()
        return nil
      }
      await change()
    }
  }

  private func change() async {
    nextWaiter += 1
    let waiter = nextWaiter
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiting[waiter] = $0 }
    } onCancel: {
      Task { await self.stopWaiting(waiter) }
    }
  }

  private func stopWaiting(_ waiter: Int) {
    waiting.removeValue(forKey: waiter)?.resume()
  }

  /// One reader's place; letting go of it leaves the answer to the others.
  actor Reader {
    private let answer: SharedAnswer
    private var index = 0
    private var hasLeft = false

    init(_ answer: SharedAnswer) { self.answer = answer }

    deinit {
      if hasLeft { return }
      let answer = answer
      Task { await answer.leave() }
    }

    func next() async throws -> GraphQLResponse? {
      do {
        let response = try await answer.result(index)
        index += 1
        return response
      } catch {
        // At once, so that whoever asks after the error was told does not join what is given up.
        if !hasLeft {
          hasLeft = true
          await answer.leave()
        }
        throw error
      }
    }
  }
}
