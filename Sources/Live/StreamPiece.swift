/// A piece of a stream of payloads, found in one chunk of its bytes.
package enum StreamPiece: Sendable, Hashable {
  /// A payload begins.
  case begin
  /// The next bytes of the payload, as positions in the chunk.
  case bytes(Range<Int>)
  /// The next bytes of the payload, which are in an earlier chunk or in none.
  case held([UInt8])
  /// The payload ends.
  case end
  /// The server has completed the operation.
  case complete
}

/// The error of a stream that does not follow its protocol.
package struct StreamError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a failure.
  package enum Code: String, Sendable, Hashable {
    /// The stream does not follow its protocol.
    case malformed
    /// The stream ended before its operation was complete.
    case truncated
    /// A part of the stream exceeds a limit.
    case tooLarge
  }

  package var code: Code
  /// What was found, and what was expected.
  package var message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}

/// Splits the bytes of a response into the payloads of its events, without copying them.
///
/// ```swift
/// var offset = 0
/// while let piece = try splitter.next(chunk, from: &offset) { … }
/// ```
package protocol StreamSplitter: Sendable {
  /// The next piece in a chunk, or `nil` if the chunk is used up.
  ///
  /// - Parameters:
  ///   - bytes: The chunk; the same one until `nil` is returned.
  ///   - offset: The position in the chunk; 0 for a new chunk.
  mutating func next(
    _ bytes: UnsafeRawBufferPointer, from offset: inout Int
  ) throws(StreamError) -> StreamPiece?

  /// Checks that the stream may end here.
  mutating func finish() throws(StreamError)
}
