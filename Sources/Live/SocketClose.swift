/// The end of a WebSocket connection: its close code and reason.
///
/// - https://www.rfc-editor.org/rfc/rfc6455#section-7.4
/// - https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
package struct SocketClose: Error, Sendable, Hashable, CustomStringConvertible {
  /// The close code.
  package var code: Int
  /// The reason as it was sent: at most ``mostReasonBytes`` bytes.
  package var reason: String
  /// Whether this client closed the connection.
  package var isOwn: Bool

  /// The longest reason that a close frame can contain, in bytes.
  ///
  /// https://www.rfc-editor.org/rfc/rfc6455#section-5.5
  package static let mostReasonBytes = 123

  /// - Parameters:
  ///   - code: The close code.
  ///   - reason: The reason; what does not fit into a close frame is cut off.
  ///   - isOwn: Whether this client closes the connection.
  package init(_ code: Int, _ reason: String, isOwn: Bool = false) {
    self.code = code
    self.isOwn = isOwn
    var length = 0
    let fitting = reason.unicodeScalars.prefix { scalar in
      length += UTF8.width(scalar)
      return length <= Self.mostReasonBytes
    }
    self.reason = String(String.UnicodeScalarView(fitting))
  }

  /// Closes that this client sends or assumes.
  package enum OwnCode {
    package static let normal = 1000
    package static let protocolViolation = 1002
    package static let lost = 1006
    package static let invalidText = 1007
    package static let tooLarge = 1009
    package static let badResponse = 4004
    package static let subprotocol = 4406
    package static let noPong = 4499
    package static let noAcknowledgement = 4504
  }

  private static let fatal: Set<Int> = [4500, 4005, 4400, 4004, 4401, 4406, 4409, 4429]
  private static let passing: Set<Int> = [1000, 1001, 1005, 1006, 1012, 1013, 1014]

  /// Whether a new connection would end in the same way, by the reference client's table.
  ///
  /// https://github.com/enisdenjo/graphql-ws/blob/master/src/client.ts
  package var isFatal: Bool {
    Self.fatal.contains(code) || (1000...1999).contains(code) && !Self.passing.contains(code)
  }

  /// Whether the server rejected the credentials of the connection.
  package var rejectsCredentials: Bool { !isOwn && (code == 4401 || code == 4403) }

  /// The code with its reason.
  package var description: String { reason.isEmpty ? "\(code)" : "\(code) \(reason)" }
}
