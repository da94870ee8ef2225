import GQLRunLive
import NIOCore

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
