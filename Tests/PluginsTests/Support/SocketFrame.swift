import Foundation
import GQLRunCrypto

/// Frames of a WebSocket server, right or wrong, and the handshake.
///
/// https://www.rfc-editor.org/rfc/rfc6455#section-5.2
enum SocketFrame {
  /// A frame. `length` overrides the length in the header, for frames that are wrong.
  static func bytes(
    _ payload: [UInt8], opcode: UInt8 = 1, isFinal: Bool = true, isMasked: Bool = false,
    length: Int? = nil
  ) -> [UInt8] {
    let length = length ?? payload.count
    var frame = [(isFinal ? 0x80 : 0) | opcode]
    let mask: UInt8 = isMasked ? 0x80 : 0
    switch length {
    case ..<126: frame.append(mask | UInt8(length))
    case ..<65_536: frame += [mask | 126, UInt8(length >> 8), UInt8(length & 255)]
    default:
      frame.append(mask | 127)
      for shift in stride(from: 56, through: 0, by: -8) {
        frame.append(UInt8(truncatingIfNeeded: length >> shift))
      }
    }
    if isMasked { frame += [0, 0, 0, 0] }
    return frame + payload
  }

  static func text(_ text: String) -> [UInt8] { bytes(Array(text.utf8)) }

  static func close(_ code: Int, _ reason: String = "") -> [UInt8] {
    bytes([UInt8(code >> 8), UInt8(code & 255)] + Array(reason.utf8), opcode: 8)
  }

  /// The answer to a handshake.
  static func accept(_ request: String, subprotocol: String?) -> [UInt8] {
    let key =
      request.split(separator: "\r\n")
      .first { $0.lowercased().hasPrefix("sec-websocket-key:") }?
      .drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces) ?? ""
    let digest = HashFunction.sha1.hash(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
    var lines = [
      "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
      "Sec-WebSocket-Accept: \(Data(digest).base64EncodedString())",
    ]
    if let subprotocol { lines.append("Sec-WebSocket-Protocol: \(subprotocol)") }
    return Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
  }
}

extension RawServer.Step {
  /// Sends a text message.
  static func message(_ text: String) -> Self { .send(SocketFrame.text(text)) }

  /// Closes with a code and waits for the client's answer.
  static func close(_ code: Int, _ reason: String = "") -> Self {
    .send(SocketFrame.close(code, reason))
  }

  /// What a server does first with the current protocol.
  static let greeting: [Self] = [
    .handshake("graphql-transport-ws"), .frame, .message(#"{"type":"connection_ack"}"#), .frame,
  ]

  /// A script that begins with the greeting, and ends when the client closes.
  static func greeted(_ steps: Self...) -> [Self] { greeting + steps + [.closing] }
}
