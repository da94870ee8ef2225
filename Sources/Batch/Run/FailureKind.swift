import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes

/// What an error of a request means for its task.
enum FailureKind: Sendable {
  /// A rate limit; send the request again later.
  case refused(after: Duration?)
  /// The server cannot be reached; send the request again later.
  case unreachable
  /// The credentials were rejected; other tasks would fail as well.
  case unauthorized
  /// The server may have executed the request.
  case unknown
  /// The page costs too much for the server.
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
      // GitHub uses 403 with a delay where others use 429.
      case 403 where Self.wish(http.headers, now) != nil:
        self = .refused(after: Self.wish(http.headers, now))
      case 503 where mayRepeat: self = .refused(after: Self.wish(http.headers, now))
      case 401: self = .unauthorized
      case 502, 504: self = mayRepeat ? .tooCostly : .unknown
      // The document is too large, or its errors say what a response with status 200 says elsewhere.
      case 413: self = .tooCostly
      case 400, 422:
        let body = String(decoding: http.bodyPrefix, as: UTF8.self)
        self = Self.isTooCostly(body) ? .tooCostly : .failed
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

  /// Whether other tasks would fail as well.
  var isOfAllTasks: Bool {
    switch self {
    case .refused, .unreachable, .unauthorized: true
    case .unknown, .tooCostly, .failed: false
    }
  }

  var isTooCostly: Bool { if case .tooCostly = self { true } else { false } }

  /// The delay that the server asked for; `nil` if it named none.
  ///
  /// - Parameter now: The current time, in seconds since 1970.
  static func wish(_ headers: HTTPFields, _ now: Double) -> Duration? {
    if let delay = RetryAfter.delay(in: headers, now: now) { return delay }
    func number(_ name: String) -> Double? {
      HTTPField.Name(name).flatMap { headers[$0] }.flatMap { Double($0) }
    }
    guard number("x-ratelimit-remaining") == 0, let reset = number("x-ratelimit-reset"),
      reset.isFinite
    else { return nil }
    return .seconds(min(max(RetryAfter.seconds(untilReset: reset, now: now), 1), 86_400))
  }

  /// Whether the GraphQL errors say that a page costs too much.
  static func isTooCostly(_ errors: [GraphQLError]) -> Bool {
    errors.contains { isTooCostly("\($0.code ?? "") \($0.type ?? "") \($0.message)") }
  }

  private static func isTooCostly(_ text: String) -> Bool {
    let text = text.lowercased()
    return [
      "complexity", "node limit", "node_limit", "max_node", "query cost", "max_cost",
      "too many nodes", "alias", "root_fields", "root fields", "max_height", "token limit",
      "timeout", "timed out", "something went wrong while executing your query",
    ].contains { text.contains($0) }
  }
}
