import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// Checks and coerces variable values before anything is sent.
///
/// A nullable variable has three states: a value, null, absent. A missing required variable, an
/// undeclared one and a value of the wrong type are errors with the name of the variable and the
/// path inside it. Enums and input objects are checked if there is a schema, and accepted unchanged
/// otherwise. Values of custom scalars are not checked.
///
/// https://spec.graphql.org/September2025/#sec-Coercing-Variable-Values
struct VariableCoercion {
  let operation: OperationDefinition
  var schema: Schema?
  /// The paths of files, where the variables have null.
  private var uploads: Set<String> = []

  init(operation: OperationDefinition, schema: Schema?) {
    self.operation = operation
    self.schema = schema
  }

  /// The variables to send with files at the paths `uploads`, where they have null.
  func coerce(
    _ given: JSONObject, uploads: some Collection<String>
  ) throws(CacheError) -> JSONObject {
    guard !uploads.isEmpty else { return try coerce(given) }
    var coercion = self
    let (variables, shown) = try given.reserving(uploads)
    coercion.uploads = shown
    return try coercion.coerce(variables)
  }

  /// The variables to send: those given, and the defaults of those that are absent.
  ///
  /// Ids become strings, as the specification coerces them: `42` and `"42"` are one id, so they are
  /// one request and one stored field, whether a flag, a JSON file or a cell gives them.
  ///
  /// https://spec.graphql.org/September2025/#sec-ID.Input-Coercion
  func coerce(_ given: JSONObject) throws(CacheError) -> JSONObject {
    let declared = operation.variables.map(\.name.value)
    for name in given.keys where !declared.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
      throw undeclared(name)
    }
    var result = JSONObject()
    for variable in operation.variables {
      let name = variable.name.value
      try checkType(of: variable)
      if let value = given[name] {
        try check(value, variable.type, name, name)
        result[name] = withTextIDs(value, variable.type)
      } else if let literal = variable.defaultValue {
        result[name] = withTextIDs(JSONValue(constant: literal), variable.type)
      } else if case .nonNull = variable.type {
        let remedy =
          variable.type.namedType.value == "Upload"
          ? "name the file with --upload \(name)=@FILE"
          : "pass it in the variables file or as --var \(name)=VALUE"
        throw CacheError(
          .invalidVariables,
          "variable \"$\(name)\" of type \(variable.type.printed()) is required by \(title) "
            + "and was not given; \(remedy)", path: "variables.\(name)")
      }
    }
    return result
  }

  private var title: String {
    operation.name.map { "\(operation.type.rawValue) \($0.value)" }
      ?? "the anonymous \(operation.type.rawValue)"
  }

  func undeclared(_ name: String) -> CacheError {
    let declared = operation.variables.map(\.name.value)
    return CacheError(
      .invalidVariables,
      "variable \"$\(name)\" is not declared by \(title); "
        + (declared.isEmpty
          ? "it declares none"
          : suggestion(for: name, in: declared).map { "did you mean \"$\($0)\"?" }
            ?? "it declares " + declared.map { "$\($0)" }.joined(separator: ", ")),
      path: "variables.\(name)")
  }

  func check(
    _ value: JSONValue, _ type: TypeReference, _ name: String, _ path: String
  ) throws(CacheError) {
    if case .null = value, uploads.contains(path) { return try checkFile(type.namedType, path) }
    switch type {
    case .nonNull(let inner):
      if case .null = value { throw mismatch(path, "expected \(type.printed()), found null") }
      try check(value, inner, name, path)
    case .list(let element, _):
      switch value {
      case .null: return
      case .array(let values):
        for (index, value) in values.enumerated() {
          try check(value, element, name, "\(path)[\(index)]")
        }
      // A single value is coerced to a list of one.
      default: try check(value, element, name, path)
      }
    case .named(let type):
      if case .null = value { return }
      switch schema?.type(named: type.value) {
      case .enumeration(let type): return try check(value, type, path)
      case .inputObject(let type): return try check(value, type, name, path)
      default: break
      }
      if type.value == "Upload" {
        let option = path.replacing("[", with: ".").replacing("]", with: "")
        throw mismatch(
          path,
          "expected a file, found \(value.shape); name the file with --upload \(option)=@FILE, or in "
            + "a program as an Upload")
      }
      if let problem = problem(of: value, as: type.value) { throw mismatch(path, problem) }
    }
  }

  /// Checks that a file can be the value of a type: of a scalar that the specification does not
  /// define.
  private func checkFile(_ type: Name, _ path: String) throws(CacheError) {
    let isScalar =
      switch schema?.type(named: type.value) {
      case .scalar?, nil: true
      default: false
      }
    guard !isScalar || Schema.builtInScalars.contains(type.value) else { return }
    throw mismatch(
      path, "expected \(type.value), found a file; --var-file sends the text of a file")
  }

  /// The value with each number that is an `ID` as a string.
  private func withTextIDs(_ value: JSONValue, _ type: TypeReference) -> JSONValue {
    switch (type, value) {
    case (_, .null), (_, .boolean): return value
    case (.nonNull(let inner), _): return withTextIDs(value, inner)
    case (.list(let element, _), .array(let values)):
      return .array(values.map { withTextIDs($0, element) })
    case (.list(let element, _), _): return withTextIDs(value, element)
    case (.named(let name), .number(let number)):
      return name.value == "ID" ? .string(number.text) : value
    case (.named(let name), .object(let object)):
      guard case .inputObject(let type)? = schema?.type(named: name.value) else { return value }
      var result = JSONObject()
      for member in object {
        result[member.key] =
          type.fields[member.key].map { withTextIDs(member.value, $0.type) } ?? member.value
      }
      return .object(result)
    case (.named, _): return value
    }
  }

  private func problem(of value: JSONValue, as type: String) -> String? {
    let found = value.shape
    switch (type, value) {
    case ("Int", .number(let number)):
      // JSON has one type of number: servers accept 1.0 as an integer.
      return Int32(number.text) != nil || Double(number.text).flatMap(Int32.init(exactly:)) != nil
        ? nil : "expected Int (32-bit, without fraction), found \(number.text.prefix(40))"
    case ("Float", .number), ("String", .string), ("Boolean", .boolean), ("ID", .string):
      return nil
    case ("ID", .number(let number)):
      return number.text.utf8.allSatisfy({ $0 != 46 && $0 != 101 && $0 != 69 })
        ? nil : "expected ID (a string or an integer), found \(number.text.prefix(40))"
    case ("Int", _), ("Float", _), ("String", _), ("Boolean", _), ("ID", _):
      return "expected \(type), found \(found)"
    default: return nil
    }
  }

  /// Checks a variable's type against the schema.
  private func checkType(of variable: VariableDefinition) throws(CacheError) {
    guard let schema else { return }
    let type = variable.type.namedType
    let name = variable.name.value
    switch schema.type(named: type.value) {
    case let known? where known.isInput: return
    case nil:
      let known = schema.typeNames.filter { schema.type(named: $0)?.isInput ?? false }
      let guess = suggestion(for: type.value, in: known).map { "; did you mean \($0)?" } ?? ""
      throw CacheError(
        .invalidVariables,
        "variables.\(name): \(title) declares it with the type \(type.value), which the schema does not "
          + "have\(guess)", path: "variables.\(name)", location: type.location)
    case _?:
      throw CacheError(
        .invalidVariables,
        "variables.\(name): \(title) declares it with the type \(type.value), which is not an input type; "
          + "use a scalar, an enum or an input object", path: "variables.\(name)",
        location: type.location)
    }
  }

  /// https://spec.graphql.org/September2025/#sec-Enums.Input-Coercion
  private func check(
    _ value: JSONValue, _ type: EnumType, _ path: String
  ) throws(CacheError) {
    guard case .string(let text) = value else {
      throw mismatch(path, "expected a value of the enum \(type.name), found \(value.shape)")
    }
    guard type.values[text] == nil else { return }
    let names = type.values.names
    let help =
      suggestion(for: text, in: names).map { "; did you mean \"\($0)\"?" }
      ?? "; there are " + names.prefix(10).joined(separator: ", ") + (names.count > 10 ? ", …" : "")
    throw mismatch(
      path, "expected a value of the enum \(type.name), found \"\(text.prefix(40))\"\(help)")
  }

  /// https://spec.graphql.org/September2025/#sec-Input-Objects.Input-Coercion
  private func check(
    _ value: JSONValue, _ type: InputObjectType, _ name: String, _ path: String
  ) throws(CacheError) {
    guard case .object(let object) = value else {
      throw mismatch(path, "expected the input object \(type.name), found \(value.shape)")
    }
    for member in object {
      guard let field = type.fields[member.key] else {
        let names = type.fields.names
        let help =
          suggestion(for: member.key, in: names).map { "; did you mean \"\($0)\"?" }
          ?? "; it has " + names.prefix(10).joined(separator: ", ")
          + (names.count > 10 ? ", …" : "")
        throw mismatch(
          "\(path).\(member.key)",
          "the input object \(type.name) has no field \"\(member.key.prefix(40))\"\(help)")
      }
      try check(member.value, field.type, name, "\(path).\(member.key)")
    }
    for field in type.fields where field.isRequired && object[field.name.value] == nil {
      throw mismatch(
        "\(path).\(field.name.value)",
        "the input object \(type.name) requires a value of type \(field.type.printed()), none was given"
      )
    }
    guard type.isOneOf else { return }
    let given = object.count
    guard given == 1 else {
      throw mismatch(
        path,
        "the input object \(type.name) takes exactly one of "
          + type.fields.names.prefix(10).joined(separator: ", ") + "; \(given) were given")
    }
    if let only = object.first, case .null = only.value {
      throw mismatch(
        "\(path).\(only.key)", "the one field of \(type.name) must have a value, found null")
    }
  }

  /// `path` starts with the variable's name.
  func mismatch(_ path: String, _ problem: String) -> CacheError {
    CacheError(
      .invalidVariables, "variables.\(path): \(problem) (a variable of \(title))",
      path: "variables.\(path)")
  }
}

extension JSONValue {
  /// The type of the value, for error messages.
  package var shape: String {
    switch self {
    case .null: "null"
    case .boolean: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "a list"
    case .object: "an object"
    }
  }

  /// The value of a literal without variables; enum values become strings, as in JSON.
  init(constant literal: GQLRunLanguage.Value) {
    switch literal {
    case .variable, .null: self = .null
    case .int(let text, _), .float(let text, _):
      self = JSONNumber(text: text).map { .number($0) } ?? .null
    case .string(let string): self = .string(string.value)
    case .boolean(let flag, _): self = .boolean(flag)
    case .enumeration(let name): self = .string(name.value)
    case .list(let values, _): self = .array(values.map { JSONValue(constant: $0) })
    case .object(let fields, _):
      var object = JSONObject()
      for field in fields { object[field.name.value] = JSONValue(constant: field.value) }
      self = .object(object)
    }
  }
}
