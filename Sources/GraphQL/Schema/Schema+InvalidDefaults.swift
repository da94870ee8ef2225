extension Schema {
  /// Removes default values that are not valid for their type, like graphql-core 3.2, with a
  /// warning for each of the first hundred.
  mutating func removeInvalidDefaultValues() {
    var checker = DefaultValueChecker(schema: self)
    var found: [SchemaError.Issue] = []
    /// The definitions without invalid default values; `nil` if all are valid.
    func cleaned(
      _ definitions: some RandomAccessCollection<InputValueDefinition>,
      _ coordinate: (String) -> String
    ) -> [InputValueDefinition]? {
      var result: [InputValueDefinition]?
      for (index, definition) in definitions.enumerated() {
        guard let value = definition.defaultValue, !checker.isAllowed(value, definition.type) else {
          continue
        }
        if result == nil { result = Array(definitions) }
        result?[index].defaultValue = nil
        if found.count < 100 {
          found.append(
            SchemaError.Issue(
              message:
                "The default value of \(coordinate(definition.name.value)) is not a value of its "
                + "type \(definition.type.printed()), and is ignored: \(value.printed())",
              location: value.location))
        }
      }
      return result
    }

    var changedDirectives: [String: DirectiveDefinition] = [:]
    var changedTypes: [String: SchemaType] = [:]
    for name in directiveNamesInOrder {
      guard var directive = directiveDefinitions[name],
        let arguments = cleaned(directive.arguments, { "@\(name)(\($0):)" })
      else { continue }
      directive.arguments = arguments
      changedDirectives[name] = directive
    }
    for name in typeNames {
      if case .inputObject(var input)? = types[name] {
        guard let fields = cleaned(input.fields, { "\(name).\($0)" }) else { continue }
        input.fields = NamedList(fields)
        changedTypes[name] = .inputObject(input)
      } else if let fields = types[name]?.fields {
        var changed: [FieldDefinition]?
        for (index, field) in fields.enumerated() {
          let owner = "\(name).\(field.name.value)"
          guard let arguments = cleaned(field.arguments, { "\(owner)(\($0):)" }) else { continue }
          if changed == nil { changed = Array(fields) }
          changed?[index].arguments = arguments
        }
        if let changed { changedTypes[name] = types[name]?.with(fields: NamedList(changed)) }
      }
    }
    guard !found.isEmpty else { return }
    types.merge(changedTypes) { $1 }
    directiveDefinitions.merge(changedDirectives) { $1 }
    warnings += found
  }
}

extension SchemaType {
  fileprivate func with(fields: NamedList<FieldDefinition>) -> SchemaType {
    switch self {
    case .object(var object):
      object.fields = fields
      return .object(object)
    case .interface(var interface):
      interface.fields = fields
      return .interface(interface)
    default: return self
    }
  }
}

/// Checks whether constants are valid values of a type.
///
/// https://spec.graphql.org/September2025/#sec-Input-Values
private struct DefaultValueChecker {
  let schema: Schema
  /// Whether a field of an input object has a valid default value.
  private var validity: [String: Bool] = [:]

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
      } else if field.type.isNonNull, !hasValidDefault(field, of: input, depth + 1) {
        return false
      }
    }
    guard input.isOneOf else { return true }
    // Unknown fields are ignored, as in the reference implementation.
    let known = given.filter { input.fields[$0.key] != nil }
    guard known.count == 1, let only = known.first else { return false }
    if case .null = only.value { return false }
    return true
  }

  /// Whether the field has a default value that is valid for its type.
  mutating func hasValidDefault(
    _ field: InputValueDefinition, of input: InputObjectType, _ depth: Int = 0
  ) -> Bool {
    guard let value = field.defaultValue else { return false }
    let coordinate = "\(input.name).\(field.name.value)"
    if let known = validity[coordinate] { return known }
    let result = isAllowed(value, field.type, depth)
    validity[coordinate] = result
    return result
  }
}

extension ScalarType {
  /// Whether a literal is a valid value of the scalar. Custom scalars accept every literal.
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
