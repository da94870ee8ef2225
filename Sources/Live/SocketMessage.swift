/// A message of a server over WebSocket, as positions in its text: the payload is not copied.
struct SocketMessage {
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
    var envelope = EnvelopeSplitter(member: "payload")
    var offset = 0
    while let piece = try envelope.next(text, from: &offset) {
      switch piece {
      case .begin:
        guard payload == nil else {
          throw StreamError(.malformed, "a message has two members `payload`")
        }
      case .bytes(let range):
        payload = range
        kind = text[range.lowerBound]
      case .held, .end, .complete: break
      }
    }
    try envelope.finish()
    for (key, value) in envelope.others {
      if key.elementsEqual("type".utf8) {
        type = Self.string(value).map { String(decoding: $0, as: UTF8.self) } ?? ""
      } else if key.elementsEqual("id".utf8), let digits = Self.string(value) {
        hasID = true
        // Operations of this client have numbers.
        id = Int(String(decoding: digits, as: UTF8.self))
      }
    }
  }

  var hasObject: Bool { kind == UInt8(ascii: "{") }
  var hasList: Bool { kind == UInt8(ascii: "[") }

  /// The characters of a JSON string without escapes.
  private static func string(_ value: [UInt8]) -> ArraySlice<UInt8>? {
    guard value.count >= 2, value.first == UInt8(ascii: "\"") else { return nil }
    return value.dropFirst().dropLast()
  }
}
