import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// Coerces the variables of a request, and the literals of its document with the variables in them,
/// to the types of the schema.
///
/// The document is valid, so literals only fail where a variable is null or absent. The messages are
/// those of the reference implementation, graphql-js.
///
/// - https://spec.graphql.org/September2025/#sec-Coercing-Variable-Values
/// - https://spec.graphql.org/September2025/#sec-Coercing-Field-Arguments
struct InputCoercion {
  /// The maximum number of reported errors.
  private static let maxErrors = 20
  /// The name of the scalar type of files.
  private static let upload = "Upload"

  /// A value that is not coerced yet.
  fileprivate enum Input {
    /// A value of a variable, or a part of it.
    case given(JSONValue)
    case literal(Value)
  }

  private let schema: Schema
  /// The coerced variables, with defaults; without variables that have no value.
  private var variables = JSONObject()
  /// The files by their paths in the variables, which have null there.
  private let files: [String: UploadedFile]
  /// The errors of the variables, and of a literal that is being coerced.
  private(set) var errors: [RequestError] = []
  /// The variable being coerced, and the path in its value.
  private var current: VariableDefinition?
  private var path: [JSONValue] = []

  /// Coerces variables; ``errors`` has those of all of them. It must be checked before any other use, because a variable
  /// with an error has no value here.
  ///
  /// - Parameter files: The files by their paths in `values`, which has null there.
  init(
    _ values: JSONObject, files: [String: UploadedFile] = [:],
    for definitions: [VariableDefinition], in schema: Schema
  ) {
    self.schema = schema
    self.files = files
    var coerced = JSONObject()
    for definition in definitions {
      current = definition
      let name = definition.name.value
      coerced[name] = coerceVariable(values[name], name, to: definition.type)
    }
    variables = coerced
  }

  private mutating func coerceVariable(
    _ given: JSONValue?, _ name: String, to type: TypeReference
  ) -> JSONValue? {
    switch given {
    case nil:
      if let literal = current?.defaultValue { return coerce(.literal(literal), to: type) }
      guard type.isNonNull else { return nil }
      return report(
        "Variable \"$\(name)\" of required type \"\(type.printed())\" was not provided.")
    case let value? where type.isNonNull && isNull(.given(value)):
      return report(
        "Variable \"$\(name)\" of non-null type \"\(type.printed())\" must not be null.")
    case let value?: return coerce(.given(value), to: type)
    }
  }

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
        result[name] = try constant(literal, as: definition.type)
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
      return try constant(argument.value, as: definition.type)
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

  private func constant(
    _ literal: Value, as type: TypeReference
  ) throws(RequestError) -> JSONValue? {
    var coercion = self
    let value = coercion.coerce(.literal(literal), to: type)
    if let error = coercion.errors.first { throw error }
    return value
  }

  // MARK: Values

  /// Coerces a value; reports an error and returns `nil` if it does not have the type.
  private mutating func coerce(_ input: Input, to type: TypeReference) -> JSONValue? {
    guard errors.count < Self.maxErrors else { return nil }
    if case .literal(.variable(let name)) = input {
      let value = variables[name.value] ?? .null
      return value.isNull && type.isNonNull ? refuse(input, as: type) : value
    }
    switch type {
    case .nonNull(let inner):
      guard !isNull(input) else {
        return refuse(
          input, as: type, "Expected non-nullable type \"\(type.printed())\" not to be null.")
      }
      return coerce(input, to: inner)
    case .list(let inner, _):
      guard !isNull(input) else { return .null }
      guard let elements = input.elements else {
        return coerce(input, to: inner).map { .array([$0]) }
      }
      var result: [JSONValue] = []
      for (index, element) in elements.enumerated() {
        path.append(.number(JSONNumber(index)))
        if let coerced = coerce(element, to: inner) { result.append(coerced) }
        path.removeLast()
      }
      return .array(result)
    case .named(let name):
      if let file = file(for: input) {
        return name.value == Self.upload
          ? file.json
          : refuse(input, as: type, "A file is no value of the type \"\(name.value)\".")
      }
      guard !isNull(input) else { return .null }
      switch schema.type(named: name.value) {
      case .inputObject(let definition): return coerce(input, to: definition, type)
      case .enumeration(let definition): return coerce(input, to: definition, type)
      default: return coerceScalar(input, to: type)
      }
    }
  }

  private mutating func coerce(
    _ input: Input, to definition: InputObjectType, _ type: TypeReference
  ) -> JSONValue? {
    guard input.isObject else {
      return refuse(input, as: type, "Expected type \"\(definition.name)\" to be an object.")
    }
    var result = JSONObject()
    for field in definition.fields {
      let key = field.name.value
      if let member = member(key, of: input) {
        path.append(.string(key))
        result[key] = coerce(member, to: field.type)
        path.removeLast()
      } else if let literal = field.defaultValue {
        result[key] = coerce(.literal(literal), to: field.type)
      } else if field.type.isNonNull {
        let required = field.type.printed()
        _ = refuse(
          input, as: type, "Field \"\(key)\" of required type \"\(required)\" was not provided.")
      }
    }
    guard case .given(let value) = input else { return .object(result) }
    let known = definition.fields.names
    for key in (value.objectValue ?? [:]).keys where !known.contains(key) {
      let hint = didYouMean(suggestions(for: key, in: known)).doublyQuoted
      _ = refuse(
        input, as: type, "Field \"\(key)\" is not defined by type \"\(definition.name)\".\(hint)")
    }
    return .object(result)
  }

