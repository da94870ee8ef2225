import GQLRunLive
import GQLRunPipeline
import NIOCore
import NIOWebSocket

/// Joins the frames of a server to messages.
///
/// https://www.rfc-editor.org/rfc/rfc6455#section-5
struct SocketMessages {
  enum Message {
    case text(ByteBuffer)
    case binary
    case ping(ByteBuffer)
    case pong
  }

  private let limit: ByteSize
  private var opcode: WebSocketOpcode?
  private var fragments = ByteBuffer()

  /// - Parameter limit: The size of the largest message.
  init(limit: ByteSize) { self.limit = limit }

  /// The message that a frame completes, or `nil`.
  mutating func receive(_ frame: WebSocketFrame) throws(SocketClose) -> Message? {
    guard frame.maskKey == nil else { throw Self.violation("a frame of the server is masked") }
    guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
      throw Self.violation("a frame uses an extension that was not agreed on")
    }
    switch frame.opcode {
    case .ping: return .ping(frame.data)
    case .pong: return .pong
    case .text, .binary:
      guard opcode == nil else { throw Self.violation("a message begins within another one") }
      if frame.fin { return Self.message(frame.opcode, frame.data) }
      opcode = frame.opcode
      fragments = frame.data
      return nil
    case .continuation:
      guard let opcode else { throw Self.violation("a continuation has no beginning") }
      guard fragments.readableBytes + frame.data.readableBytes <= limit.bytes else {
        throw tooLarge
      }
      fragments.writeImmutableBuffer(frame.data)
      guard frame.fin else { return nil }
      defer { fragments = ByteBuffer() }
      self.opcode = nil
      return Self.message(opcode, fragments)
    default: throw Self.violation("a frame has an unknown opcode")
    }
  }

  /// The close for an error of the decoder.
  func close(for error: NIOWebSocketError) -> SocketClose {
    switch error {
    case .invalidFrameLength: tooLarge
    case .fragmentedControlFrame: Self.violation("a control frame is fragmented")
    case .multiByteControlFrameLength: Self.violation("a control frame is too long")
    }
  }

  private static func message(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> Message {
    opcode == .text ? .text(data) : .binary
  }

  /// The close for a server that does not follow the protocol.
  static func violation(_ reason: String) -> SocketClose {
    SocketClose(SocketClose.OwnCode.protocolViolation, reason, isOwn: true)
  }

  private var tooLarge: SocketClose {
    SocketClose(
      SocketClose.OwnCode.tooLarge, "a message is larger than \(limit)", isOwn: true)
  }
}
