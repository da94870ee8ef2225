import GQLRunCache
import GQLRunSupport

// A subscription whose connection was lost does not know what it has missed. A query through the same
// chain and store fetches the current state before events continue.
extension Execution {
  /// Prepares the query before the subscription is sent, so that a wrong declaration is noticed then.
  func prepareCatchUp() throws {
    guard let declared = routes.catchUp, progress.withLock({ $0.catchUp == nil }) else { return }
    do {
      guard let operation = original.operation else {
        throw CacheError(.invalidOperation, "\(original.label) was not prepared")
      }
      var request = GraphQLRequest(
        try operation.companion(declared.query, in: declared.document), cachePolicy: .networkOnly)
      request.context = original.context
      request.context[SubscriptionHandle.self] = nil
      request.context[Reconnection.self] = nil
      request.additionalHeaders = original.additionalHeaders
      progress.withLock { $0.catchUp = request }
    } catch let error as CacheError {
      throw ChainError(
        .request, .invalidRequest,
        "cannot prepare the query that `catch_up` of `subscriptions` declares for \(original.label): "
          + "\(error.message)", delivery: .notSent)
    }
  }

  /// The element that announces a gap, after the query has run. Its result, if it is delivered, is the
  /// next element.
  func announce(_ gap: SubscriptionGap) async throws -> GraphQLResponse {
    var gap = gap
    if let declared = routes.catchUp, let request = progress.withLock({ $0.catchUp }) {
      do {
        var result = try await Execution(request, routes: routes).result()
        gap.catchUp = result.errors.first.map { .failed($0) } ?? .succeeded
        if declared.isDelivered {
          result.isCatchUp = true
          progress.withLock { $0.caughtUp = result }
        }
      } catch {
        if Task.isCancelled { throw CancellationError() }
        gap.catchUp = .failed(error)
      }
    }
    return GraphQLResponse(source: .server, gap: gap)
  }

  /// The last result.
  private func result() async throws -> GraphQLResponse {
    var last: GraphQLResponse?
    while let response = try await next() { last = response }
    guard let last else {
      throw ChainError(
        .chain, .noResult, "the pipeline delivered no result of \(original.label)")
    }
    return last
  }
}
