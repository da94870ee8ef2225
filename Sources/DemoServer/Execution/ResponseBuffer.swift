import GQLRunJSON

/// The bytes of a response that are not sent yet.
///
/// Offsets count from the start of the response, so that they stay valid after bytes are sent.
struct ResponseBuffer: Sendable {
  private var bytes: [UInt8] = []
  private var sent = 0

  /// The number of bytes not sent yet.
  var count: Int { bytes.count }
  /// The offset of the next byte to be appended.
  var end: Int { sent + bytes.count }

  /// Removes and returns all bytes.
  mutating func take() -> [UInt8] {
    let taken = bytes
    sent += taken.count
    bytes = []
    bytes.reserveCapacity(taken.count)
    return taken
  }

  /// Removes the bytes from an offset to the end.
  mutating func cut(to position: Int) {
    bytes.removeLast(end - position)
  }

  mutating func append(_ byte: UInt8) { bytes.append(byte) }
  mutating func append(_ text: [UInt8]) { bytes.append(contentsOf: text) }
  /// Appends JSON text unchanged.
  mutating func append(raw text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  mutating func append(int value: Int) { bytes.append(contentsOf: String(value).utf8) }

  mutating func append(float value: Double) {
    bytes.append(contentsOf: (JSONNumber(value)?.text ?? "null").utf8)
  }

  mutating func append(string text: String) {
    var text = text
    bytes.append(UInt8(ascii: "\""))
    text.withUTF8 { JSONWriter.appendEscaped(UnsafeRawBufferPointer($0), to: &bytes) }
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func append(text: FeedText) {
    bytes.append(UInt8(ascii: "\""))
    text.appendEscaped(to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }
}
