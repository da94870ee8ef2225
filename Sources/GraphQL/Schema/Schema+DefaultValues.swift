extension Schema {
  /// The default value in the form in which servers show it: lists where lists are expected, and
  /// input objects with all their fields that have a value, in the order of their definition. `nil`
  /// where there is none, or one that the type does not allow: such a value is never used.
  func defaultValue(of definition: InputValueDefinition) -> Value? {
    guard let value = definition.defaultValue else { return nil }
    var filler = DefaultFiller(schema: self)
    guard filler.judge.isAllowed(value, definition.type) else { return nil }
    return filler.filled(value, definition.type) ?? value
  }
}

extension Schema {
  /// The default values that their types do not allow, as newer versions of the reference
  /// implementation refuse them; at most a hundred.
  func defaultValueWarnings() -> [SchemaError.Issue] {
    var warnings: [SchemaError.Issue] = []
    var judge = DefaultJudge(schema: self)
    func check(_ definition: InputValueDefinition, _ place: @autoclosure () -> String) {
      guard warnings.count < 100, let value = definition.defaultValue,
        !judge.isAllowed(value, definition.type)
      else { return }
      warnings.append(
        SchemaError.Issue(
          message: "The default value of \(place()) is not a value of its type "
            + "\(definition.type.printed()), and is never used: \(value.printed())",
          location: value.location))
    }
    for name in directiveNamesInOrder {
      for argument in directiveDefinitions[name]?.arguments ?? [] {
        check(argument, "@\(name)(\(argument.name.value):)")
      }
    }
    for name in typeNames {
      for field in types[name]?.fields ?? NamedList([]) {
        for argument in field.arguments {
          check(argument, "\(name).\(field.name.value)(\(argument.name.value):)")
        }
      }
      guard case .inputObject(let input)? = types[name] else { continue }
      for field in input.fields { check(field, "\(name).\(field.name.value)") }
    }
    return warnings
  }
}

/// Says whether constants are values of the types they stand for.
///
/// https://spec.graphql.org/September2025/#sec-Input-Values
private struct DefaultJudge {
  let schema: Schema
  /// Whether a field of an input object has a default value that counts.
  private var counting: [String: Bool] = [:]

  init(schema: Schema) {
    self.schema = schema
  }

  mutating func isAllowed(_ value: Value, _ type: TypeReference, _ depth: Int = 0) -> Bool {
    guard depth < 64 else { return true }
    switch (type, value) {
    case (.nonNull, .null): return false
    case (.nonNull(let inner), _): return isAllowed(value, inner, depth + 1)
    case (_, .null), (_, .variable): return true
    case (.list(let item, _), .list(let values, _)):
      return values.allSatisfy { isAllowed($0, item, depth + 1) }
    case (.list(let item, _), _): return isAllowed(value, item, depth + 1)
    case (.named(let name), _):
      switch schema.types[name.value] {
      case .enumeration(let enumeration)?:
        guard case .enumeration(let name) = value else { return false }
        return enumeration.values[name.value] != nil
      case .inputObject(let input)?: return isAllowed(value, input, depth)
      case .scalar(let scalar)?: return scalar.isLiteralAllowed(value)
      default: return true
      }
    }
  }

  private mutating func isAllowed(_ value: Value, _ input: InputObjectType, _ depth: Int) -> Bool {
    guard case .object(let fields, _) = value else { return false }
    var given: [String: Value] = [:]
    for field in fields { given[field.name.value] = field.value }
    for field in input.fields {
      if let value = given[field.name.value] {
        guard isAllowed(value, field.type, depth + 1) else { return false }
      } else if field.type.isNonNull, !counts(field, of: input, depth + 1) {
        return false
      }
    }
    guard input.isOneOf else { return true }
    if given.count == 1, let only = given.first, input.fields[only.key] != nil {
      if case .null = only.value { return false }
      return true
    }
    return false
  }

  /// Whether the field has a default value, and one that its type allows.
  mutating func counts(
    _ field: InputValueDefinition, of input: InputObjectType, _ depth: Int = 0
  ) -> Bool {
    guard let value = field.defaultValue else { return false }
    let place = "\(input.name).\(field.name.value)"
    if let known = counting[place] { return known }
    let result = isAllowed(value, field.type, depth)
    counting[place] = result
    return result
  }
}

extension ScalarType {
  /// Whether a literal denotes a value of the scalar; those that are not standard take any.
  fileprivate func isLiteralAllowed(_ value: Value) -> Bool {
    switch (name, value) {
    case ("Int", .int(let text, _)): Int32(text) != nil
    case ("Float", .int), ("Float", .float), ("String", .string), ("Boolean", .boolean): true
    case ("ID", .string), ("ID", .int): true
    case ("Int", _), ("Float", _), ("String", _), ("Boolean", _), ("ID", _): false
    default: true
    }
  }
}

private struct DefaultFiller {
  let schema: Schema
  var judge: DefaultJudge
  /// Defaults can contain each other, or double at every level.
  private var remaining = 10_000
  private var depth = 0

  init(schema: Schema) {
    self.schema = schema
    judge = DefaultJudge(schema: schema)
  }

  /// `nil` when there is too much of it.
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
      guard
        let value = own?.value
          ?? (judge.counts(definition, of: input) ? definition.defaultValue : nil)
      else { continue }
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

  /// The number in at most six digits, as C's `%g` writes it; `nil` if it needs more.
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
