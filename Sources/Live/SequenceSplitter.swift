/// Splits a JSON text sequence into its texts: each follows or precedes a record separator.
///
/// Results over WebSocket are passed on in this form, with a separator behind each of them, so that a result is
/// complete before the next one arrives.
///
/// https://www.rfc-editor.org/rfc/rfc7464
package struct SequenceSplitter: StreamSplitter {
  /// The record separator, which no JSON text contains.
  package static let separator: UInt8 = 0x1E

  private var isInText = false

  package init() {}

  package mutating func next(
    _ bytes: UnsafeRawBufferPointer, from offset: inout Int
  ) throws(StreamError) -> StreamPiece? {
    while offset < bytes.count {
      guard bytes[offset] == Self.separator else {
        guard isInText else {
          // A line feed may follow a separator.
          if bytes[offset] == UInt8(ascii: "\n") {
            offset += 1
            continue
          }
          isInText = true
          return .begin
        }
        let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
        let start = offset
        offset += rest.firstIndex(of: Self.separator) ?? rest.count
        return .bytes(start..<offset)
      }
      offset += 1
      guard isInText else { continue }
      isInText = false
      return .end
    }
    return nil
  }

  package mutating func finish() throws(StreamError) {
    guard isInText else { return }
    throw StreamError(.truncated, "the sequence of results ended inside a result")
  }
}
