import GQLRunJSON

extension JSONValue {
  /// The same value with the members of every object in another order; lists keep theirs.
  func shuffled(using generator: inout some RandomNumberGenerator) -> JSONValue {
    switch self {
    case .array(let elements):
      var result: [JSONValue] = []
      for element in elements { result.append(element.shuffled(using: &generator)) }
      return .array(result)
    case .object(let object):
      var result = JSONObject()
      for member in object.members.shuffled(using: &generator) {
        result[member.key] = member.value.shuffled(using: &generator)
      }
      return .object(result)
    default: return self
    }
  }
}
