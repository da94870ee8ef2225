import GQLRunCache
public import GQLRunPipeline

/// Writes the records of responses to the cache.
public struct CacheWritePlugin: Plugin {
  /// What `cache-write` does, in one sentence.
  public static let summary = "Writes the records of each response to the cache, in one transaction"
  /// When to use `cache-write`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it with `cache-read`, or alone to fill a store that other programs read.",
    position: "It belongs below the parser, whose records it receives.",
    example: "cache-write: { on_errors: discard }",
    narration:
      "A response without errors is written as a whole before the caller receives it. Of a "
      + "response with errors nothing is written, not even the fields that have values.",
    subscriptions:
      "Writes each event in a transaction of its own before the event is delivered, so "
      + "that watched queries follow. Root fields of subscriptions are not stored, only the "
      + "objects in them.",
    uploads:
      "Writes the result of a mutation as usual. The result of a query with files is not stored.",
    moreExamples: ["cache-write"])

  @Option(
    "What is written of a response with errors: everything except nulls that are caused by "
      + "errors, whose errors are stored instead; nothing; or everything, with the nulls as values")
  var onErrors = ErrorPolicy.skipErrored
  @Option("Whether the values of root fields are written, or only the objects in them")
  var writeRoots = true

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Writes the cache.
  public var traits: PluginTraits { .writesCache }

  /// One per chain, in the cache stage below the parser; requires a store.
  public var placement: Placement {
    .step(
      .cache,
      rules: [
        .once(.writesCache, code: .cacheWrite, verb: "writes the cache"),
        .requires(
          .store, code: .cacheWrite, message: "{self} has no store to write to",
          remedy: "add `store: { kind: memory }` to the file"),
        .below(.parses, code: .cacheWrite, reason: "before there is anything to write"),
      ])
  }

  /// Creates the interceptor that commits the records of responses.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.cacheWrite(CacheWriteInterceptor(errorPolicy: onErrors, writesRoots: writeRoots))]
  }
}

private struct CacheWriteInterceptor: CacheInterceptor {
  let errorPolicy: ErrorPolicy
  let writesRoots: Bool
  var joinsParts: Bool { true }

  func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget? {
    context.services.store.map {
      CacheWriteTarget(store: $0, errorPolicy: errorPolicy, writesRoots: writesRoots)
    }
  }
}
