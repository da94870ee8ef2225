import GQLRunCache
public import GQLRunPipeline
import Logging

/// Answers from the cache, as the policy says.
public struct CacheReadPlugin: Plugin {
  public static let description = PluginDescription(
    name: "cache-read",
    summary: "Answers operations from the cache, as the policy says",
    kind: .step, stages: [.cache], roles: [.cacheRead],
    options: [
      OptionDescription(
        "policy", .choice(CachePolicy.names), default: "cache-first",
        "When the cache is asked, and when the network; requests may say otherwise"),
      OptionDescription(
        "max_age", PipelineFile.maxAge,
        "How long data are fresh after they were received, where no rule of `types` or `fields` says; "
          + "without it, for ever"),
      OptionDescription(
        "max_stale", PipelineFile.maxAge,
        "How much older than that data may be and still be used; by default not at all, and after a "
          + "failure of the network (`network-first`) without limit"),
    ],
    examples: [
      "cache-read", "cache-read: { policy: network-first }",
      "cache-read: { policy: cache-first, max_age: 5m, max_stale: 1h }",
    ])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    .cacheRead(
      CacheReadInterceptor(
        policy: CachePolicy(name: options.string("policy")),
        maxAge: options.duration(ifGiven: "max_age"),
        maxStale: options.duration(ifGiven: "max_stale")))
  }
}

private struct CacheReadInterceptor: CacheInterceptor {
  let policy: CachePolicy?
  let maxAge: Duration?
  let maxStale: Duration?

  var defaultPolicy: CachePolicy? { policy }

  func read(_ request: GraphQLRequest, context: ChainContext) async throws -> CacheReadOutcome {
    guard let store = context.services.store else { return .miss(missing: nil) }
    let operation = try request.preparedOperation(context)
    let answer = try await store.read(operation, options: options(context))
    switch answer.result {
    case .hit(let data):
      var response = GraphQLResponse(source: .cache, data: data)
      if let stale = answer.stale {
        context.services.logger.debug("\(stale)")
        response.staleness = stale.staleness
      }
      return .hit(response)
    case .miss(let miss):
      context.services.logger.debug("\(miss)")
      return .miss(missing: miss.path, staleness: miss.staleness)
    }
  }

  private func options(_ context: ChainContext) -> ReadOptions {
    var options = ReadOptions(
      ages: context.ages, now: Int(context.services.secondsSince1970()))
    options.ages.maxAge = maxAge ?? options.ages.maxAge
    // Old data are better than none, unless somebody has said how old.
    if let maxStale {
      options.stale = .upTo(maxStale)
    } else if context.isAfterFailure {
      options.stale = .whatever
    }
    return options
  }
}
