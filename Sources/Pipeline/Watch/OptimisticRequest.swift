import GQLRunCache
public import GQLRunJSON

/// The optimistic layer that the answer to a request replaces.
enum OptimisticLayerKey: RequestContextKey {
  typealias Value = OptimisticLayer
}

extension PipelineRunner {
  /// The results of a mutation whose outcome is shown before it is known.
  ///
  /// `data` lies above the cache when this returns. It goes at the moment the server's answer is
  /// written, and without a trace when the mutation fails, is answered without data, or nobody reads
  /// on.
  ///
  /// - Parameters:
  ///   - request: A mutation with its ``GraphQLRequest/operation``.
  ///   - data: What the server will probably answer: complete for the mutation's selection, with
  ///     `__typename` and key fields.
  /// - Throws: ``CacheError`` with code `invalidData` that names the first field that is missing;
  ///   ``ChainError`` when there is no store or no operation.
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

/// A layer that goes with the last who waits for its answer.
private final class PendingLayer: Sendable {
  let layer: OptimisticLayer
  private let store: any RecordStore

  init(_ store: any RecordStore, _ layer: OptimisticLayer) {
    self.store = store
    self.layer = layer
  }

  deinit { end() }

  func end() { store.removeOptimistic(layer) }
}
