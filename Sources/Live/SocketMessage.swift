import GQLRunJSON

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

  /// The most bytes of a string of a plain message.
  private static let maxPlainBytes = 64

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
      if let text = try? JSONValue(parsing: value).stringValue { note(key, text.utf8) }
    }
  }

  /// Reads a message in the form in which servers send them, in a fraction of the time; `nil` for any other message.
  ///
  /// Its members are short strings without escapes, and a payload that is an object or a list.
  init?(plain text: UnsafeRawBufferPointer) {
    var cursor = JSONCursor(text)
    guard cursor.take("{") else { return nil }
    repeat {
      guard let key = cursor.takePlainString(), cursor.take(":") else { return nil }
      if key.elementsEqual("payload".utf8) {
        guard payload == nil, let first = cursor.next(),
          first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        else { return nil }
        let start = cursor.offset
        guard cursor.skipValue() else { return nil }
        payload = start..<cursor.offset
        kind = first
      } else {
        // A string of JSON has no control characters, and no byte that is not UTF-8.
        guard let value = cursor.takePlainString(), value.count <= Self.maxPlainBytes,
          value.allSatisfy({ (0x20..<0x80).contains($0) }), !hasNoted(key)
        else { return nil }
        note(key, value)
      }
    } while cursor.take(",")
    guard cursor.take("}"), cursor.next() == nil else { return nil }
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
  private mutating func note(_ key: some Sequence<UInt8>, _ value: some Collection<UInt8>) {
    if key.elementsEqual("type".utf8) {
      type = String(decoding: value, as: UTF8.self)
    } else if key.elementsEqual("id".utf8) {
      hasID = true
      // Operations of this client have numbers from 1, and ids are equal as text: `01` and `+1` are not `1`.
      id = value.first.flatMap {
        $0 > UInt8(ascii: "0") ? Int(String(decoding: value, as: UTF8.self)) : nil
      }
    }
  }
}
