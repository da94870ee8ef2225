import GQLRunJSON
package import GQLRunLive
import GQLRunSupport
public import HTTPTypes

/// The error of a chain that could not deliver a result.
///
/// ``layer`` says where it occurred: transport, GraphQL or cache. ``code`` says what happened. The
/// message says what was being done, what was found and what would work; it contains no secrets.
public struct ChainError: Error, Sendable {
  /// The part of the chain in which the error occurred.
  public var layer: Layer
  /// The kind of error.
  public var code: Code
  /// A description for people, without secrets.
  public var message: String
  /// The identifier of the chain's entry, or the name of the stage, in which the error occurred.
  public var entry: String?
  /// The underlying error; `nil` if there is none.
  public var cause: (any Error)?
  /// The response that was rejected.
  public var http: HTTPFailure?
  /// The errors of the response, for the layer `graphQL`.
  public var graphQLErrors: [GraphQLError]
  /// How far the request got, for the layers `request` and `transport`.
  public var delivery: Delivery?
  /// The code with which the WebSocket connection was closed; `nil` for other errors.
  public var closeCode: Int?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - layer: The part of the chain in which the error occurred.
  ///   - code: The kind of error.
  ///   - message: What was being done, what was found and what would work. Must not contain
  ///     secrets.
  ///   - entry: The identifier of the entry, or the name of the stage.
  ///   - cause: The underlying error.
  ///   - http: The response that was rejected.
  ///   - graphQLErrors: The errors of the response.
  ///   - delivery: How far the request got; by default `notSent` for the layer `request`.
  public init(
    _ layer: Layer, code: Code, message: String, entry: String? = nil,
    cause: (any Error)? = nil, http: HTTPFailure? = nil, graphQLErrors: [GraphQLError] = [],
    delivery: Delivery? = nil
  ) {
    self.layer = layer
    self.code = code
    self.message = message
    self.entry = entry
    self.cause = cause
    self.http = http
    self.graphQLErrors = graphQLErrors
    self.delivery = delivery ?? (layer == .request ? .notSent : nil)
  }

  /// Creates an error of the request itself, which was not sent.
  package init(notSent code: Code, _ message: String, entry: String? = nil) {
    self.init(.request, code: code, message: message, entry: entry, delivery: .notSent)
  }
}

extension ChainError {
  /// The layer in which an operation failed.
  public enum Layer: String, Sendable, Hashable, CaseIterable {
    /// The request itself, before anything was sent.
    case request
    /// The network, or the HTTP response.
    case transport
    /// The `errors` of a GraphQL response.
    case graphQL
    /// Reading or writing the cache.
    case cache
    /// The rules of the chain: no result, too many attempts.
    case chain
  }

  /// How far a request got. Decides whether a mutation may be sent again.
  public enum Delivery: String, Sendable, Hashable {
    /// The request was not sent.
    case notSent
    /// The server may have executed the request.
    case unknown
    /// The server has answered.
    case answered
  }

  /// The kind of an error, as a string that scripts can compare. Plugins define further codes.
  public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The code as it is printed, in snake case.
    public var rawValue: String

    /// The code as it is printed.
    public var description: String { rawValue }

    /// Creates a code.
    ///
    /// - Parameter rawValue: The code as it is printed, in snake case.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  /// An HTTP response that was rejected.
  public struct HTTPFailure: Sendable {
    /// The status code.
    public var status: Int
    /// The header fields of the response.
    public var headers: HTTPFields
    /// The first bytes of the body.
    public var bodyPrefix: [UInt8]

    /// Creates the description of a rejected response.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields of the response.
    ///   - bodyPrefix: The first bytes of the body.
    public init(status: Int, headers: HTTPFields = [:], bodyPrefix: [UInt8] = []) {
      self.status = status
      self.headers = headers
      self.bodyPrefix = bodyPrefix
    }
  }
}

extension ChainError.Code {
  /// The name of the server or of its proxy could not be resolved.
  public static let nameResolutionFailed = Self(rawValue: "name_resolution_failed")
  /// No connection could be opened.
  public static let connectionFailed = Self(rawValue: "connection_failed")
  /// The server closed the connection before it answered.
  public static let connectionClosed = Self(rawValue: "connection_closed")
  /// The TLS handshake failed, or the certificate is not trusted.
  public static let tlsFailed = Self(rawValue: "tls_failed")
  /// The proxy refused or failed.
  public static let proxyFailed = Self(rawValue: "proxy_failed")
  /// A redirect is not followed.
  public static let redirectRefused = Self(rawValue: "redirect_refused")
  /// A timeout or the deadline has passed.
  public static let timedOut = Self(rawValue: "timed_out")
  /// The body ended before it was complete.
  public static let truncatedResponse = Self(rawValue: "truncated_response")
  /// The server rejected the credentials of a WebSocket connection, as a status of 401 does.
  public static let connectionRejected = Self(rawValue: "connection_rejected")
  /// The server did not open a WebSocket connection.
  public static let webSocketRefused = Self(rawValue: "websocket_refused")
  /// The server closed the WebSocket connection for a reason that a retry would not change, or while it executed
  /// a query or mutation.
  public static let webSocketClosed = Self(rawValue: "websocket_closed")
  /// The subscription was paused. The chain connects it again; callers do not get this error.
  static let subscriptionPaused = Self(rawValue: "subscription_paused")
  /// The status code is not accepted.
  public static let httpStatus = Self(rawValue: "http_status")
  /// The media type of the response is not accepted.
  public static let unexpectedContentType = Self(rawValue: "unexpected_content_type")
  /// The body is not a GraphQL response.
  public static let malformedResponse = Self(rawValue: "malformed_response")
  /// A limit was exceeded, such as the largest body.
  public static let limitExceeded = Self(rawValue: "limit_exceeded")
  /// The request cannot be sent or executed as it is.
  public static let invalidRequest = Self(rawValue: "invalid_request")
  /// The cache lacks a selected field, and `cache-only` forbids the network.
  public static let cacheMiss = Self(rawValue: "cache_miss")
  /// The cache could not be read.
  public static let cacheReadFailed = Self(rawValue: "cache_read_failed")
  /// A result could not be written to the cache.
  public static let cacheWriteFailed = Self(rawValue: "cache_write_failed")
  /// The chain ended without a result.
  public static let noResult = Self(rawValue: "no_result")
  /// Interceptors asked for more attempts than the chain allows.
  public static let tooManyAttempts = Self(rawValue: "too_many_attempts")
}

