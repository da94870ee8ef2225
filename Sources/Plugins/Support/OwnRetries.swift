import GQLRunPipeline

extension GraphQLRequest {
  private enum OwnRetries: RequestContextKey {
    typealias Value = Int
  }

  /// How many attempts were asked for by plugins that bound them by themselves, as persisted queries
  /// and tokens do with one each.
  var ownRetries: Int {
    get { context[OwnRetries.self] ?? 0 }
    set { context[OwnRetries.self] = newValue }
  }

  /// The attempt, from 1, without those of plugins with a budget of their own.
  var countedAttempt: Int { max(attempt - ownRetries, 1) }

  /// The same request for an attempt that does not count against `max-retry`.
  func withOwnRetry() -> GraphQLRequest {
    var request = self
    request.ownRetries += 1
    return request
  }
}
