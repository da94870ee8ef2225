extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// Creates a number. Precondition: the literal is finite.
  public init(floatLiteral value: Double) {
    guard let number = JSONNumber(value) else {
      preconditionFailure("JSON has no infinite numbers")
    }
    self = .number(number)
  }

  /// Creates an object in the order of the literal. Precondition: the keys are unique.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    let members = elements.map { JSONObject.Member(key: $0.0, value: $0.1) }
    guard let object = JSONObject(uniqueMembers: members) else {
      preconditionFailure("an object literal has two members with one key")
    }
    self = .object(object)
  }
}
