import GQLRunJSON
import GQLRunLive
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Maps the ends of WebSocket connections.
extension TransportFailures {
  /// The end of a connection, for people.
  func reason(_ end: SocketLife.End) -> String {
    switch end {
    case .closed(let close) where close.isOwn && close.code == SocketClose.OwnCode.normal: "closed"
    case .closed(let close) where close.isOwn: "closed with \(close.code): \(own(close))"
    case .closed(let close): "the server closed it with \(close)"
    case .lost(let error): "lost: " + (error.map(Self.reason(anyOf:)) ?? "it was closed")
    case .rejected(let payload): "the server rejected it\(message(in: payload))"
    case .notOpened(let error): "not opened: \(error)"
    case .shutDown: "closed"
    }
  }

  /// The error of an operation whose connection has ended.
  func error(_ end: SocketLife.End, isBegun: Bool, isSubscription: Bool) -> any Error {
    if case .notOpened(let error) = end { return error }
    var failure = failure(end)
    failure.delivery = isBegun ? .unknown : .notSent
    guard isBegun, !isSubscription, failure.isTransient else { return failure }
    // A lost HTTP request may be repeated by its client; the servers of this protocol do not expect it.
    failure.code = .webSocketClosed
    failure.message += "; it is not sent again, because the server may have executed it"
    return failure
  }

  private func failure(_ end: SocketLife.End) -> ChainError {
    switch end {
    case .notOpened, .shutDown: return shutDown()
    case .lost(let error):
      if let error, let failure = secure(error) { return failure }
      return failure(
        .connectionClosed,
        "the WebSocket connection to \(origin) was lost: "
          + (error.map(Self.reason(anyOf:)) ?? "it was closed"), .unknown)
    case .rejected(let payload):
      return failure(
        .connectionRejected,
        "\(origin) rejected the connection\(message(in: payload)); are the credentials in the "
          + "header fields or in `connection_params` right?", .notSent)
    case .closed(let close) where close.isOwn && close.code == SocketClose.OwnCode.normal:
      return shutDown()
    case .closed(let close) where !close.isOwn: return ChainError(close, by: origin)
    case .closed(let close):
      var error = ownFailure(close)
      error.closeCode = close.code
      return error
    }
  }

  private func ownFailure(_ close: SocketClose) -> ChainError {
    let code: ChainError.Code =
      switch close.code {
      case SocketClose.OwnCode.noAcknowledgement, SocketClose.OwnCode.noPong: .timedOut
      case SocketClose.OwnCode.tooLarge: .limitExceeded
      default: .malformedResponse
      }
    return failure(code, own(close), .unknown)
  }

  private func own(_ close: SocketClose) -> String {
    switch close.code {
    case SocketClose.OwnCode.noAcknowledgement:
      "\(origin) did not acknowledge the WebSocket connection (connection_ack) within 10s"
    case SocketClose.OwnCode.noPong:
      "\(origin) did not answer a ping on the WebSocket connection within 10s"
    case SocketClose.OwnCode.tooLarge:
      "\(origin) sent too much: \(close.reason); raise the option max_message of fetch if it may be"
    case SocketClose.OwnCode.subprotocol:
      "\(origin) chose a WebSocket subprotocol that was not offered; "
        + "\(offered) was offered: is it a GraphQL endpoint?"
    default: "\(origin) violated the WebSocket protocol: \(close.reason)"
    }
  }

  private var offered: String {
    (request.webSocket?.subprotocols ?? []).joined(separator: " or ")
  }

  /// The member `message` of the payload of `connection_error`.
  private func message(in payload: String?) -> String {
    guard
      let text = payload.flatMap({ (try? JSONValue(parsing: Array($0.utf8)))?["message"] })?
        .stringValue
    else { return "" }
    let shown = SecretHiding(request.secrets).text(text).prefix(200)
    // A question follows.
    return ": \(shown.hasSuffix(".") ? shown.dropLast() : shown)"
  }
}

// MARK: The handshake

extension TransportFailures {
  func handshakeTimedOut() -> ChainError {
    failure(
      .timedOut,
      "\(origin) did not answer the WebSocket handshake within \(limits.connect.optionText)",
      .notSent)
  }

  /// The error for an upgrade that failed.
  func notUpgraded(_ error: any Error) -> any Error {
    guard let error = error as? NIOHTTPClientUpgradeError else { return beforeHead(error) }
    let reason =
      switch error {
      case .upgraderDeniedUpgrade: "without the right field Sec-WebSocket-Accept"
      case .responseProtocolNotFound: "without the field Upgrade: websocket"
      default: "with an answer that violates HTTP (\(ErrorWords.text(error)))"
      }
    return failure(
      .webSocketRefused, "\(origin) accepted the WebSocket handshake \(reason)", .notSent)
  }

  /// The error for an answer that opens no connection.
  func refusal(by head: HTTPResponseHead, body: ByteBuffer) -> ChainError {
    refusal(
      by: HTTPTypes.HTTPResponse(head), body: String(buffer: body), .webSocketRefused,
      of: "the WebSocket handshake", expected: "101 Switching Protocols")
  }

  /// The error for an answer that opens no connection.
  func refusal(
    by response: HTTPTypes.HTTPResponse, body: String, _ code: ChainError.Code, of step: String,
    expected: String
  ) -> ChainError {
    let shown = SecretHiding(request.secrets).text(body)
    let prefix = Array(shown.utf8.prefix(ResponseCheck.keptBytes))
    let line = String(decoding: prefix, as: UTF8.self).split(whereSeparator: \.isNewline)
      .first { !$0.allSatisfy(\.isWhitespace) }
    var error = failure(
      code,
      "\(origin) answered \(step) with \(ResponseCheck.describe(response)), where \(expected) was "
        + "expected" + (line.map { ": \($0.prefix(200))" } ?? ""),
      .notSent)
    error.http = .init(
      status: response.status.code, headers: response.headerFields, bodyPrefix: prefix)
    return error
  }
}
