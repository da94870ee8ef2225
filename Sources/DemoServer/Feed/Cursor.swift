/// A position in a list of posts or comments: base64 of `p:17` or `c:103`.
struct Cursor: Sendable, Hashable {
  enum Kind: String {
    case post = "p"
    case comment = "c"
  }

  let kind: Kind
  let number: Int

  init(kind: Kind, number: Int) {
    self.kind = kind
    self.number = number
  }

  /// Parses a cursor; `nil` unless it has this server's canonical form.
  init?(_ text: String) {
    guard text.utf8.count <= 40, let bytes = Base64.decode(text) else { return nil }
    let parts = String(decoding: bytes, as: UTF8.self).split(separator: ":")
    guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])),
      let number = Int(parts[1]), number >= 0
    else { return nil }
    self.init(kind: kind, number: number)
    guard self.text == text else { return nil }
  }

  var text: String { Base64.encode(Array("\(kind.rawValue):\(number)".utf8)) }
}

/// Base64 of short texts (RFC 4648, section 4).
enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for position in 0..<4 {
        text.append(
          position <= group.count ? alphabet[bits >> (18 - 6 * position) & 63] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  static func decode(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits = 0
    var count = 0
    for digit in text.utf8 where digit != UInt8(ascii: "=") {
      guard let value = alphabet.firstIndex(of: digit) else { return nil }
      bits = (bits << 6 | value) & 0xFFFF
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    return bytes
  }
}