  private mutating func coerce(
    _ input: Input, to definition: EnumType, _ type: TypeReference
  ) -> JSONValue? {
    let name = definition.name
    guard case .given(let value) = input else { return input.leaf ?? refuse(input, as: type) }
    guard let text = value.stringValue else {
      return refuse(
        input, as: type,
        "Enum \"\(name)\" cannot represent non-string value: \(Self.shown(value)).")
    }
    guard definition.values[text] == nil else { return value }
    let hint = didYouMean(suggestions(for: text, in: definition.values.names), "the enum value")
    return refuse(
      input, as: type,
      "Value \"\(text)\" does not exist in \"\(name)\" enum.\(hint.doublyQuoted)")
  }

  /// Coerces to a built-in scalar type. Custom scalars accept any value, except files.
  ///
  /// https://spec.graphql.org/September2025/#sec-Scalars.Built-in-Scalars
  private mutating func coerceScalar(_ input: Input, to type: TypeReference) -> JSONValue? {
    guard let value = input.leaf else { return refuse(input, as: type) }
    let name = type.namedType.value
    let expectation: String
    switch name {
    case "Int":
      if let whole = value.intValue {
        if Int32(exactly: whole) != nil { return .number(JSONNumber(whole)) }
        expectation = "non 32-bit signed integer value"
      } else {
        expectation = "non-integer value"
      }
    case "Float":
      if value.doubleValue != nil { return value }
      expectation = "non numeric value"
    case "String":
      if value.stringValue != nil { return value }
      expectation = "a non string value"
    case "Boolean":
      if value.boolValue != nil { return value }
      expectation = "a non boolean value"
    case "ID":
      if value.stringValue != nil { return value }
      if let number = value.numberValue, number.isInteger { return .string(number.text) }
      expectation = "value"
    case Self.upload:
      return refuse(
        input, because: "Upload value invalid: a file is sent in a form (multipart/form-data).")
    default: return value
    }
    return refuse(
      input, because: "\(name) cannot represent \(expectation): \(Self.shown(value))")
  }

  /// The value of an input object's field; `nil` if there is none, or a variable without a value.
  private func member(_ key: String, of input: Input) -> Input? {
    switch input {
    case .given(let value): return value[key].map(Input.given)
    case .literal(let literal):
      guard case .object(let fields, _) = literal,
        let value = fields.first(where: { $0.name.value == key })?.value
      else { return nil }
      if case .variable(let name) = value, variables[name.value] == nil { return nil }
      return .literal(value)
    }
  }

  /// The file that the request has for the value being coerced.
  private func file(for input: Input) -> UploadedFile? {
    guard !files.isEmpty, let current, case .given = input else { return nil }
    let steps = path.map { $0.stringValue ?? $0.jsonText() }
    return files[([current.name.value] + steps).joined(separator: ".")]
  }

  private func isNull(_ input: Input) -> Bool {
    switch input {
    case .given(let value): value.isNull && file(for: input) == nil
    case .literal(.null): true
    case .literal: false
    }
  }

  // MARK: Errors

  /// Reports a value of another type.
  ///
  /// - Parameter reason: The message if the value belongs to a variable.
  private mutating func refuse(
    _ input: Input, as type: TypeReference, _ reason: String = ""
  ) -> JSONValue? {
    guard case .literal(let literal) = input else { return refuse(input, because: reason) }
    return refuse(
      input,
      because: "Expected value of type \"\(type.printed())\", found \(literal.printed()).")
  }

  private mutating func refuse(_ input: Input, because reason: String) -> JSONValue? {
    switch input {
    case .literal(let literal): return report(reason, at: literal.location)
    case .given(let value):
      let name = current?.name.value ?? ""
      let steps = path.map { step in step.stringValue.map { ".\($0)" } ?? "[\(step.jsonText())]" }
      let position = path.isEmpty ? "" : " at \"\(name)\(steps.joined())\""
      return report(
        "Variable \"$\(name)\" got invalid value \(Self.shown(value))\(position); \(reason)")
    }
  }

  private mutating func report(_ message: String, at location: SourceLocation? = nil) -> JSONValue?
  {
    if errors.count < Self.maxErrors {
      let location = location ?? current?.location
      errors.append(RequestError(.badUserInput, message, at: location.map { [$0] } ?? []))
    }
    return nil
  }

  /// A value as JSON in messages, truncated if it is long.
  static func shown(_ value: JSONValue) -> String {
    let text = value.jsonText()
    return text.count > 100 ? "\(text.prefix(100))…" : text
  }
}

extension InputCoercion.Input {
  /// The elements of a list; `nil` for other values.
  fileprivate var elements: [Self]? {
    switch self {
    case .given(let value): return value.arrayValue?.map(Self.given)
    case .literal(.list(let elements, _)): return elements.map(Self.literal)
    case .literal: return nil
    }
  }

  fileprivate var isObject: Bool {
    switch self {
    case .given(let value): value.objectValue != nil
    case .literal(.object): true
    case .literal: false
    }
  }

  /// The value as JSON; `nil` for literals that are lists or objects.
  fileprivate var leaf: JSONValue? {
    switch self {
    case .given(let value): value
    case .literal(.int(let text, _)), .literal(.float(let text, _)):
      JSONNumber(text: text).map(JSONValue.number)
    case .literal(.string(let text)): .string(text.value)
    case .literal(.boolean(let value, _)): .boolean(value)
    case .literal(.enumeration(let name)): .string(name.value)
    case .literal: nil
    }
  }
}
