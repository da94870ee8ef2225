package import GQLRunJSON
package import GQLRunLanguage

extension Schema {
  /// Parses type definitions, or the JSON result of an introspection query.
  package init(file bytes: [UInt8]) throws {
    if Self.isIntrospection(bytes) {
      let text = bytes.trimmingPrefix([0xEF, 0xBB, 0xBF])
      try self.init(introspection: IntrospectionValue(JSONValue(parsing: Array(text))))
    } else {
      let document = try Document(parsingUTF8: bytes)
      if let error = document.schemaError { throw error }
      try self.init(sdl: document)
    }
  }

  /// Whether a file of a schema is JSON: no type definition begins with a brace, and an operation that does has a name next.
  package static func isIntrospection(_ bytes: [UInt8]) -> Bool {
    let rest = bytes.trimmingPrefix([0xEF, 0xBB, 0xBF]).drop { $0.isJSONWhiteSpace }
    guard rest.first == UInt8(ascii: "{") else { return false }
    let next = rest.dropFirst().first { !$0.isJSONWhiteSpace }
    return next == nil || next == UInt8(ascii: "\"") || next == UInt8(ascii: "}")
  }
}

extension Document {
  /// The error of a schema that has operations and fragments only; `nil` for other documents.
  package var schemaError: SchemaError? {
    let locations = operations.map(\.location) + fragments.map(\.location)
    guard let first = locations.first, locations.count == definitions.count else { return nil }
    return SchemaError(issues: [
      SchemaError.Issue(
        message:
          "the file has operations and no schema; name type definitions, or the result of an introspection",
        location: first)
    ])
  }
}

extension IntrospectionValue {
  /// The result of an introspection query.
  package init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .boolean(let flag): self = .boolean(flag)
    case .number(let number): self = .number(number.text)
    case .string(let text): self = .string(text)
    case .array(let elements): self = .list(elements.map { IntrospectionValue($0) })
    case .object(let object):
      var members: [String: IntrospectionValue] = [:]
      for member in object { members[member.key] = IntrospectionValue(member.value) }
      self = .object(members)
    }
  }
}
