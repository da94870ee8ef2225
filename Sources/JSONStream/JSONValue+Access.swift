extension JSONValue {
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  public var boolValue: Bool? {
    if case .boolean(let value) = self { value } else { nil }
  }

  public var numberValue: JSONNumber? {
    if case .number(let number) = self { number } else { nil }
  }

  /// The value if this is a whole number that fits.
  public var intValue: Int? { numberValue?.intValue }

  /// The nearest double if this is a number with a finite one.
  public var doubleValue: Double? { numberValue?.doubleValue }

  public var stringValue: String? {
    if case .string(let text) = self { text } else { nil }
  }

  public var arrayValue: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  public var objectValue: JSONObject? {
    if case .object(let object) = self { object } else { nil }
  }

  /// The member with this key; nil if there is none or this is not an object.
  public subscript(key: String) -> JSONValue? { objectValue?[key] }

  /// The element at this place; nil if there is none or this is not an array.
  public subscript(place: Int) -> JSONValue? {
    guard let elements = arrayValue, elements.indices.contains(place) else { return nil }
    return elements[place]
  }

  /// What kind of value this is, in the words of JSON.
  public var kind: String {
    switch self {
    case .null: "null"
    case .boolean: "boolean"
    case .number: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }
}
