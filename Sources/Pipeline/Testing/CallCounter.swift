/// Counts the calls of each entry of a chain.
actor CallCounter {
  private(set) var counts: [String: Int] = [:]

  /// The most attempts of any operation.
  private(set) var attempts = 0

  func note(_ id: String, _ attempt: Int) {
    counts[id, default: 0] += 1
    attempts = max(attempts, attempt)
  }
}

extension Pipeline {
  /// The same pipeline, with its calls counted by `calls`.
  func counted(by calls: CallCounter) -> Pipeline {
    var pipeline = self
    for index in entries.indices {
      let id = entries[index].id
      // An entry with interceptors in several stages is counted in the first of them, one that fetches when it does.
      var isCounted = entries[index].parts.contains {
        if case .fetch = $0 { true } else { false }
      }
      pipeline.entries[index].parts = entries[index].parts.map { part in
        switch part {
        case .fetch(let base): return .fetch(CountedHTTP(base: base, id: id, calls: calls))
        case .errorTap: return part
        default: break
        }
        guard !isCounted else { return part }
        isCounted = true
        switch part {
        case .graphQL(let base): return .graphQL(CountedGraphQL(base: base, id: id, calls: calls))
        case .cacheRead(let base):
          return .cacheRead(CountedCache(base: base, id: id, calls: calls))
        case .cacheWrite(let base):
          return .cacheWrite(CountedCache(base: base, id: id, calls: calls))
        case .http(let base): return .http(CountedHTTP(base: base, id: id, calls: calls))
        case .parsing(let base): return .parsing(CountedParsing(base: base, id: id, calls: calls))
        case .fetch, .errorTap: return part
        }
      }
    }
    return pipeline
  }
}

private struct CountedGraphQL: GraphQLInterceptor {
  let base: any GraphQLInterceptor
  let id: String
  let calls: CallCounter

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    await calls.note(id, context.attempt)
    return try await base.intercept(request, context: context, next: next)
  }
}

private struct CountedHTTP: HTTPInterceptor {
  let base: any HTTPInterceptor
  let id: String
  let calls: CallCounter

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    await calls.note(id, context.attempt)
    return try await ScriptedUpstream.$attempt.withValue(context.attempt) {
      try await base.intercept(request, context: context, next: next)
    }
  }
}

private struct CountedCache: CacheInterceptor {
  let base: any CacheInterceptor
  let id: String
  let calls: CallCounter

  var defaultPolicy: CachePolicy? { base.defaultPolicy }

  func read(
    _ request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheReadOutcome {
    await calls.note(id, context.attempt)
    return try await base.read(request, context: context)
  }

  func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget? {
    try await base.prepareWrite(for: request, context: context)
  }

  func write(
    _ response: GraphQLResponse, for request: GraphQLRequest, context: ChainContext
  ) async throws {
    await calls.note(id, context.attempt)
    try await base.write(response, for: request, context: context)
  }
}

private struct CountedParsing: ResponseParsingInterceptor {
  let base: any ResponseParsingInterceptor
  let id: String
  let calls: CallCounter

  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest,
    target: CacheWriteTarget?, context: ChainContext
  ) async throws -> ResponseStream {
    await calls.note(id, context.attempt)
    return try await base.parse(response, for: request, target: target, context: context)
  }
}
