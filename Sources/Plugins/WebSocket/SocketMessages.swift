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

  private static func violation(_ reason: String) -> SocketClose {
    SocketClose(SocketClose.OwnCode.protocolViolation, reason, isOwn: true)
  }

  private var tooLarge: SocketClose {
    SocketClose(
      SocketClose.OwnCode.tooLarge, "a message is larger than \(limit)", isOwn: true)
  }
}

/// Unread results of an operation, as chunks of a JSON text sequence.
struct SocketResults {
  /// The most bytes of a result that is copied, and of a chunk that such results are added to.
  private static let (copied, joined) = (4 << 10, 16 << 10)

  private struct Chunk {
    var bytes: ByteBuffer
    /// The number of results that end in it.
    var count: Int

    mutating func add(_ result: ByteBuffer) {
      bytes.writeImmutableBuffer(result)
      bytes.writeInteger(SequenceSplitter.separator)
      count += 1
    }
  }

  private var chunks: [Chunk] = []
  /// The index of the next chunk; those before it were read.
  private var read = 0
  /// The number of results.
  private(set) var count = 0
  /// The number of bytes, with separators.
  private(set) var readableBytes = 0

  var isEmpty: Bool { count == 0 }

  /// Adds a result and its separator. Returns their bytes.
  mutating func append(_ result: ByteBuffer) -> Int {
    let bytes = result.readableBytes + 1
    if result.readableBytes > Self.copied {
      chunks.append(Chunk(bytes: result, count: 0))
      chunks.append(Chunk(bytes: ByteBuffer(bytes: [SequenceSplitter.separator]), count: 1))
    } else {
      if isEmpty || chunks[chunks.count - 1].bytes.readableBytes + bytes > Self.joined {
        chunks.append(Chunk(bytes: ByteBuffer(), count: 0))
      }
      chunks[chunks.count - 1].add(result)
    }
    count += 1
    readableBytes += bytes
    return bytes
  }

  /// Removes the next chunk.
  mutating func popFirst() -> ByteBuffer? {
    guard read < chunks.count else { return nil }
    let chunk = chunks[read]
    chunks[read].bytes = ByteBuffer()
    read += 1
    if read == chunks.count || read > 32 {
      chunks.removeFirst(read)
      read = 0
    }
    count -= chunk.count
    readableBytes -= chunk.bytes.readableBytes
    return chunk.bytes
  }
}
