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

  /// The elements if this is an array. Setting makes it one; setting nil changes nothing.
  public var arrayValue: [JSONValue]? {
    get { if case .array(let elements) = self { elements } else { nil } }
    set { if let newValue { self = .array(newValue) } }
  }

  /// The members if this is an object. Setting makes it one; setting nil changes nothing.
  public var objectValue: JSONObject? {
    get { if case .object(let object) = self { object } else { nil } }
    set { if let newValue { self = .object(newValue) } }
  }

  /// The member with this key; nil if there is none or this is not an object. Setting adds, replaces or
  /// (with nil) removes the member of an object, and changes nothing else.
  public subscript(key: String) -> JSONValue? {
    get { objectValue?[key] }
    set { objectValue?[key] = newValue }
  }

  /// The element at this place; nil if there is none or this is not an array. Setting replaces or
  /// (with nil) removes an element that is there, and changes nothing else.
  public subscript(place: Int) -> JSONValue? {
    get {
      guard let elements = arrayValue, elements.indices.contains(place) else { return nil }
      return elements[place]
    }
    set {
      guard var elements = arrayValue, elements.indices.contains(place) else { return }
      if let newValue { elements[place] = newValue } else { elements.remove(at: place) }
      arrayValue = elements
    }
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
