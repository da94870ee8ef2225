import GQLRunCache
public import GQLRunPipeline

/// Puts responses into the cache.
public struct CacheWritePlugin: Plugin {
  public static let description = PluginDescription(
    name: "cache-write",
    summary: "Puts the records of responses into the cache, each response at once",
    kind: .step, stages: [.cache], roles: [.cacheWrite],
    options: [
      OptionDescription(
        "on_errors", .choice(ErrorPolicy.allCases.map(\.rawValue)), default: "skip-errored",
        "What becomes of nulls that stand for errors: left out, the whole response left out, or kept"
      ),
      OptionDescription(
        "write_roots", .bool, default: "true",
        "Whether the answers to root fields are kept, or only the objects in them"),
    ],
    examples: ["cache-write", "cache-write: { on_errors: discard }"])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    .cacheWrite(
      CacheWriteInterceptor(
        errorPolicy: ErrorPolicy(rawValue: options.string("on_errors")) ?? .skipErrored,
        writesRoots: options.bool("write_roots")))
  }
}

private struct CacheWriteInterceptor: CacheInterceptor {
  let errorPolicy: ErrorPolicy
  let writesRoots: Bool

  func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget? {
    context.services.store.map {
      CacheWriteTarget(store: $0, errorPolicy: errorPolicy, writesRoots: writesRoots)
    }
  }
}
