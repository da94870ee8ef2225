package import GQLRunJSON
package import GQLRunLanguage
import GQLRunSupport

/// Checks and coerces variable values before anything is sent.
///
/// A nullable variable has three states: a value, null, absent. A missing required variable, an
/// undeclared one and a value of the wrong type are errors with the name of the variable and the
/// path inside it. All of them are reported, up to a limit. Enums and input objects are checked if there is a schema, and accepted unchanged
/// otherwise. Values of custom scalars are not checked.
///
/// https://spec.graphql.org/September2025/#sec-Coercing-Variable-Values
struct VariableCoercion {
  let operation: OperationDefinition
  let schema: Schema?
  /// The paths of files, where the variables have null.
  private(set) var uploads: Set<String> = []

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

  /// The errors of variables that were found so far.
  struct Problems {
    /// The maximum number of errors that are reported.
    private static let maxReported = 20
    private(set) var found: [CacheError] = []
    /// Whether no further errors are looked for.
    var isFull: Bool { found.count >= Self.maxReported }

    mutating func add(_ error: CacheError) {
      if !isFull { found.append(error) }
    }
  }

  /// The variables to send: those given, and the defaults of those that are absent.
  ///
  /// Ids become strings, as the specification coerces them: `42` and `"42"` are one id, so they are
  /// one request and one stored field, whether a flag, a JSON file or a cell gives them.
  ///
  /// https://spec.graphql.org/September2025/#sec-ID.Input-Coercion
  func coerce(_ given: JSONObject) throws(CacheError) -> JSONObject {
    let declared = operation.variables.map(\.name.value)
    var problems = Problems()
    for name in given.keys where !declared.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
      problems.add(undeclared(name))
    }
    var result = JSONObject()
    for variable in operation.variables {
      let name = variable.name.value
      if let problem = problem(ofTypeOf: variable) {
        problems.add(problem)
      } else if let value = given[name] {
        result[name] = coerced(value, to: variable.type, path: name, problems: &problems)
      } else if let literal = variable.defaultValue {
        // The validation of the document has checked it, if there is a schema.
        var unreported = Problems()
        result[name] = coerced(
          JSONValue(constant: literal), to: variable.type, path: name, problems: &unreported)
      } else if case .nonNull = variable.type {
        let type = variable.type.namedType.value
        var error = CacheError(
          .invalidVariables,
          "variable \"$\(name)\" of type \(variable.type.printed()) is required by \(title) "
            + "and was not given"
            + (type == "Upload" ? "; name the file with --upload \(name)=@FILE" : ""),
          path: "variables.\(name)")
        error.missingType = type
        problems.add(error)
      }
    }
    if let error = CacheError(all: problems.found) { throw error }
    return result
  }

  private var title: String { operation.type.label(of: operation.name?.value) }

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

  /// The value with each number that is an `ID` as a string.
  ///
  /// - Parameters:
  ///   - path: The path of the value, which starts with the variable's name.
  ///   - problems: Gets what is wrong with the value and with its parts.
  func coerced(
    _ value: JSONValue, to type: TypeReference, path: String, problems: inout Problems
  ) -> JSONValue {
    guard !problems.isFull else { return value }
    if case .null = value {
      if uploads.contains(path) {
        checkFile(type.namedType, path: path, problems: &problems)
      } else if type.isNonNull {
        problems.add(mismatch(path, "expected \(type.printed()), found null"))
      }
      return value
    }
    switch type {
    case .nonNull(let inner): return coerced(value, to: inner, path: path, problems: &problems)
    case .list(let element, _):
      // A single value is coerced to a list of one.
      guard case .array(let values) = value else {
        return coerced(value, to: element, path: path, problems: &problems)
      }
      return .array(
        values.enumerated().map { index, value in
          coerced(value, to: element, path: "\(path)[\(index)]", problems: &problems)
        })
    case .named(let type):
      switch schema?.type(named: type.value) {
      case .enumeration(let type):
        check(value, type: type, path: path, problems: &problems)
        return value
      case .inputObject(let type):
        return coerced(value, to: type, path: path, problems: &problems)
      default: break
      }
      if type.value == "Upload" {
        let option = VariablePath(path).text
        problems.add(
          mismatch(
            path,
            "expected a file, found \(value.shape); name the file with --upload \(option)=@FILE, or in "
              + "a program as an Upload"))
      } else if let problem = problem(of: value, as: type.value) {
        problems.add(mismatch(path, problem))
      }
      if type.value == "ID", case .number(let number) = value { return .string(number.text) }
      return value
    }
  }

  /// Checks that a file can be the value of a type: of a scalar that the specification does not
  /// define.
  private func checkFile(_ type: Name, path: String, problems: inout Problems) {
    if acceptsAnyJSON(type.value) { return }
    problems.add(
      mismatch(path, "expected \(type.value), found a file; --var-file sends the text of a file"))
  }

  /// Whether the values of a type are not known: of a custom scalar, or of a type without a schema.
  func acceptsAnyJSON(_ type: String) -> Bool {
    if Schema.builtInScalars.contains(type) { return false }
    switch schema?.type(named: type) {
    case .scalar?, nil: return true
    default: return false
    }
  }

  /// The declaration of a variable; `nil` if it is not declared.
  func variable(_ name: String) -> VariableDefinition? {
    operation.variables.first { $0.name.value.utf8.elementsEqual(name.utf8) }
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

  /// What is wrong with a variable's type in the schema; `nil` if nothing is.
  private func problem(ofTypeOf variable: VariableDefinition) -> CacheError? {
    guard let schema else { return nil }
    let type = variable.type.namedType
    let name = variable.name.value
    switch schema.type(named: type.value) {
    case let known? where known.isInput: return nil
    case nil:
      let known = schema.typeNames.filter { schema.type(named: $0)?.isInput ?? false }
      let guess = suggestion(for: type.value, in: known).map { "; did you mean \($0)?" } ?? ""
      return CacheError(
        .invalidVariables,
        "variables.\(name): \(title) declares it with the type \(type.value), which the schema does not "
          + "have\(guess)", path: "variables.\(name)", location: type.location)
    case _?:
      return CacheError(
        .invalidVariables,
        "variables.\(name): \(title) declares it with the type \(type.value), which is not an input type; "
          + "use a scalar, an enum or an input object", path: "variables.\(name)",
        location: type.location)
    }
  }

  /// https://spec.graphql.org/September2025/#sec-Enums.Input-Coercion
  private func check(
    _ value: JSONValue, type: EnumType, path: String, problems: inout Problems
  ) {
    guard case .string(let text) = value else {
      return problems.add(
        mismatch(path, "expected a value of the enum \(type.name), found \(value.shape)"))
    }
    guard type.values[text] == nil else { return }
    let names = type.values.names
    let help =
      suggestion(for: text, in: names).map { "; did you mean \"\($0)\"?" }
      ?? "; there are " + names.prefix(10).joined(separator: ", ") + (names.count > 10 ? ", …" : "")
    problems.add(
      mismatch(
        path, "expected a value of the enum \(type.name), found \"\(text.prefix(40))\"\(help)"))
  }

  /// https://spec.graphql.org/September2025/#sec-Input-Objects.Input-Coercion
  private func coerced(
    _ value: JSONValue, to type: InputObjectType, path: String, problems: inout Problems
  ) -> JSONValue {
    guard case .object(let object) = value else {
      problems.add(
        mismatch(path, "expected the input object \(type.name), found \(value.shape)"))
      return value
    }
    var result = object
    for member in object {
      let path = "\(path).\(member.key)"
      if let field = type.fields[member.key] {
        result[member.key] = coerced(
          member.value, to: field.type, path: path, problems: &problems)
      } else {
        problems.add(unknownField(member.key, of: type, path))
      }
    }
    for field in type.fields where field.isRequired && object[field.name.value] == nil {
      problems.add(
        mismatch(
          "\(path).\(field.name.value)",
          "the input object \(type.name) requires a value of type \(field.type.printed()), none was "
            + "given"))
    }
    guard type.isOneOf else { return .object(result) }
    let given = object.count
    if given != 1 {
      problems.add(
        mismatch(
          path,
          "the input object \(type.name) takes exactly one of "
            + type.fields.names.prefix(10).joined(separator: ", ") + "; \(given) were given"))
    } else if let only = object.first, case .null = only.value {
      problems.add(
        mismatch(
          "\(path).\(only.key)", "the one field of \(type.name) must have a value, found null"))
    }
    return .object(result)
  }

  private func unknownField(
    _ name: String, of type: InputObjectType, _ path: String
  ) -> CacheError {
    let names = type.fields.names
    let help =
      suggestion(for: name, in: names).map { "; did you mean \"\($0)\"?" }
      ?? "; it has " + names.prefix(10).joined(separator: ", ") + (names.count > 10 ? ", …" : "")
    return mismatch(
      path, "the input object \(type.name) has no field \"\(name.prefix(40))\"\(help)")
  }

  /// The type of a part of a variable: of a field of an input object, or of an element of a list.
  ///
  /// Without a schema, and in a custom scalar, parts have the type ``anyType``.
  func type(at path: VariablePath) throws(CacheError) -> TypeReference {
    guard var type = variable(path.name)?.type else { throw undeclared(path.name) }
    var shown = path.name
    for step in path.steps.dropFirst() {
      while case .nonNull(let inner) = type { type = inner }
      switch type {
      case .list(let element, _):
        guard VariablePath.index(of: step) != nil else {
          throw mismatch(
            shown,
            "\"\(step.prefix(40))\" is not the index of an element of \(type.printed()); write "
              + "\(VariablePath(shown).text).0 for the first one")
        }
        type = element
        shown += "[\(step)]"
      case .named(let name):
        if case .inputObject(let object)? = schema?.type(named: name.value) {
          shown += ".\(step)"
          guard let field = object.fields[step] else {
            throw unknownField(step, of: object, shown)
          }
          type = field.type
        } else if acceptsAnyJSON(name.value) {
          type = Self.anyType
          shown += ".\(step)"
        } else {
          throw mismatch(shown, "\(name.value) has no part \"\(step.prefix(40))\"")
        }
      case .nonNull: break
      }
    }
    return type
  }

  /// The type of parts whose type is unknown, which no schema has: every JSON is a value of it.
  static let anyType = TypeReference.named(Name("any JSON", at: .added))

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
    self = JSONValue(literal, variables: JSONObject()) ?? .null
  }

  /// The value of a literal; `nil` for an absent variable. Fields of objects with such a value are omitted, elements
  /// of lists are null.
  package init?(_ literal: GQLRunLanguage.Value, variables: JSONObject) {
    switch literal {
    case .variable(let name):
      guard let value = variables[name.value] else { return nil }
      self = value
    case .null: self = .null
    case .int(let text, _), .float(let text, _):
      self = JSONNumber(text: text).map { .number($0) } ?? .null
    case .string(let string): self = .string(string.value)
    case .boolean(let flag, _): self = .boolean(flag)
    case .enumeration(let name): self = .string(name.value)
    case .list(let values, _):
      self = .array(values.map { JSONValue($0, variables: variables) ?? .null })
    case .object(let fields, _):
      var object = JSONObject()
      for field in fields {
        object[field.name.value] = JSONValue(field.value, variables: variables)
      }
      self = .object(object)
    }
  }
}
