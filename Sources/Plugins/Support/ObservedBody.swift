import GQLRunLive
import GQLRunPipeline
import HTTPTypes

extension HTTPResponseMessage {
  /// The same response, with its body observed as it is read.
  ///
  /// - Parameters:
  ///   - limit: The number of bytes that are kept for the observer.
  ///   - onEnd: Called once: at the end of the body, or when its reader stops.
  func observed(
    keeping limit: Int, onEnd: @escaping @Sendable (ObservedBytes) throws -> Void
  ) -> HTTPResponseMessage {
    let (body, end, observer) = (body, chunkEnd, BodyObserver(limit: limit, onEnd: onEnd))
    var response = self
    response.body = HTTPBody {
      guard let chunk = try await body.next() else {
        try observer.end()
        return nil
      }
      observer.add(chunk)
      if !end.isEmpty { observer.add(end) }
      return chunk
    }
    return response
  }
}

/// The observed part of a body; results are a JSON text sequence in it.
struct ObservedBytes: Sendable {
  /// The first bytes.
  var bytes: [UInt8] = []
  /// The number of bytes read.
  var count = 0
  /// Whether the body was read to its end.
  var isWhole = false

  /// Adds bytes that were read, of which the first `limit` of the body are kept.
  mutating func add(_ chunk: any BodyChunk, keeping limit: Int) {
    count += chunk.count
    let room = limit - bytes.count
    if room > 0 { chunk.withUnsafeBytes { bytes += $0.prefix(room) } }
  }

  /// Whether no byte that was read is missing.
  var isKept: Bool { bytes.count == count }

  /// Whether `bytes` is the whole body.
  var isComplete: Bool { isWhole && isKept }

  /// Whether the bytes contain the end of an event stream or multipart body. Its reader does not wait for that
  /// of the connection.
  func hasOwnEnd(_ head: HTTPResponse) -> Bool {
    guard isKept, var splitter = EventFraming.splitter(of: head) else { return false }
    return bytes.withUnsafeBytes { bytes in
      var offset = 0
      while let piece = try? splitter.next(bytes, from: &offset) {
        if case .complete = piece { return true }
      }
      return false
    }
  }
}

/// Keeps the beginning of a body, and reports it when the body has been read or is released.
///
/// Sendable: one task at a time reads a body, and its last owner releases it.
private final class BodyObserver: @unchecked Sendable {
  private let limit: Int
  private let onEnd: @Sendable (ObservedBytes) throws -> Void
  private var seen = ObservedBytes()

  init(limit: Int, onEnd: @escaping @Sendable (ObservedBytes) throws -> Void) {
    self.limit = limit
    self.onEnd = onEnd
  }

  deinit {
    if !seen.isWhole { try? onEnd(seen) }
  }

  func add(_ chunk: any BodyChunk) { seen.add(chunk, keeping: limit) }

  func end() throws {
    seen.isWhole = true
    try onEnd(seen)
  }
}
