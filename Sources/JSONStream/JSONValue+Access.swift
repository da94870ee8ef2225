extension JSONValue {
  /// Whether the value is `null`.
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The value of a Boolean; nil for other values.
  public var boolValue: Bool? {
    if case .boolean(let value) = self { value } else { nil }
  }

  /// The number; nil for other values.
  public var numberValue: JSONNumber? {
    if case .number(let number) = self { number } else { nil }
  }

  /// The value of a whole number that fits an `Int`; nil for other values.
  public var intValue: Int? { numberValue?.intValue }

  /// The nearest `Double` of a number; nil if it is not finite, and for other values.
  public var doubleValue: Double? { numberValue?.doubleValue }

  /// The string; nil for other values.
  public var stringValue: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The elements of an array; nil for other values. Setting replaces this value by an array;
  /// setting nil has no effect.
  public var arrayValue: [JSONValue]? {
    get { if case .array(let elements) = self { elements } else { nil } }
    set { if let newValue { self = .array(newValue) } }
  }

  /// The members of an object; nil for other values. Setting replaces this value by an object;
  /// setting nil has no effect.
  public var objectValue: JSONObject? {
    get { if case .object(let object) = self { object } else { nil } }
    set { if let newValue { self = .object(newValue) } }
  }

  /// The member with this key; nil if there is none or this is not an object.
  ///
  /// Setting adds or replaces the member, setting nil removes it; neither has an effect if this is
  /// not an object.
  public subscript(key: String) -> JSONValue? {
    get { objectValue?[key] }
    set { objectValue?[key] = newValue }
  }

  /// The element at this index; nil if there is none or this is not an array.
  ///
  /// Setting replaces an existing element, setting nil removes it; neither has an effect if there
  /// is none.
  public subscript(index: Int) -> JSONValue? {
    get {
      guard let elements = arrayValue, elements.indices.contains(index) else { return nil }
      return elements[index]
    }
    set {
      guard var elements = arrayValue, elements.indices.contains(index) else { return }
      if let newValue { elements[index] = newValue } else { elements.remove(at: index) }
      arrayValue = elements
    }
  }

  /// The name of the value's type, as in RFC 8259.
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
