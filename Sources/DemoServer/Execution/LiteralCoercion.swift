import GQLRunJSON
import GQLRunLanguage

/// Coerces the literals of a document, and the variables in them, to argument values.
///
/// https://spec.graphql.org/September2025/#sec-Coercing-Field-Arguments
struct LiteralCoercion {
  let schema: Schema
  /// The coerced variables.
  let variables: JSONObject

  /// The arguments of a field or directive, with defaults.
  func arguments(
    _ given: [Argument], for definitions: [InputValueDefinition], at location: SourceLocation
  ) throws(RequestError) -> JSONObject {
    var result = JSONObject()
    for definition in definitions {
      let name = definition.name.value
      let argument = given.first { $0.name.value == name }
      if let argument, let value = try value(of: argument, for: definition) {
        result[name] = value
      } else if let literal = definition.defaultValue {
        result[name] = try coerce(literal, to: definition.type)
      } else if definition.type.isNonNull {
        let required = "Argument \"\(name)\" of required type \"\(definition.type.printed())\""
        guard let argument, case .variable(let variable) = argument.value else {
          throw RequestError(.badUserInput, "\(required) was not provided.", at: [location])
        }
        throw RequestError(
          .badUserInput,
          "\(required) was provided the variable \"$\(variable.value)\" "
            + "which was not provided a runtime value.", at: [variable.location])
      }
    }
    return result
  }

  /// The value of an argument; `nil` if it is a variable without a value.
  private func value(
    of argument: Argument, for definition: InputValueDefinition
  ) throws(RequestError) -> JSONValue? {
    guard case .variable(let variable) = argument.value else {
      return try coerce(argument.value, to: definition.type)
    }
    guard let value = variables[variable.value] else { return nil }
    if value.isNull, definition.type.isNonNull {
      let type = definition.type.printed()
      throw RequestError(
        .badUserInput,
        "Argument \"\(argument.name.value)\" of non-null type \"\(type)\" must not be null.",
        at: [variable.location])
    }
    return value
  }

  /// Coerces a literal to a type.
  func coerce(_ literal: Value, to type: TypeReference) throws(RequestError) -> JSONValue {
    if case .variable(let name) = literal {
      let value = variables[name.value] ?? .null
      if value.isNull, type.isNonNull { throw wrong(literal, type) }
      return value
    }
    switch type {
    case .nonNull(let inner):
      if case .null = literal { throw wrong(literal, type) }
      return try coerce(literal, to: inner)
    case .list(let inner, _):
      if case .null = literal { return .null }
      guard case .list(let elements, _) = literal else {
        return .array([try coerce(literal, to: inner)])
      }
      var result: [JSONValue] = []
      for element in elements { result.append(try coerce(element, to: inner)) }
      return .array(result)
    case .named(let name):
      if case .null = literal { return .null }
      if case .inputObject(let definition) = schema.type(named: name.value) {
        return try coerce(literal, to: definition, type)
      }
      return try leaf(literal, type)
    }
  }

  private func coerce(
    _ literal: Value, to definition: InputObjectType, _ type: TypeReference
  ) throws(RequestError) -> JSONValue {
    guard case .object(let fields, _) = literal else { throw wrong(literal, type) }
    var result = JSONObject()
    for field in definition.fields {
      let name = field.name.value
      let given = fields.first { $0.name.value == name }?.value
      if let given, !isAbsentVariable(given) {
        result[name] = try coerce(given, to: field.type)
      } else if let literal = field.defaultValue {
        result[name] = try coerce(literal, to: field.type)
      } else if field.type.isNonNull {
        throw wrong(literal, type)
      }
    }
    return .object(result)
  }

  private func isAbsentVariable(_ literal: Value) -> Bool {
    if case .variable(let name) = literal { variables[name.value] == nil } else { false }
  }

  private func leaf(_ literal: Value, _ type: TypeReference) throws(RequestError) -> JSONValue {
    switch literal {
    case .int(let text, _), .float(let text, _):
      if let number = JSONNumber(text: text) { return try scalar(.number(number), literal, type) }
    case .string(let text): return try scalar(.string(text.value), literal, type)
    case .boolean(let value, _): return try scalar(.boolean(value), literal, type)
    case .enumeration(let name):
      if case .enumeration = schema.type(named: type.namedType.value) { return .string(name.value) }
    case .variable, .null, .list, .object: break
    }
    throw wrong(literal, type)
  }

  private func scalar(
    _ value: JSONValue, _ literal: Value, _ type: TypeReference
  ) throws(RequestError) -> JSONValue {
    do throws(ScalarFailure) {
      return try Scalar.coerce(value, to: type.namedType.value)
    } catch {
      throw RequestError(.badUserInput, error.message, at: [literal.location])
    }
  }

  private func wrong(_ literal: Value, _ type: TypeReference) -> RequestError {
    RequestError(
      .badUserInput, "Expected value of type \"\(type.printed())\", found \(literal.printed()).",
      at: [literal.location])
  }
}
