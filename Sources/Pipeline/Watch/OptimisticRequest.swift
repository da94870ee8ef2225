import GQLRunCache
public import GQLRunJSON

/// The optimistic layer that the response to a request replaces.
enum OptimisticLayerKey: RequestContextKey {
  typealias Value = OptimisticLayer
}

extension PipelineRunner {
  /// Executes a mutation and shows its expected result until the server has answered.
  ///
  /// When this returns, `data` is an optimistic layer above the cache. It is removed in the same
  /// step in which the response is written. It is also removed if the mutation fails, if the
  /// response has no data, or if the caller stops reading.
  ///
  /// - Parameters:
  ///   - request: A mutation with its ``GraphQLRequest/operation``.
  ///   - data: The expected `data`: complete for the mutation's selection set, with `__typename`
  ///     and key fields.
  /// - Returns: The results of the mutation.
  /// - Throws: `CacheError` with code `invalidData` that names the first missing field;
  ///   ``ChainError`` if there is no store or no operation.
  public func execute(
    _ request: GraphQLRequest, optimistic data: JSONValue
  ) throws -> ResponseStream {
    try request.checkPolicy(request.cachePolicy)
    guard let operation = request.operation else {
      throw ChainError(
        .request, .invalidRequest,
        "\(request.label) was not prepared, so what it may answer cannot be put into the cache")
    }
    let store = try store(to: "show a result before it is known")
    let pending = PendingLayer(store, try store.addOptimistic(data, for: operation))
    var request = request
    request.context[OptimisticLayerKey.self] = pending.layer
    let stream = execute(request)
    return ResponseStream(pull: {
      do {
        let response = try await stream.next()
        if response?.source != .cache { pending.end() }
        return response
      } catch {
        pending.end()
        throw error
      }
    })
  }
}

/// Removes its layer when the last reader of the response is gone.
private final class PendingLayer: Sendable {
  let layer: OptimisticLayer
  private let store: CacheStore

  init(_ store: CacheStore, _ layer: OptimisticLayer) {
    self.store = store
    self.layer = layer
  }

  deinit { end() }

  func end() { store.removeOptimistic(layer) }
}
