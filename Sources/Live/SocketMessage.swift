/// A message of a server over WebSocket, as positions in its text: the payload is not copied.
struct SocketMessage: Equatable {
  /// The type; empty if the message has none.
  private(set) var type = ""
  /// The id of the operation; `nil` if the message has none, or one that no operation of this client has.
  private(set) var id: Int?
  private(set) var hasID = false
  /// The position of the payload; `nil` for a message without one, and for `null`.
  private(set) var payload: Range<Int>?
  /// The first byte of the payload.
  private(set) var kind: UInt8 = 0

  /// The members of a message may have any order.
  init(_ text: UnsafeRawBufferPointer) throws(StreamError) {
    if let plain = Self(plain: text) {
      self = plain
    } else {
      try self.init(anyForm: text)
    }
  }

  /// Reads any message.
  init(anyForm text: UnsafeRawBufferPointer) throws(StreamError) {
    var envelope = EnvelopeSplitter(member: "payload")
    var offset = 0
    while let piece = try envelope.next(text, from: &offset) {
      switch piece {
      case .bytes(let range):
        payload = range
        kind = text[range.lowerBound]
      case .begin, .held, .end, .complete: break
      }
    }
    try envelope.finish()
    for (key, value) in envelope.others {
      value.withUnsafeBytes { value in
        if let content = Self.string(value) { note(key, content) }
      }
    }
  }

  /// Reads a message in the form in which servers send them, in a fraction of the time; `nil` for any other message.
  ///
  /// Its members are short strings without escapes, and a payload that is an object or a list.
  init?(plain text: UnsafeRawBufferPointer) {
    var scan = PlainScan(text)
    guard scan.take("{") else { return nil }
    repeat {
      guard let key = scan.string(), scan.take(":") else { return nil }
      if key.elementsEqual("payload".utf8) {
        guard payload == nil, let found = scan.container() else { return nil }
        payload = found
        kind = text[found.lowerBound]
      } else {
        guard let value = scan.string(), !hasNoted(key) else { return nil }
        note(key, value)
      }
    } while scan.take(",")
    guard scan.take("}"), scan.isAtEnd else { return nil }
  }

  var hasObject: Bool { kind == UInt8(ascii: "{") }
  var hasList: Bool { kind == UInt8(ascii: "[") }

  /// Whether the member occurred before.
  @inline(__always)
  private func hasNoted(_ key: UnsafeRawBufferPointer) -> Bool {
    key.elementsEqual("id".utf8) && hasID || !type.isEmpty && key.elementsEqual("type".utf8)
  }

  /// Takes over a member whose value is a string.
  @inline(__always)
  private mutating func note(_ key: some Sequence<UInt8>, _ value: UnsafeRawBufferPointer) {
    if key.elementsEqual("type".utf8) {
      type = String(decoding: value, as: UTF8.self)
    } else if key.elementsEqual("id".utf8) {
      hasID = true
      // Operations of this client have numbers.
      id = Int(String(decoding: value, as: UTF8.self))
    }
  }

  /// The characters of a JSON string without escapes.
  private static func string(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard value.count >= 2, value.first == UInt8(ascii: "\"") else { return nil }
    return UnsafeRawBufferPointer(rebasing: value.dropFirst().dropLast())
  }
}

/// Reads the parts of a message one after the other. White space may precede each.
private struct PlainScan {
  /// The most bytes of a string.
  private static let maxBytes = 64

  private let text: UnsafeRawBufferPointer
  private var position = 0

  init(_ text: UnsafeRawBufferPointer) { self.text = text }

  var isAtEnd: Bool {
    mutating get {
      skipSpace()
      return position == text.count
    }
  }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  /// The characters of a short string without escapes.
  mutating func string() -> UnsafeRawBufferPointer? {
    guard take("\"") else { return nil }
    let start = position
    while position < text.count, position - start <= Self.maxBytes {
      let byte = text[position]
      if byte == UInt8(ascii: "\\") { return nil }
      position += 1
      if byte == UInt8(ascii: "\"") {
        return UnsafeRawBufferPointer(rebasing: text[start..<position - 1])
      }
    }
    return nil
  }

  /// The position of an object or list. Only brackets and strings are read.
  mutating func container() -> Range<Int>? {
    skipSpace()
    let start = position
    var depth = 0
    var end = position
    var isInString = false
    while end < text.count {
      let byte = text[end]
      end += 1
      if isInString {
        if byte == UInt8(ascii: "\\") { end += 1 }
        if byte == UInt8(ascii: "\"") { isInString = false }
        continue
      }
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth == 0 {
          position = end
          return start..<end
        }
      case UInt8(ascii: "\""): isInString = true
      default: break
      }
      if depth == 0 { return nil }
    }
    return nil
  }

  private mutating func skipSpace() {
    while position < text.count {
      switch text[position] {
      case 0x20, 0x0A, 0x0D, 0x09: position += 1
      default: return
      }
    }
  }
}
