import GQLRunCache
public import GQLRunPipeline
import Logging

/// Answers operations from the cache, according to the fetch policy.
public struct CacheReadPlugin: Plugin {
  /// What `cache-read` does, in one sentence.
  public static let summary = "Answers operations from the cache, according to the fetch policy"
  /// When to use `cache-read`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it wherever the same data is needed more than once.",
    position:
      "It belongs above everything that sends requests; `cache-write` below the parser fills the "
      + "store that it reads. Plugins above it see answers from the cache, those below do not.",
    example: "cache-read: { policy: cache-first, max_age: 5m, max_stale: 1h }",
    narration:
      "A query whose fields are all in the store, none older than five minutes, is answered "
      + "without the network. Data up to an hour older than that is still used and marked as "
      + "stale. Any other query is sent to the server.",
    subscriptions:
      "Reads the cache only with the policy `cache-and-network`, and once: root fields "
      + "with a cache redirect give the cached state as the first element, before the "
      + "connection is opened. With `cache-only`, a subscription is an error.",
    uploads:
      "Does not read the cache for a query with files, whose variables do not identify it.",
    moreExamples: [
      "cache-read", "cache-read: { policy: network-first }", "cache-read: { errors: replay }",
    ])

  @Option("When the cache is read, and when the network is used; requests may override it")
  var policy = CachePolicy.cacheFirst
  @Option(
    "How long data is fresh after it was received, unless `types` or `fields` has a rule; "
      + "unlimited by default")
  var maxAge: RecordAge?
  @Option(
    "How much older than max_age data may be and still be used; not at all by default, and without "
      + "limit after a network failure (`network-first`)")
  var maxStale: RecordAge?
  @Option(
    "What a field is read as that failed on the server: its older value or a cache miss, null with "
      + "the stored error, or null")
  var errors = ErrorReadPolicy.refuse

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Reads the cache; with the policy `cache-only`, no request is sent to the network.
  public var traits: PluginTraits {
    policy == .cacheOnly ? [.readsCache, .cacheOnly] : .readsCache
  }

  /// One per chain, in the cache stage above the fetch; requires a store, and warns if nothing
  /// fills it.
  public var placement: Placement {
    var rules: [PlacementRule] = [
      .once(.readsCache, code: .cacheRead, verb: "reads the cache"),
      .above(.fetches, code: .cacheRead, reason: "so every request would go to the network"),
      .requires(
        .store, code: .cacheRead, message: "{self} has no store to read",
        remedy: "add `store: { kind: memory }` to the file"),
      .requires(
        .writesCache, with: .memoryStore, code: .cacheRead,
        message: "no plugin fills the store that {self} reads",
        remedy: "add `- cache-write` below the parser", severity: .warning),
    ]
    if maxStale != nil, maxAge == nil {
      rules.append(
        .requires(
          .ages, code: .cacheRead,
          message: "`max_stale` of {self} has no effect: no rule sets a `max_age`",
          remedy: "add `max_age` to {self}, or to `types` or `fields`", severity: .warning))
    }
    return .step(.cache, rules: rules)
  }

  /// Creates the interceptor that reads the store.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.cacheRead(CacheReadInterceptor(plugin: self))]
  }
}

private struct CacheReadInterceptor: CacheInterceptor {
  let plugin: CacheReadPlugin

  var defaultPolicy: CachePolicy? { plugin.policy }
  var maxAge: Duration? { plugin.maxAge?.duration }
  var maxStale: Duration? { plugin.maxStale?.duration }
  var errors: ErrorReadPolicy { plugin.errors }

  func read(_ request: GraphQLRequest, context: ChainContext) async throws -> CacheReadOutcome {
    guard let store = context.services.store else { return .miss(missing: nil) }
    let operation = try request.preparedOperation(context, delivery: .notSent)
    let answer = try await store.read(operation, options: options(context))
    switch answer.result {
    case .hit(let data):
      var response = GraphQLResponse(source: .cache, data: data)
      if let stale = answer.stale {
        context.services.logger.debug("\(stale)")
        response.staleness = stale.staleness
      }
      response.errors = answer.errors.map { GraphQLError($0) }
      return .hit(response)
    case .miss(let miss):
      context.services.logger.debug("\(miss)")
      return .miss(missing: miss.path, staleness: miss.staleness)
    }
  }

  private func options(_ context: ChainContext) -> ReadOptions {
    var options = ReadOptions(
      ages: context.ages, now: Int(context.services.secondsSince1970()), errors: errors)
    options.ages.maxAge = maxAge ?? options.ages.maxAge
    // After a network failure, data of any age is better than none, unless `max_stale` sets a
    // limit.
    if let maxStale {
      options.stale = .upTo(maxStale)
    } else if context.isAfterFailure {
      options.stale = .whatever
    }
    return options
  }
}