extension ChainError {
  /// Whether the network or the server failed, so that `network-first` may read the cache.
  ///
  /// True for transport failures and status codes from 500. False for 401, 403 and every other
  /// answer that the server intended.
  public var isNetworkFailure: Bool {
    guard layer == .transport else { return false }
    if let status = http?.status { return status >= 500 }
    return [
      .nameResolutionFailed, .connectionFailed, .connectionClosed, .tlsFailed,
      .proxyFailed, .timedOut, .truncatedResponse,
    ].contains(code)
  }

  /// Whether a retry may succeed: network failures except those of TLS and proxies, the status
  /// codes 429, 502, 503 and 504, and WebSocket connections that were rejected other than with 4401.
  public var isTransient: Bool {
    guard layer == .transport else { return false }
    if let status = http?.status { return [429, 502, 503, 504].contains(status) }
    if code == .connectionRejected { return closeCode != 4401 }
    return isNetworkFailure && code != .tlsFailed && code != .proxyFailed
  }
}

extension ChainError {
  /// Whether the server may have executed a mutation that failed with this error.
  ///
  /// False if it was not sent, and if the server refused it. A gateway's 502 and 504 say nothing about the server behind
  /// it.
  package var leavesOutcomeUnknown: Bool {
    if code == .tooManyAttempts, let cause = cause as? ChainError {
      return cause.leavesOutcomeUnknown
    }
    if delivery == .notSent { return false }
    if let http { return [502, 504].contains(http.status) }
    switch layer {
    case .request, .graphQL: return false
    case .transport:
      return ![.nameResolutionFailed, .connectionFailed, .tlsFailed, .invalidRequest].contains(code)
    case .cache: return code == .cacheWriteFailed
    case .chain: return delivery != nil || code == .noResult
    }
  }
}

extension ChainError: CustomStringConvertible {
  /// Entry, message and cause, on one line.
  public var description: String {
    let entry = entry.map { "\($0): " } ?? ""
    let cause = cause.map { " (\($0))" } ?? ""
    return Printable.line("\(entry)\(message)\(cause)")
  }
}

extension ChainError {
  /// The error, with locations in the document that the caller wrote.
  ///
  /// If the body was kept whole and is a GraphQL response, its locations are rewritten, and so is
  /// the line that the message quotes. Any other body stays as the server sent it. If a server of an older edition
  /// refuses an empty selection set, the message has the reason.
  func located(in request: GraphQLRequest) -> ChainError {
    guard let prefix = http?.bodyPrefix, let operation = request.operation,
      case .object(var body)? = try? JSONValue(parsing: prefix),
      let errors = body["errors"]?.arrayValue
    else { return self }
    let located = errors.map { error -> JSONValue in
      guard case .object(var object) = error else { return error }
      let locations = GraphQLError(error).located(in: operation, sentBy: request).locations
      if !locations.isEmpty { object["locations"] = GraphQLError.json(locations) }
      return .object(object)
    }
    let hint = errors.lazy.compactMap {
      GraphQLError($0).emptySelectionSetHint(in: operation, sentBy: request)
    }.first
    var error = self
    if located != errors {
      body["errors"] = .array(located)
      let text = JSONValue.object(body).jsonText()
      error.http?.bodyPrefix = Array(text.utf8)
      error.message = message.replacing(Self.quoted(of: prefix) ?? "", with: text.prefix(200))
    }
    if let hint { error.message += "; \(hint)" }
    return error
  }

  /// The part of a body that messages quote: its first line that is not empty.
  package static func quoted(of body: [UInt8]) -> Substring? {
    let text = String(decoding: body, as: UTF8.self)
    return text.split(whereSeparator: \.isNewline).first { !$0.allSatisfy(\.isWhitespace) }?
      .prefix(200)
  }
}

extension Error {
  /// Whether stages pass the error on as it is: a failure, a retry, or the end of the task.
  var isOfChain: Bool { self is ChainError || self is ChainRetry || self is CancellationError }
}

extension ChainError {
  /// Creates the error for a WebSocket connection that the server has closed.
  ///
  /// - Parameters:
  ///   - close: The code and the reason.
  ///   - origin: The server in messages.
  package init(_ close: SocketClose, by origin: String) {
    var message = "\(origin) closed the WebSocket connection with \(close)"
    var code = close.isFatal ? Code.webSocketClosed : .connectionClosed
    if close.rejectsCredentials {
      code = .connectionRejected
      message += "; are the credentials in the header fields or in `connection_params` right?"
    }
    self.init(.transport, code: code, message: message, delivery: .unknown)
    closeCode = close.code
  }
}
