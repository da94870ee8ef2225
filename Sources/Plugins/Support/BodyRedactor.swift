import Foundation
import GQLRunPipeline
import HTTPTypes

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
