import GQLRunJSON
import GQLRunLanguage

extension PipelineTest {
  /// The document of the test; without one, a subscription with the fields of the first event, or a
  /// query with the fields of the first answer that has data.
  func text(readFile: (String) throws -> [UInt8]) throws -> String {
    if let document { return document }
    if let documentFile = documentFile?.path {
      return String(decoding: try readFile(documentFile), as: UTF8.self)
    }
    for answer in upstream {
      if let event = answer.events?.first(where: { $0.data != nil }),
        let selection = event.data.flatMap({ Self.selection($0) })
      {
        return "subscription Test \(selection)"
      }
    }
    for answer in upstream where answer.isJSON {
      guard let data = answer.body?["data"], let selection = Self.selection(data)
      else { continue }
      return "query Test \(selection)"
    }
    return "query Test { __typename }"
  }

  /// `{ user { id name } }` for `{"user": {"id": 1, "name": "Ada"}}`; `nil` for values without
  /// fields.
  private static func selection(_ value: JSONValue) -> String? {
    switch value {
    case .array(let elements): return elements.lazy.compactMap { selection($0) }.first
    case .object(let object):
      let fields = object.filter { isName($0.key) }.map { member in
        selection(member.value).map { "\(member.key) \($0)" } ?? member.key
      }
      return fields.isEmpty ? nil : "{ \(fields.joined(separator: " ")) }"
    default: return nil
    }
  }

  private static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, !(48...57).contains(first) else { return false }
    return text.utf8.allSatisfy {
      (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 95
    }
  }
}
