/// Splits complete JSON texts into the texts of their members and elements, without parsing the values.
///
/// Only the structure is read: the values are checked by the parser that receives them.
package enum JSONMembers {
  /// The members of an object, in their order.
  package static func members(
    ofObject text: [UInt8]
  ) throws(StreamError) -> [(key: [UInt8], value: [UInt8])] {
    var splitter = EnvelopeSplitter(member: nil, limit: text.count)
    let result = text.withUnsafeBytes { bytes in
      Result { () throws(StreamError) in
        var offset = 0
        while try splitter.next(bytes, from: &offset) != nil {}
        if !splitter.hasEnded { try splitter.finish() }
      }
    }
    try result.get()
    return splitter.others
  }

  /// The elements of a list, in their order.
  package static func elements(ofList text: [UInt8]) throws(StreamError) -> [[UInt8]] {
    var elements: [[UInt8]] = []
    var depth = 0
    var start = 0
    var isInString = false
    var isEscaped = false
    for (offset, byte) in text.enumerated() {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        guard depth > 0 || byte == UInt8(ascii: "[") else { throw notAList }
        depth += 1
        if depth == 1 { start = offset + 1 }
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        depth -= 1
        guard depth == 0 else { continue }
        let last = text[start..<offset]
        if !elements.isEmpty || !last.allSatisfy(isSpace) { elements.append(Array(last)) }
        return elements
      case UInt8(ascii: ",") where depth == 1:
        elements.append(Array(text[start..<offset]))
        start = offset + 1
      default:
        guard depth > 0 || isSpace(byte) else { throw notAList }
      }
    }
    throw StreamError(.malformed, "a list in a message does not end")
  }

  private static let notAList = StreamError(.malformed, "a member of a message is not a list")

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }
}
