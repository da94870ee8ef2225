/// Limits what a server sends without content: comments and other ignored fields of an event stream, what is between the
/// parts of a multipart response, empty and control frames, messages of unknown operations.
///
/// Servers send such signs of life every few seconds. One that sends nothing else, as fast as it can, would keep a
/// processor busy for ever.
package struct EmptyTraffic: Sendable {
  /// The most bytes without content within ``window``.
  package static let maxBytes = 1 << 20
  /// The most pieces without content within ``window``: chunks, frames or messages.
  package static let maxPieces = 10_000
  /// The time after which the counts begin again.
  package static let window = Duration.seconds(10)

  private var begin: Duration?
  private var bytes = 0
  private var pieces = 0

  package init() {}

  /// Adds a piece without content.
  ///
  /// - Parameters:
  ///   - count: The size of the piece in bytes.
  ///   - now: The time, on any clock.
  /// - Throws: ``StreamError`` if a limit is exceeded.
  package mutating func add(_ count: Int, at now: Duration) throws(StreamError) {
    if begin.map({ now - $0 >= Self.window }) ?? true {
      begin = now
      (bytes, pieces) = (0, 0)
    }
    bytes += count
    pieces += 1
    guard bytes <= Self.maxBytes, pieces <= Self.maxPieces else {
      throw StreamError(
        .malformed,
        "it has no content: more than \(bytes > Self.maxBytes ? "\(Self.maxBytes) bytes" : "\(Self.maxPieces) pieces") "
          + "without an event within \(Self.window.components.seconds) seconds, where signs of life were expected every few "
          + "seconds")
    }
  }

  /// Begins to count again, because content has arrived.
  package mutating func reset() { begin = nil }
}
