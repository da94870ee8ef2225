import GQLRunJSON

/// A normalizer as one writes it first: a tree of the response, then records in dictionaries by key,
/// where objects without identity get the path to them as their key.
struct DictionaryNormalizer {
  indirect enum Value {
    case leaf(JSONValue)
    case reference(String)
    case list([Value])
  }

  private(set) var records: [String: [String: Value]] = [:]

  mutating func add(response: JSONValue) {
    guard let data = response["data"]?.objectValue else { return }
    _ = add(data, path: "QUERY_ROOT")
  }

  private mutating func add(_ object: JSONObject, path: String) -> String {
    var key = path
    if let type = object["__typename"]?.stringValue, let id = object["id"] {
      switch id {
      case .string(let text): key = "\(type):\(text)"
      case .number(let number): key = "\(type):\(number.text)"
      default: break
      }
    }
    var record = records[key] ?? [:]
    for member in object {
      record[member.key] = value(member.value, path: "\(key).\(member.key)")
    }
    records[key] = record
    return key
  }

  private mutating func value(_ value: JSONValue, path: String) -> Value {
    switch value {
    case .object(let object): return .reference(add(object, path: path))
    case .array(let elements):
      var list: [Value] = []
      for (index, element) in elements.enumerated() {
        list.append(self.value(element, path: "\(path).\(index)"))
      }
      return .list(list)
    default: return .leaf(value)
    }
  }
}
