import GQLRunSupport
public import HTTPTypes

/// Why a chain did not bring a result.
///
/// Transport, GraphQL and cache stay distinct in ``layer``; ``code`` says what happened. The
/// message says what was being done, what was found and what would work; it holds no secrets.
public struct ChainError: Error, Sendable {
  public var layer: Layer
  public var code: Code
  public var message: String
  /// The entry of the chain, or the stage, in which it happened.
  public var place: String?
  public var cause: (any Error)?
  /// The response that was not accepted.
  public var http: HTTPFailure?
  /// The errors of the response, for the layer GraphQL.
  public var graphQLErrors: [GraphQLError]
  /// How far the request got, for the layer transport.
  public var delivery: Delivery?

  public init(
    _ layer: Layer, _ code: Code, _ message: String, place: String? = nil,
    cause: (any Error)? = nil, http: HTTPFailure? = nil, graphQLErrors: [GraphQLError] = [],
    delivery: Delivery? = nil
  ) {
    self.layer = layer
    self.code = code
    self.message = message
    self.place = place
    self.cause = cause
    self.http = http
    self.graphQLErrors = graphQLErrors
    self.delivery = delivery
  }
}

extension ChainError {
  public enum Layer: String, Sendable, Hashable {
    /// The request itself, before anything was sent.
    case request
    case transport
    case graphQL
    case cache
    /// The chain's own rules: no result, too many attempts.
    case chain
  }

  /// How far a request got: what decides whether a mutation may be sent again.
  public enum Delivery: String, Sendable, Hashable {
    case notSent
    /// It may have been carried out.
    case unknown
    case answered
  }

  /// What happened, as a word that scripts can compare. Plugins add their own.
  public struct Code: RawRepresentable, Sendable, Hashable {
    public var rawValue: String

    public init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  /// A response that was not accepted.
  public struct HTTPFailure: Sendable {
    public var status: Int
    public var headers: HTTPFields
    /// The first bytes of the body.
    public var bodyPrefix: [UInt8]

    public init(status: Int, headers: HTTPFields = [:], bodyPrefix: [UInt8] = []) {
      self.status = status
      self.headers = headers
      self.bodyPrefix = bodyPrefix
    }
  }
}

extension ChainError.Code {
  public static let nameResolutionFailed = Self(rawValue: "name_resolution_failed")
  public static let connectionFailed = Self(rawValue: "connection_failed")
  public static let connectionClosed = Self(rawValue: "connection_closed")
  public static let tlsFailed = Self(rawValue: "tls_failed")
  public static let proxyFailed = Self(rawValue: "proxy_failed")
  public static let redirectRefused = Self(rawValue: "redirect_refused")
  public static let timedOut = Self(rawValue: "timed_out")
  public static let truncatedResponse = Self(rawValue: "truncated_response")
  public static let httpStatus = Self(rawValue: "http_status")
  public static let unexpectedContentType = Self(rawValue: "unexpected_content_type")
  public static let malformedResponse = Self(rawValue: "malformed_response")
  public static let limitExceeded = Self(rawValue: "limit_exceeded")
  public static let invalidRequest = Self(rawValue: "invalid_request")
  public static let cacheMiss = Self(rawValue: "cache_miss")
  public static let cacheReadFailed = Self(rawValue: "cache_read_failed")
  public static let cacheWriteFailed = Self(rawValue: "cache_write_failed")
  public static let noResult = Self(rawValue: "no_result")
  public static let tooManyAttempts = Self(rawValue: "too_many_attempts")
}

extension ChainError {
  /// Whether the network or the server failed, so that `network-first` may answer from the cache:
  /// transport failures and statuses of 500 and above, never 401, 403 or what the server means to
  /// say.
  public var isNetworkFailure: Bool {
    guard layer == .transport else { return false }
    if let status = http?.status { return status >= 500 }
    return [
      .nameResolutionFailed, .connectionFailed, .connectionClosed, .tlsFailed,
      .proxyFailed, .timedOut, .truncatedResponse,
    ].contains(code)
  }

  /// Whether trying again may help: network failures but those of TLS and proxies, and the statuses
  /// 429, 502, 503 and 504.
  public var isTransient: Bool {
    guard layer == .transport else { return false }
    if let status = http?.status { return [429, 502, 503, 504].contains(status) }
    return isNetworkFailure && code != .tlsFailed && code != .proxyFailed
  }
}

extension ChainError: CustomStringConvertible {
  public var description: String {
    let place = place.map { "\($0): " } ?? ""
    let cause = cause.map { " (\($0))" } ?? ""
    return Printable.line("\(place)\(message)\(cause)")
  }
}
