/// The parameters in a URL's query, with form encoding: both `+` and `%20` are a space.
struct QueryParameters: Sendable {
  /// In the order of the URL.
  private(set) var all: [(name: String, value: String)] = []

  /// Parses the text between `?` and `#`. Invalid escapes are kept as they are.
  init(_ query: String?) {
    for part in (query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
      let sides = part.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      all.append((Self.decode(sides[0]), sides.count > 1 ? Self.decode(sides[1]) : ""))
    }
  }

  /// The first parameter with this name.
  subscript(name: String) -> String? {
    all.first { $0.name == name }?.value
  }

  private static func decode(_ text: Substring.UTF8View) -> String {
    let source = Array(text)
    var bytes: [UInt8] = []
    var position = 0
    while position < source.count {
      let byte = source[position]
      if byte == UInt8(ascii: "%"), position + 2 < source.count,
        let high = hexValue(source[position + 1]), let low = hexValue(source[position + 2])
      {
        bytes.append(high << 4 | low)
        position += 3
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        position += 1
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func hexValue(_ digit: UInt8) -> UInt8? {
    Character(Unicode.Scalar(digit)).hexDigitValue.map(UInt8.init)
  }
}
