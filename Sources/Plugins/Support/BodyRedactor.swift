import Foundation
import GQLRunJSON
import GQLRunPipeline
import HTTPTypes

/// Hides secret values in a body by their names: those of JSON members, by ``SecretNames`` and further names, or of form
/// parameters.
///
/// Works on the bytes: all others do not change, and truncated or invalid bodies are supported.
struct BodyRedactor: Sendable {
  private let names: Set<String>
  private let isForm: Bool

  /// - Parameters:
  ///   - fields: The header fields of the body; without any, it is JSON.
  ///   - names: Names of further JSON members; case, `_` and `-` are ignored.
  init(_ fields: HTTPFields = [:], names: [String] = []) {
    self.names = Set(names.map { SecretNames.plain($0) })
    isForm = ResponseCheck.mediaType(fields) == "application/x-www-form-urlencoded"
  }

  /// The body with hidden values replaced by `•••`.
  func redact(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var found: [SecretString] = []
    return redact(bytes, found: &found)
  }

  /// The same; appends the hidden texts to `found`.
  func redact(_ bytes: some Collection<UInt8>, found: inout [SecretString]) -> [UInt8] {
    isForm ? Self.form(Array(bytes), found: &found) : json(Array(bytes), found: &found)
  }

  /// The same value with secret members hidden.
  func redacted(_ value: JSONValue) -> JSONValue {
    var found: [SecretString] = []
    return (try? JSONValue(parsing: json(value.jsonBytes(), found: &found))) ?? value
  }

  private func hides(_ name: String) -> Bool {
    SecretNames.isSecretMember(name) || names.contains(SecretNames.plain(name))
  }

  private func json(_ bytes: [UInt8], found: inout [SecretString]) -> [UInt8] {
    bytes.withUnsafeBytes { text in
      var result: [UInt8] = []
      var cursor = JSONCursor(text)
      /// The offset after the bytes in the result, or hidden.
      var copied = 0
      while let quote = text[cursor.offset...].firstIndex(of: UInt8(ascii: "\"")) {
        cursor.offset = quote
        cursor.skipString()
        let key = bytes[quote..<cursor.offset]
        guard cursor.take(":"), cursor.next() != nil, hides(Self.name(key)) else { continue }
        let start = cursor.offset
        _ = cursor.skipValue()
        result += text[copied..<start]
        result += Array("\"\(SecretString.redacted)\"".utf8)
        copied = cursor.offset
        let value = try? JSONValue(parsing: Array(text[start..<copied]))
        if let value = value?.stringValue { found.append(SecretString(value)) }
      }
      return result + text[copied...]
    }
  }

  private static func name(_ string: ArraySlice<UInt8>) -> String {
    if string.contains(UInt8(ascii: "\\")) {
      return (try? JSONValue(parsing: Array(string)))?.stringValue ?? ""
    }
    return String(decoding: string.dropFirst().dropLast(), as: UTF8.self)
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
