import GQLRunSupport

/// Literals are valid values of the expected type.
///
/// https://spec.graphql.org/September2025/#sec-Values-of-Correct-Type
final class ValuesOfCorrectType: RuleVisitor {
  private var variables: [String: VariableDefinition] = [:]
  /// The depth of the current list or object inside a checked value; 0 outside.
  private var skipped = 0

  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    variables.removeAll()
  }

  func enter(variable: VariableDefinition, _ context: ValidationContext) {
    variables[variable.name.value] = variable
  }

  func enter(value: Value, _ context: ValidationContext) {
    switch value {
    case .list:
      if skipped > 0 {
        skipped += 1
      } else if context.types.parentInputType?.isList != true {
        checkLeaf(value, context)
        skipped = 1
      }
    case .object(let fields, _):
      if skipped > 0 {
        skipped += 1
      } else if case .inputObject(let type)? = context.namedType(of: context.types.inputType) {
        check(fields, of: type, value: value, context: context)
      } else {
        checkLeaf(value, context)
        skipped = 1
      }
    case .null(let location):
      guard skipped == 0, let type = context.types.inputType, type.isNonNull else { return }
      context.report(
        .valuesOfCorrectType, "Expected value of type '\(type.printed())', found null.",
        at: location)
    case .variable:
      break
    case .int, .float, .string, .boolean, .enumeration:
      if skipped == 0 { checkLeaf(value, context) }
    }
  }

  func leave(value: Value, _ context: ValidationContext) {
    if skipped > 0 { skipped -= 1 }
  }

  func enter(objectField field: ObjectField, _ context: ValidationContext) {
    guard skipped == 0, context.types.inputType == nil,
      case .inputObject(let type)? = context.namedType(of: context.types.parentInputType)
    else { return }
    context.report(
      .valuesOfCorrectType,
      "Field '\(field.name.value)' is not defined by type '\(type.name)'."
        + didYouMean(suggestions(for: field.name.value, in: type.fields.names)),
      at: field.location)
  }

  // MARK: - Input objects

  private func check(
    _ fields: [ObjectField], of type: InputObjectType, value: Value,
    context: ValidationContext
  ) {
    var given: [String: ObjectField] = [:]
    for field in fields { given[field.name.value] = field }
    for field in type.fields where field.isRequired && given[field.name.value] == nil {
      context.report(
        .valuesOfCorrectType,
        "Field '\(type.name).\(field.name.value)' of required type '\(field.type.printed())' was "
          + "not provided.",
        at: value.location)
    }
    if type.isOneOf { checkOneOf(given, of: type, location: value.location, context: context) }
  }

  /// https://spec.graphql.org/September2025/#sec-OneOf-Input-Objects
  private func checkOneOf(
    _ given: [String: ObjectField], of type: InputObjectType, location: SourceLocation,
    context: ValidationContext
  ) {
    guard given.count == 1, let field = given.values.first else {
      context.report(
        .valuesOfCorrectType,
        "OneOf Input Object '\(type.name)' must specify exactly one key.", at: location)
      return
    }
    switch field.value {
    case .null:
      context.report(
        .valuesOfCorrectType, "Field '\(type.name).\(field.name.value)' must be non-null.",
        at: location)
    case .variable(let name):
      guard let variable = variables[name.value], !variable.type.isNonNull else { return }
      context.report(
        .valuesOfCorrectType,
        "Variable '\(name.value)' must be non-nullable to be used for OneOf Input Object "
          + "'\(type.name)'.",
        at: location)
    default:
      break
    }
  }

  // MARK: - Scalars and enums

  private func checkLeaf(_ value: Value, _ context: ValidationContext) {
    guard let expected = context.types.inputType, let type = context.namedType(of: expected),
      let message = problem(value, of: type, expected)
    else { return }
    context.report(.valuesOfCorrectType, message, at: value.location)
  }

  /// The error message for a value of the wrong type; `nil` if it is valid.
  private func problem(
    _ value: Value, of type: SchemaType, _ expected: TypeReference
  ) -> String? {
    switch type {
    case .enumeration(let enumeration):
      if case .enumeration(let name) = value {
        guard enumeration.values[name.value] == nil else { return nil }
        return "Value '\(name.value)' does not exist in '\(enumeration.name)' enum."
          + hint(name.value, enumeration)
      }
      let text = value.printed()
      return "Enum '\(enumeration.name)' cannot represent non-enum value: \(text)."
        + hint(text, enumeration)
    case .scalar(let scalar):
      return scalar.problem(of: value)
    case .object, .interface, .union, .inputObject:
      return "Expected value of type '\(expected.printed())', found \(value.printed())."
    }
  }

  private func hint(_ text: String, _ enumeration: EnumType) -> String {
    didYouMean(suggestions(for: text, in: enumeration.values.names), "the enum value")
  }
}

extension ScalarType {
  /// The error message for a literal that is not a value of the scalar; `nil` if it is one.
  ///
  /// Custom scalars accept every literal.
  func problem(of value: Value) -> String? {
    switch (name, value) {
    case ("Int", .int(let text, _)):
      Int32(text) == nil
        ? "Int cannot represent non 32-bit signed integer value: \(text)" : nil
    case ("Int", _): "Int cannot represent non-integer value: \(value.printed())"
    case ("Float", .int), ("Float", .float), ("String", .string), ("Boolean", .boolean): nil
    case ("Float", _): "Float cannot represent non numeric value: \(value.printed())"
    case ("String", _): "String cannot represent a non string value: \(value.printed())"
    case ("Boolean", _): "Boolean cannot represent a non boolean value: \(value.printed())"
    case ("ID", .string), ("ID", .int): nil
    case ("ID", _): "ID cannot represent a non-string and non-integer value: \(value.printed())"
    default: nil
    }
  }
}

/// https://spec.graphql.org/September2025/#sec-Input-Object-Field-Uniqueness
final class UniqueInputFieldNames: RuleVisitor {
  private var known: [[String: SourceLocation]] = []

  func enter(value: Value, _ context: ValidationContext) {
    if case .object = value { known.append([:]) }
  }

  func leave(value: Value, _ context: ValidationContext) {
    if case .object = value { known.removeLast() }
  }

  func enter(objectField field: ObjectField, _ context: ValidationContext) {
    guard let last = known.indices.last else { return }
    context.require(
      unique: field.name.value, at: field.name.location, among: &known[last],
      rule: .uniqueInputFieldNames,
      message: "There can be only one input field named '\(field.name.value)'.")
  }
}
