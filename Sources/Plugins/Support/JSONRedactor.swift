import Foundation
import GQLRunJSON
import GQLRunPipeline
import HTTPTypes

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
    var location = 0
    while location < bytes.count {
      guard bytes[location] == UInt8(ascii: "\"") else {
        result.append(bytes[location])
        location += 1
        continue
      }
      let end = Self.endOfString(bytes, location)
      result += bytes[location..<end]
      let value = Self.valueAfterColon(bytes, end)
      if let value, value < bytes.count, hides(Self.name(bytes[location..<end])) {
        result += bytes[end..<value]
        result += Array("\"\(SecretString.redacted)\"".utf8)
        location = Self.endOfValue(bytes, value)
        let text = (try? JSONValue(parsing: Array(bytes[value..<location])))?.stringValue
        if let text { found.append(SecretString(text)) }
      } else {
        location = end
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

  /// The index after the string that begins at `location`.
  private static func endOfString(_ bytes: [UInt8], _ location: Int) -> Int {
    var location = location + 1
    while location < bytes.count {
      switch bytes[location] {
      case UInt8(ascii: "\""): return location + 1
      case UInt8(ascii: "\\"): location += 2
      default: location += 1
      }
    }
    return bytes.count
  }

  /// The index of the value, if the string that ends at `location` is a key.
  private static func valueAfterColon(_ bytes: [UInt8], _ location: Int) -> Int? {
    var location = location
    while location < bytes.count, isSpace(bytes[location]) { location += 1 }
    guard location < bytes.count, bytes[location] == UInt8(ascii: ":") else { return nil }
    location += 1
    while location < bytes.count, isSpace(bytes[location]) { location += 1 }
    return location
  }

  private static func endOfValue(_ bytes: [UInt8], _ location: Int) -> Int {
    var location = location
    var depth = 0
    while location < bytes.count {
      switch bytes[location] {
      case UInt8(ascii: "\""):
        location = endOfString(bytes, location)
        if depth == 0 { return location }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        // The end of the enclosing container, after a number or a literal.
        if depth == 0 { return location }
        depth -= 1
        if depth == 0 { return location + 1 }
      case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D:
        if depth == 0 { return location }
      default: break
      }
      location += 1
    }
    return bytes.count
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }
}

/// Hides secret values in a body by their names: those of JSON members, or of form parameters.
///
/// All other bytes do not change, and truncated bodies are supported.
struct BodyRedactor: Sendable {
  /// For bodies that are not forms.
  let json: JSONRedactor
  private let isForm: Bool

  /// - Parameters:
  ///   - fields: The header fields of the body.
  ///   - names: Names of further JSON members.
  init(_ fields: HTTPFields, names: [String] = []) {
    json = JSONRedactor(names: names)
    let type = fields[.contentType]?.prefix { $0 != ";" }.lowercased() ?? ""
    isForm = type.filter { !$0.isWhitespace } == "application/x-www-form-urlencoded"
  }

  func redact(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var found: [SecretString] = []
    return redact(bytes, found: &found)
  }

  /// The same; appends the hidden texts to `found`.
  func redact(_ bytes: some Collection<UInt8>, found: inout [SecretString]) -> [UInt8] {
    isForm
      ? Self.form(Array(bytes), found: &found) : json.redact(Array(bytes), found: &found)
  }

  /// https://url.spec.whatwg.org/#application/x-www-form-urlencoded
  private static func form(_ bytes: [UInt8], found: inout [SecretString]) -> [UInt8] {
    var result: [UInt8] = []
    for (index, pair) in bytes.split(
      separator: UInt8(ascii: "&"), omittingEmptySubsequences: false
    ).enumerated() {
      if index > 0 { result.append(UInt8(ascii: "&")) }
      guard let mark = pair.firstIndex(of: UInt8(ascii: "=")),
        SecretNames.isSecretFormParameter(decoded(pair[..<mark]))
      else {
        result += pair
        continue
      }
      found.append(SecretString(decoded(pair[(mark + 1)...])))
      result += pair[...mark] + Array(SecretString.redacted.utf8)
    }
    return result
  }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    let text = String(decoding: bytes, as: UTF8.self).replacing("+", with: " ")
    return text.removingPercentEncoding ?? text
  }
}
