package import GQLRunLive

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
    self.init(.transport, code, message, delivery: .unknown)
    closeCode = close.code
  }
}
