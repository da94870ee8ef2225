import GQLRunJSON

/// Random numbers that are the same in every run.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}

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
