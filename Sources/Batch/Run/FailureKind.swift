import HTTPTypes
import JSONStream
import Pipeline
import Plugins

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

  private static func wish(_ headers: HTTPFields, _ now: Double) -> Duration? {
    headers[.retryAfter].flatMap { RetryAfter.delay($0, now: now) }
  }

  /// Whether a server's own errors say that a page was too costly.
  static func isTooCostly(_ errors: [GraphQLError]) -> Bool {
    errors.contains { error in
      let text =
        "\(error.code ?? "") \(error.extensions?["type"]?.stringValue ?? "") \(error.message)"
        .lowercased()
      return [
        "complexity", "node limit", "node_limit", "max_node", "query cost", "max_cost",
        "too many nodes",
        "timeout", "timed out", "something went wrong while executing your query",
      ].contains { text.contains($0) }
    }
  }
}
