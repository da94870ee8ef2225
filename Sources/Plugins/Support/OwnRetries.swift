import GQLRunPipeline

extension GraphQLRequest {
  private enum OwnRetries: RequestContextKey {
    typealias Value = Int
  }

  /// The number of retries by plugins with their own limit, such as persisted queries and tokens
  /// with one each.
  var ownRetries: Int {
    get { context[OwnRetries.self] ?? 0 }
    set { context[OwnRetries.self] = newValue }
  }

  /// The attempt, from 1, without the retries of plugins with their own limit.
  var countedAttempt: Int { max(attempt - ownRetries, 1) }

  /// The same request for an attempt that does not count for `max-retry`.
  func withOwnRetry() -> GraphQLRequest {
    var request = self
    request.ownRetries += 1
    return request
  }
}
