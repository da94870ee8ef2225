import GQLRunJSON

extension ByteStack {
  /// Appends `bytes` as the content of a JSON string, with only the required escapes.
  package mutating func append(escaping bytes: Bytes) {
    var start = bytes.start
    var count = bytes.count
    while true {
      let clean = JSONWriter.firstToEscape(in: UnsafeRawBufferPointer(start: start, count: count))
      append(start, clean)
      if clean == count { return }
      append(escapeOf: start[clean])
      start += clean &+ 1
      count &-= clean &+ 1
    }
  }

  private mutating func append(escapeOf byte: UInt8) {
    let hex: StaticString = "0123456789abcdef"
    append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
    case 8: append(UInt8(ascii: "b"))
    case 9: append(UInt8(ascii: "t"))
    case 10: append(UInt8(ascii: "n"))
    case 12: append(UInt8(ascii: "f"))
    case 13: append(UInt8(ascii: "r"))
    default:
      append(utf8: "u00")
      append(hex.utf8Start[Int(byte >> 4)])
      append(hex.utf8Start[Int(byte & 15)])
    }
  }
}
