import GQLRunCache
public import GQLRunPipeline

/// Puts responses into the cache.
public struct CacheWritePlugin: Plugin {
  public static let summary = "Writes the records of each response to the cache, in one transaction"
  public static let documentation = PluginDocumentation(
    use: "Use it with `cache-read`, or alone to fill a store that other programs read.",
    position: "It belongs below the parser, whose records it receives.",
    example: "cache-write: { on_errors: discard }",
    narration:
      "A response without errors is written as a whole before the caller receives it. Of a "
      + "response with errors nothing is written, not even the fields that have values.",
    moreExamples: ["cache-write"])

  @Option(
    "What is written of a response with errors: everything but the nulls that stand for errors, "
      + "nothing, or everything")
  var onErrors = ErrorPolicy.skipErrored
  @Option("Whether the values of root fields are written, or only the objects in them")
  var writeRoots = true

  public init() {}

  public var traits: PluginTraits { .writesCache }

  public var placement: Placement {
    .step(
      .cache,
      rules: [
        .once(.writesCache, .cacheWrite, "writes the cache"),
        .requires(
          .store, .cacheWrite, "{self} has no store to write to",
          remedy: "add `store: { kind: memory }` to the file"),
        .below(.parses, .cacheWrite, "before there is anything to write"),
      ])
  }

  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.cacheWrite(CacheWriteInterceptor(errorPolicy: onErrors, writesRoots: writeRoots))]
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
