import GraphQL
import JSONStream

/// Holds given variable values against what an operation declares, before anything is sent.
///
/// A nullable variable has three states: a value, null, absent. A missing required variable, an
/// undeclared one and a value of the wrong shape are errors that name the variable and the path inside
/// it. Custom scalars, enums and input objects are accepted as they are: only a schema knows them.
///
/// https://spec.graphql.org/September2025/#sec-Coercing-Variable-Values
struct VariableCoercion {
  let operation: OperationDefinition

  /// The variables to send: those given, and the defaults of those that are absent.
  func coerce(_ given: JSONObject) throws(CacheError) -> JSONObject {
    let declared = operation.variables.map(\.name.value)
    for name in given.keys where !declared.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
      throw CacheError(
        .invalidVariables,
        "variable \"$\(name)\" is not declared by \(title); "
          + (declared.isEmpty
            ? "it declares none"
            : suggestion(for: name, in: declared).map { "did you mean \"$\($0)\"?" }
              ?? "it declares " + declared.map { "$\($0)" }.joined(separator: ", ")))
    }
    var result = JSONObject()
    for variable in operation.variables {
      let name = variable.name.value
      if let value = given[name] {
        try check(value, variable.type, name, "$\(name)")
        result[name] = value
      } else if let literal = variable.defaultValue {
        result[name] = JSONValue(constant: literal)
      } else if case .nonNull = variable.type {
        throw CacheError(
          .invalidVariables,
          "variable \"$\(name)\" of type \(variable.type.printed()) is required by \(title) "
            + "and was not given; pass it in the variables file or as --var \(name)=JSON")
      }
    }
    return result
  }

  private var title: String {
    operation.name.map { "\(operation.type.rawValue) \($0.value)" }
      ?? "the anonymous \(operation.type.rawValue)"
  }

  private func check(
    _ value: JSONValue, _ type: TypeReference, _ name: String, _ path: String
  ) throws(CacheError) {
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
      // A single value stands for a list of one.
      default: try check(value, element, name, path)
      }
    case .named(let type):
      if case .null = value { return }
      if let problem = problem(of: value, as: type.value) { throw mismatch(path, problem) }
    }
  }

  private func problem(of value: JSONValue, as type: String) -> String? {
    let found = value.shape
    switch (type, value) {
    case ("Int", .number(let number)):
      return Int32(number.text) != nil
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

  private func mismatch(_ path: String, _ problem: String) -> CacheError {
    CacheError(
      .invalidVariables, "variable \"\(path)\" of \(title): \(problem)", place: path)
  }
}

extension JSONValue {
  /// What kind of value this is, in words.
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

  /// The value of a literal without variables; enum values become strings, as they travel in JSON.
  init(constant literal: GraphQL.Value) {
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
