/// Writes JSON text into a byte buffer, value by value.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.key("id")
/// writer.writeString("1")
/// writer.endObject()        // {"id":"1"}
/// ```
/// The writer adds commas and colons. The caller must write a key before each member's value and
/// end every container it begins. The output is UTF-8 and escapes only what RFC 8259 requires.
public struct JSONWriter: Sendable {
  /// The white space of the output.
  public enum Layout: Hashable, Sendable {
    /// No white space.
    case compact
    /// One member or element per line, two spaces per level, like `jq`.
    case pretty
  }

  /// The output since the last ``takeBytes()``.
  public private(set) var bytes: [UInt8] = []
  /// The white space of the output.
  public let layout: Layout
  /// The number of open objects and arrays.
  public private(set) var depth = 0
  private var needsComma = false
  private var afterKey = false

  /// Creates a writer with empty output.
  public init(layout: Layout = .compact) {
    self.layout = layout
  }

  /// The output as a string.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Returns the output since the last call and clears it, so that large text can be written in
  /// chunks.
  public mutating func takeBytes() -> [UInt8] {
    let taken = bytes
    bytes = []
    return taken
  }

  /// Reserves capacity for this many bytes of output.
  public mutating func reserveCapacity(_ count: Int) {
    bytes.reserveCapacity(count)
  }

  /// Writes `null`.
  public mutating func writeNull() {
    beforeValue()
    bytes.append(contentsOf: "null".utf8)
  }

  /// Writes `true` or `false`.
  public mutating func writeBool(_ value: Bool) {
    beforeValue()
    bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
  }

  /// Writes a number as its text.
  public mutating func writeNumber(_ number: JSONNumber) {
    writeRaw(number.text)
  }

  /// Writes an integer.
  public mutating func writeNumber(_ value: some BinaryInteger) {
    writeRaw(String(value))
  }

  /// Writes an integer.
  public mutating func writeNumber(_ value: Int) {
    beforeValue()
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    // Writes the digits from last to first, then reverses them.
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

  /// Writes a number from the bytes of its text. Precondition: the text is a JSON number.
  public mutating func writeNumber(text: UnsafeRawBufferPointer) {
    beforeValue()
    bytes.append(contentsOf: text)
  }

  /// Writes a string, escaped and in quotes.
  public mutating func writeString(_ text: some StringProtocol) {
    beforeValue()
    appendQuoted(text)
  }

  /// Writes a string from its UTF-8 bytes, escaped and in quotes.
  public mutating func writeString(utf8: UnsafeRawBufferPointer) {
    beforeValue()
    appendQuoted(utf8)
  }

  /// Writes a value that is already JSON text, unchanged.
  public mutating func writeRaw(_ json: some StringProtocol) {
    beforeValue()
    bytes.append(contentsOf: json.utf8)
  }

  /// Writes a value that is already JSON text, unchanged.
  public mutating func writeRaw(_ json: UnsafeRawBufferPointer) {
    beforeValue()
    bytes.append(contentsOf: json)
  }

  /// Writes `{`.
  public mutating func beginObject() { begin(UInt8(ascii: "{")) }
  /// Writes `}`.
  public mutating func endObject() { end(UInt8(ascii: "}")) }
  /// Writes `[`.
  public mutating func beginArray() { begin(UInt8(ascii: "[")) }
  /// Writes `]`.
  public mutating func endArray() { end(UInt8(ascii: "]")) }

  /// Writes the key of the next value.
  public mutating func key(_ text: some StringProtocol) {
    beforeValue()
    appendQuoted(text)
    afterKeyText()
  }

  /// Writes the key of the next value from its UTF-8 bytes.
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
