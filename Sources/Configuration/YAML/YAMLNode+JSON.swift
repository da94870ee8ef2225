import GQLRunJSON

extension YAMLNode {
  /// The node as JSON. Plain scalars follow YAML's JSON schema; quoted ones are text.
  ///
  /// https://yaml.org/spec/1.2.2/#102-json-schema
  var json: JSONValue {
    switch content {
    case .scalar(let text, let isPlain): Self.scalar(text, isPlain: isPlain)
    case .sequence(let elements): .array(elements.map(\.json))
    case .mapping(let members):
      .object(
        members.reduce(into: JSONObject()) { object, member in
          object[member.key] = member.value.json
        })
    }
  }

  private static func scalar(_ text: String, isPlain: Bool) -> JSONValue {
    guard isPlain else { return .string(text) }
    switch text {
    case "", "null", "~": return .null
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    default: return JSONNumber(text: text).map(JSONValue.number) ?? .string(text)
    }
  }
}
