/// Writes JSON text into a byte buffer, value by value.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.key("id")
/// writer.writeString("1")
/// writer.endObject()        // {"id":"1"}
/// ```
/// Commas and colons are the writer's work; the order of calls is the caller's: a key before each member's value, every
/// begin with its end. Text is written as UTF-8, and only what must be escaped is.
public struct JSONWriter: Sendable {
  /// How the text is laid out.
  public enum Layout: Hashable, Sendable {
    /// No white space at all.
    case compact
    /// One member or element a line, two spaces a level, like `jq`.
    case pretty
  }

  /// What was written so far, or since it was last taken.
  public private(set) var bytes: [UInt8] = []
  public let layout: Layout
  /// How many objects and arrays are open.
  public private(set) var depth = 0
  private var needsComma = false
  private var afterKey = false

  public init(layout: Layout = .compact) {
    self.layout = layout
  }

  /// The text so far as a string.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Hands over what was written since the last time, so that a large text can be passed on in pieces.
  public mutating func takeBytes() -> [UInt8] {
    let taken = bytes
    bytes = []
    return taken
  }

  public mutating func reserveCapacity(_ count: Int) {
    bytes.reserveCapacity(count)
  }

  public mutating func writeNull() {
    beforeValue()
    bytes.append(contentsOf: "null".utf8)
  }

  public mutating func writeBool(_ value: Bool) {
    beforeValue()
    bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
  }

  public mutating func writeNumber(_ number: JSONNumber) {
    writeRaw(number.text)
  }

  public mutating func writeNumber(_ value: some BinaryInteger) {
    writeRaw(String(value))
  }

  public mutating func writeNumber(_ value: Int) {
    beforeValue()
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    // Its digits from the last to the first, and then the other way round.
    var (low, rest) = (bytes.count, value.magnitude)
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    var high = bytes.count - 1
    while low < high {
      bytes.swapAt(low, high)
      low += 1
      high -= 1
    }
  }

  /// Writes a number from the bytes of its text, which must be a JSON number.
  public mutating func writeNumber(text: UnsafeRawBufferPointer) {
    beforeValue()
    bytes.append(contentsOf: text)
  }

  public mutating func writeString(_ text: some StringProtocol) {
    beforeValue()
    appendQuoted(text)
  }

  /// Writes a string from its UTF-8 bytes.
  public mutating func writeString(utf8: UnsafeRawBufferPointer) {
    beforeValue()
    appendQuoted(utf8)
  }

  /// Writes a value that is JSON text already, as it is.
  public mutating func writeRaw(_ json: some StringProtocol) {
    beforeValue()
    bytes.append(contentsOf: json.utf8)
  }

  /// Writes a value that is JSON text already, as it is.
  public mutating func writeRaw(_ json: UnsafeRawBufferPointer) {
    beforeValue()
    bytes.append(contentsOf: json)
  }

  public mutating func beginObject() { begin(UInt8(ascii: "{")) }
  public mutating func endObject() { end(UInt8(ascii: "}")) }
  public mutating func beginArray() { begin(UInt8(ascii: "[")) }
  public mutating func endArray() { end(UInt8(ascii: "]")) }

  /// Writes the key of the member whose value is written next.
  public mutating func key(_ text: some StringProtocol) {
    beforeValue()
    appendQuoted(text)
    afterKeyText()
  }

  /// Writes the key of the member whose value is written next, from its UTF-8 bytes.
  public mutating func key(utf8: UnsafeRawBufferPointer) {
    beforeValue()
    appendQuoted(utf8)
    afterKeyText()
  }

  private mutating func begin(_ bracket: UInt8) {
    beforeValue()
    bytes.append(bracket)
    depth += 1
    needsComma = false
  }

  private mutating func end(_ bracket: UInt8) {
    assert(depth > 0 && !afterKey, "an end without a begin, or a key without a value")
    depth -= 1
    if needsComma && layout == .pretty { appendLine() }
    bytes.append(bracket)
    needsComma = true
  }

  private mutating func beforeValue() {
    if afterKey {
      afterKey = false
    } else {
      if needsComma { bytes.append(UInt8(ascii: ",")) }
      if layout == .pretty && depth > 0 { appendLine() }
    }
    needsComma = true
  }

  private mutating func afterKeyText() {
    bytes.append(UInt8(ascii: ":"))
    if layout == .pretty { bytes.append(UInt8(ascii: " ")) }
    afterKey = true
  }

  private mutating func appendQuoted(_ text: some StringProtocol) {
    bytes.append(UInt8(ascii: "\""))
    let done: Void? = text.utf8.withContiguousStorageIfAvailable { utf8 in
      Self.appendEscaped(UnsafeRawBufferPointer(utf8), to: &bytes)
    }
    if done == nil {
      Array(text.utf8).withUnsafeBytes { Self.appendEscaped($0, to: &bytes) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendQuoted(_ utf8: UnsafeRawBufferPointer) {
    bytes.append(UInt8(ascii: "\""))
    Self.appendEscaped(utf8, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendLine() {
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
  }
}
