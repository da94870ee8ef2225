import GQLRunJSON
import GQLRunPipeline

/// Hides the values of secret members in JSON text, by ``SecretNames`` and further names.
///
/// Works on the bytes of the text: all others do not change, and truncated or invalid text is
/// supported.
struct JSONRedactor: Sendable {
  private let names: Set<String>

  /// - Parameter names: Further names; case, `_` and `-` are ignored.
  init(names: [String]) {
    self.names = Set(names.map { SecretNames.plain($0) })
  }

  func hides(_ name: String) -> Bool {
    SecretNames.isSecretMember(name) || names.contains(SecretNames.plain(name))
  }

  /// The text with the values of hidden members replaced by `"•••"`.
  func redact(_ bytes: [UInt8]) -> [UInt8] {
    var found: [SecretString] = []
    return redact(bytes, found: &found)
  }

  /// The same; appends the hidden texts to `found`.
  func redact(_ bytes: [UInt8], found: inout [SecretString]) -> [UInt8] {
    var result: [UInt8] = []
    var place = 0
    while place < bytes.count {
      guard bytes[place] == UInt8(ascii: "\"") else {
        result.append(bytes[place])
        place += 1
        continue
      }
      let end = Self.endOfString(bytes, place)
      result += bytes[place..<end]
      let value = Self.valueAfterColon(bytes, end)
      if let value, value < bytes.count, hides(Self.name(bytes[place..<end])) {
        result += bytes[end..<value]
        result += Array("\"\(SecretString.redacted)\"".utf8)
        place = Self.endOfValue(bytes, value)
        let text = (try? JSONValue(parsing: Array(bytes[value..<place])))?.stringValue
        if let text { found.append(SecretString(text)) }
      } else {
        place = end
      }
    }
    return result
  }

  private static func name(_ string: ArraySlice<UInt8>) -> String {
    if string.contains(UInt8(ascii: "\\")) {
      return (try? JSONValue(parsing: Array(string)))?.stringValue ?? ""
    }
    return String(decoding: string.dropFirst().dropLast(), as: UTF8.self)
  }

  /// The index after the string that begins at `place`.
  private static func endOfString(_ bytes: [UInt8], _ place: Int) -> Int {
    var place = place + 1
    while place < bytes.count {
      switch bytes[place] {
      case UInt8(ascii: "\""): return place + 1
      case UInt8(ascii: "\\"): place += 2
      default: place += 1
      }
    }
    return bytes.count
  }

  /// The index of the value, if the string that ends at `place` is a key.
  private static func valueAfterColon(_ bytes: [UInt8], _ place: Int) -> Int? {
    var place = place
    while place < bytes.count, isSpace(bytes[place]) { place += 1 }
    guard place < bytes.count, bytes[place] == UInt8(ascii: ":") else { return nil }
    place += 1
    while place < bytes.count, isSpace(bytes[place]) { place += 1 }
    return place
  }

  private static func endOfValue(_ bytes: [UInt8], _ place: Int) -> Int {
    var place = place
    var depth = 0
    while place < bytes.count {
      switch bytes[place] {
      case UInt8(ascii: "\""):
        place = endOfString(bytes, place)
        if depth == 0 { return place }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        // The end of the enclosing container, after a number or a literal.
        if depth == 0 { return place }
        depth -= 1
        if depth == 0 { return place + 1 }
      case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D:
        if depth == 0 { return place }
      default: break
      }
      place += 1
    }
    return bytes.count
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }
}
