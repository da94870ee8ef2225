import Cache
import Logging
public import Pipeline

/// Answers from the cache, as the policy says.
public struct CacheReadPlugin: Plugin {
  public static let description = PluginDescription(
    name: "cache-read",
    summary: "Answers operations from the cache, as the policy says",
    kind: .step, stages: [.cache], roles: [.cacheRead],
    options: [
      OptionDescription(
        "policy", .choice(CachePolicy.names), default: "cache-first",
        "When the cache is asked, and when the network; requests may say otherwise")
    ],
    examples: ["cache-read", "cache-read: { policy: network-first }"])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    .cacheRead(CacheReadInterceptor(policy: CachePolicy(name: options.string("policy"))))
  }
}

private struct CacheReadInterceptor: CacheInterceptor {
  let policy: CachePolicy?

  var defaultPolicy: CachePolicy? { policy }

  func read(_ request: GraphQLRequest, context: ChainContext) async throws -> CacheReadOutcome {
    guard let store = context.services.store else { return .miss(missing: nil) }
    let operation = try request.preparedOperation(context)
    switch try await store.read(operation) {
    case .hit(let data):
      return .hit(GraphQLResponse(source: .cache, data: data))
    case .miss(let miss):
      context.services.logger.debug("\(miss)")
      return .miss(missing: miss.path)
    }
  }
}
