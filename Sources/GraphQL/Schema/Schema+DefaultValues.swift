extension Schema {
  /// The default value as servers print it: a single value as a list where the type is a list, and
  /// input objects with every field that has a value, in definition order; `nil` if there is no
  /// default value.
  func defaultValue(of definition: InputValueDefinition) -> Value? {
    guard let value = definition.defaultValue else { return nil }
    var filler = DefaultFiller(schema: self)
    return filler.filled(value, definition.type) ?? value
  }
}

private struct DefaultFiller {
  let schema: Schema
  /// A limit, because default values can contain each other or double with every level.
  private var remaining = 10_000
  private var depth = 0

  init(schema: Schema) {
    self.schema = schema
  }

  /// Returns `nil` if the value becomes too large.
  mutating func filled(_ value: Value, _ type: TypeReference) -> Value? {
    remaining -= 1
    guard remaining > 0, depth < 64 else { return nil }
    depth += 1
    defer { depth -= 1 }
    switch (type, value) {
    case (.nonNull(let inner), _):
      return filled(value, inner)
    case (_, .null), (_, .variable):
      return value
    case (.list(let item, _), .list(let values, let location)):
      var items: [Value] = []
      for value in values {
        guard let item = filled(value, item) else { return nil }
        items.append(item)
      }
      return .list(items, location)
    case (.list(let item, let location), _):
      return filled(value, item).map { .list([$0], location) }
    case (.named(let name), .object(let fields, let location)):
      guard case .inputObject(let input)? = schema.types[name.value] else { return value }
      return filled(fields, input).map { .object($0, location) }
    case (.named(let name), _):
      return scalar(value, name.value)
    }
  }

  private mutating func filled(_ fields: [ObjectField], _ input: InputObjectType) -> [ObjectField]?
  {
    var given: [String: ObjectField] = [:]
    for field in fields { given[field.name.value] = field }
    var all: [ObjectField] = []
    for definition in input.fields {
      let own = given[definition.name.value]
      guard let value = own?.value ?? definition.defaultValue else { continue }
      guard let filled = filled(value, definition.type) else { return nil }
      all.append(
        ObjectField(
          name: definition.name, value: filled, location: own?.location ?? definition.location))
    }
    return all
  }

  private func scalar(_ value: Value, _ type: String) -> Value {
    switch (type, value) {
    case ("ID", .string(let string)) where string.value.isIntegerLiteral:
      .int(string.value, string.location)
    case ("Float", .float(let text, let location)):
      .float(text.shortestFloat ?? text, location)
    case (_, .string(let string)):
      .string(StringValue(string.value, at: string.location))
    default: value
    }
  }
}

extension String {
  /// `-?(0|[1-9][0-9]*)`
  fileprivate var isIntegerLiteral: Bool {
    let digits = hasPrefix("-") ? dropFirst() : self[...]
    guard let first = digits.utf8.first, digits.utf8.allSatisfy(\.isDigit) else { return false }
    return first != UInt8(ascii: "0") || digits.utf8.count == 1
  }

  /// The number with at most six digits, like C's `%g`; `nil` if it needs more.
  fileprivate var shortestFloat: String? {
    guard let number = Double(self), number.isFinite else { return nil }
    if number == 0 { return hasPrefix("-") ? "-0" : "0" }
    var text = number.magnitude.description
    var exponent = 0
    if let mark = text.firstIndex(of: "e") {
      exponent = Int(text[text.index(after: mark)...]) ?? 0
      text = String(text[..<mark])
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    var digits = Array(parts.joined().utf8)
    exponent += parts[0].utf8.count - 1
    while digits.first == UInt8(ascii: "0") {
      digits.removeFirst()
      exponent -= 1
    }
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    guard digits.count <= 6 else { return nil }
    let sign = number < 0 ? "-" : ""
    let all = String(decoding: digits, as: UTF8.self)
    func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
    if exponent < -4 || exponent >= 6 {
      let magnitude = String(abs(exponent))
      return sign + all.prefix(1) + (all.count > 1 ? "." : "") + all.dropFirst() + "e"
        + (exponent < 0 ? "-" : "+") + (magnitude.count < 2 ? "0" : "") + magnitude
    }
    if exponent < 0 { return sign + "0." + zeros(-exponent - 1) + all }
    if all.count <= exponent + 1 { return sign + all + zeros(exponent + 1 - all.count) }
    return sign + all.prefix(exponent + 1) + "." + all.dropFirst(exponent + 1)
  }
}
