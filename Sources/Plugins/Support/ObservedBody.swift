import GQLRunPipeline

extension HTTPResponseMessage {
  /// The same response, whose body is watched as its reader takes it.
  ///
  /// - Parameters:
  ///   - limit: How many bytes are kept for the watcher.
  ///   - onEnd: Called once: when the body has ended, or when its reader has given up.
  func observed(
    keeping limit: Int, onEnd: @escaping @Sendable (ObservedBytes) throws -> Void
  ) -> HTTPResponseMessage {
    let (body, observer) = (body, BodyObserver(limit: limit, onEnd: onEnd))
    var response = self
    response.body = HTTPBody {
      var iterator = body.makeAsyncIterator()
      guard let chunk = try await iterator.next() else {
        try observer.end(isWhole: true)
        return nil
      }
      observer.add(chunk)
      return chunk
    }
    return response
  }
}

/// What was seen of a body.
struct ObservedBytes: Sendable {
  /// The first bytes.
  var bytes: [UInt8] = []
  /// How many there were.
  var count = 0
  /// Whether the body was read to its end.
  var isWhole = false

  /// Whether all bytes there were are kept.
  var isComplete: Bool { isWhole && bytes.count == count }
}

/// Keeps the beginning of a body, and tells about it when the body is read or let go of.
///
/// Sendable: a body is read by one task at a time, and let go of by the last that holds it.
private final class BodyObserver: @unchecked Sendable {
  private let limit: Int
  private let onEnd: @Sendable (ObservedBytes) throws -> Void
  private var seen = ObservedBytes()
  private var hasEnded = false

  init(limit: Int, onEnd: @escaping @Sendable (ObservedBytes) throws -> Void) {
    self.limit = limit
    self.onEnd = onEnd
  }

  deinit {
    if !hasEnded { try? onEnd(seen) }
  }

  func add(_ chunk: any BodyChunk) {
    seen.count += chunk.count
    let room = limit - seen.bytes.count
    if room > 0 { chunk.withUnsafeBytes { seen.bytes += $0.prefix(room) } }
  }

  func end(isWhole: Bool) throws {
    hasEnded = true
    seen.isWhole = isWhole
    try onEnd(seen)
  }
}
