import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes

/// What an error of a request means for its task.
enum FailureKind: Sendable {
  /// The server refuses for now: to be sent again.
  case refused(after: Duration?)
  /// The server is not there: to be sent again.
  case unreachable
  /// The credentials are not accepted: no other task will fare better.
  case unauthorized
  /// It may have been carried out.
  case unknown
  /// The page was too much for the server.
  case tooCostly
  case failed

  init(_ error: any Error, mayRepeat: Bool, now: Double) {
    guard var chain = error as? ChainError else {
      self = .failed
      return
    }
    if chain.code == .tooManyAttempts, let cause = chain.cause as? ChainError { chain = cause }
    if let http = chain.http {
      switch http.status {
      case 429: self = .refused(after: Self.wish(http.headers, now))
      // GitHub's way of saying 429.
      case 403 where Self.wish(http.headers, now) != nil:
        self = .refused(after: Self.wish(http.headers, now))
      case 503 where mayRepeat: self = .refused(after: Self.wish(http.headers, now))
      case 401: self = .unauthorized
      case 502, 504: self = mayRepeat ? .tooCostly : .unknown
      default: self = .failed
      }
      return
    }
    switch chain.code {
    case .nameResolutionFailed, .connectionFailed: self = .unreachable
    case .connectionClosed where chain.delivery == .notSent || mayRepeat: self = .unreachable
    case .timedOut where mayRepeat: self = .tooCostly
    case .tlsFailed, .invalidRequest: self = .failed
    default:
      let mayBeDone = chain.layer == .transport && chain.delivery != .notSent
      self = !mayRepeat && mayBeDone ? .unknown : .failed
    }
  }

  /// How long the server wants to be left alone; `nil` when it does not say.
  ///
  /// - Parameter now: In seconds since 1970.
  static func wish(_ headers: HTTPFields, _ now: Double) -> Duration? {
    if let text = headers[.retryAfter], let delay = RetryAfter.delay(text, now: now) {
      return delay
    }
    func number(_ name: String) -> Double? {
      HTTPField.Name(name).flatMap { headers[$0] }.flatMap { Double($0) }
    }
    guard number("x-ratelimit-remaining") == 0, let reset = number("x-ratelimit-reset"),
      reset.isFinite
    else { return nil }
    return .seconds(min(max(reset - now, 1), 86_400))
  }

  /// What a result without data says that stands for a refusal: GitHub and Shopify answer with status
  /// 200 when a budget is used up. `nil` for other results.
  ///
  /// https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
  /// https://shopify.dev/docs/api/usage/limits
  static func refusal(in response: GraphQLResponse) -> String? {
    guard (response.data?.count ?? 0) <= 4 else { return nil }
    return response.errors.first { error in
      [error.code, error.type]
        .contains { ["THROTTLED", "RATE_LIMITED", "RATE_LIMIT"].contains($0) }
    }?.message
  }

  /// Whether a server's own errors say that a page was too costly.
  static func isTooCostly(_ errors: [GraphQLError]) -> Bool {
    errors.contains { error in
      let text =
        "\(error.code ?? "") \(error.type ?? "") \(error.message)"
        .lowercased()
      return [
        "complexity", "node limit", "node_limit", "max_node", "query cost", "max_cost",
        "too many nodes",
        "timeout", "timed out", "something went wrong while executing your query",
      ].contains { text.contains($0) }
    }
  }
}
