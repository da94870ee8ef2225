import GQLRunJSON

/// The bytes of a response that are not yet sent.
///
/// Places are counted from the start of the whole response, so that they stay true when a part of it
/// has been sent.
struct ResponseBuffer: Sendable {
  private var bytes: [UInt8] = []
  private var sent = 0

  /// How many bytes wait to be sent.
  var count: Int { bytes.count }
  /// The place where the next byte goes.
  var end: Int { sent + bytes.count }

  /// The bytes that wait, which are then sent.
  mutating func take() -> [UInt8] {
    let taken = bytes
    sent += taken.count
    bytes = []
    bytes.reserveCapacity(taken.count)
    return taken
  }

  /// Forgets what comes after a place that was not yet sent.
  mutating func cut(to place: Int) {
    bytes.removeLast(end - place)
  }

  mutating func append(_ byte: UInt8) { bytes.append(byte) }
  mutating func append(_ text: [UInt8]) { bytes.append(contentsOf: text) }
  /// Appends JSON text as it is.
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
