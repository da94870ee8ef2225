import GQLRunJSON
import GQLRunLanguage

/// The stored name of a field: its name and arguments, never its alias.
///
/// `name` without arguments, else `name({"a":1,"b":{"c":null}})`: canonical JSON with sorted keys
/// and no white space, with variables replaced by their values. An argument whose variable is
/// absent is omitted, as it is in the request.
struct FieldKey {
  let variables: JSONObject

  func key(
    of field: Field, only keyArguments: [String]? = nil, except others: Set<String> = []
  ) -> String {
    var members: [(key: String, text: String)] = []
    for argument in field.arguments {
      if let keyArguments, !keyArguments.contains(argument.name.value) { continue }
      if others.contains(argument.name.value) { continue }
      guard let text = canonical(argument.value) else { continue }
      members.append((argument.name.value, text))
    }
    guard !members.isEmpty else { return field.name.value }
    return "\(field.name.value)(\(object(members)))"
  }

  /// The canonical text of a literal; `nil` for an absent variable.
  private func canonical(_ value: Value) -> String? {
    switch value {
    case .variable(let name): return variables[name.value]?.canonicalText
    case .int(let text, _), .float(let text, _): return text
    case .string(let string): return JSONValue.string(string.value).canonicalText
    case .boolean(let flag, _): return flag ? "true" : "false"
    case .null: return "null"
    case .enumeration(let name): return JSONValue.string(name.value).canonicalText
    case .list(let values, _):
      return "[" + values.map { canonical($0) ?? "null" }.joined(separator: ",") + "]"
    case .object(let fields, _):
      return object(
        fields.compactMap { field in
          canonical(field.value).map { (field.name.value, $0) }
        })
    }
  }

  private func object(_ members: [(key: String, text: String)]) -> String {
    let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    let texts = sorted.map { JSONValue.string($0.key).canonicalText + ":" + $0.text }
    return "{" + texts.joined(separator: ",") + "}"
  }
}
