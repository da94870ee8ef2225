import GraphQL
import JSONStream

/// The value of a variable, with places that are filled in for each task.
///
/// A value that is only `{{x}}` keeps the type of x; text from CSV takes the declared type.
indirect enum ValueTemplate: Sendable {
  case constant(JSONValue)
  case reference(Reference, TypeReference?)
  case text(TextTemplate, TypeReference?)
  case list([ValueTemplate])
  case object([(key: String, value: ValueTemplate)])

  /// The value for one task; `nil` when there is none, so that a variable is left out.
  func value(in scope: Scope, types: TypedText) throws(TaskProblem) -> JSONValue? {
    switch self {
    case .constant(let value): return value
    case .reference(let reference, let type):
      switch scope.find(reference) {
      case .absent: return nil
      case .value(let value): return value
      case .text(let text): return try types.value(of: text, type)
      }
    case .text(let template, let type): return try types.value(of: template.text(in: scope), type)
    case .list(let elements):
      var values: [JSONValue] = []
      for element in elements {
        values.append(try element.value(in: scope, types: types) ?? .null)
      }
      return .array(values)
    case .object(let members):
      var object = JSONObject()
      for member in members {
        object[member.key] = try member.value.value(in: scope, types: types)
      }
      return .object(object)
    }
  }
}

/// Gives text from files the type that an operation declares.
struct TypedText: Sendable {
  var schema: Schema?

  /// `text` as a value of `type`; text for types that are not known here.
  func value(of text: String, _ type: TypeReference?) throws(TaskProblem) -> JSONValue {
    switch type {
    case nil: return .string(text)
    case .nonNull(let inner): return try value(of: text, inner)
    case .list(let element, _):
      guard text.first == "[" else { return try value(of: text, element) }
      return try json(text, "a list")
    case .named(let name): return try value(of: text, named: name.value)
    }
  }

  private func value(of text: String, named type: String) throws(TaskProblem) -> JSONValue {
    switch type {
    case "ID", "String": return .string(text)
    case "Int":
      guard let number = Int32(text), String(number) == text else {
        throw TaskProblem("expected Int (32-bit, without fraction), found \"\(text.prefix(40))\"")
      }
      return .number(JSONNumber(number))
    case "Float":
      guard let number = JSONNumber(text: text) else {
        throw TaskProblem("expected Float such as 1.5, found \"\(text.prefix(40))\"")
      }
      return .number(number)
    case "Boolean":
      guard text == "true" || text == "false" else {
        throw TaskProblem("expected true or false, found \"\(text.prefix(40))\"")
      }
      return .boolean(text == "true")
    default:
      if case .inputObject = schema?.type(named: type) { return try json(text, "an object") }
      return text.first == "{" ? (try? JSONValue(parsing: text)) ?? .string(text) : .string(text)
    }
  }

  private func json(_ text: String, _ what: String) throws(TaskProblem) -> JSONValue {
    do {
      return try JSONValue(parsing: text)
    } catch {
      throw TaskProblem("expected \(what) as JSON, found \"\(text.prefix(40))\": \(error.message)")
    }
  }

  /// A scalar of a manifest: quoted text is text, plain text takes the declared type, and where none is
  /// known it is what JSON says.
  func value(
    ofScalar text: String, isPlain: Bool, _ type: TypeReference?
  ) throws(TaskProblem) -> JSONValue {
    guard isPlain else { return .string(text) }
    if text.isEmpty || text == "null" || text == "~" { return .null }
    if let name = type?.leaf, ["ID", "String", "Int", "Float", "Boolean"].contains(name) {
      return try value(of: text, type)
    }
    if text == "true" || text == "false" { return .boolean(text == "true") }
    return JSONNumber(text: text).map { .number($0) } ?? .string(text)
  }

  /// The type of a field of an input object; `nil` when that is not known.
  func field(_ name: String, of type: TypeReference?) -> TypeReference? {
    guard let leaf = type?.leaf, case .inputObject(let object) = schema?.type(named: leaf) else {
      return nil
    }
    return object.fields[name]?.type
  }
}

extension TypeReference {
  /// The name of the type without lists and `!`.
  var leaf: String {
    switch self {
    case .named(let name): name.value
    case .list(let element, _): element.leaf
    case .nonNull(let inner): inner.leaf
    }
  }

  /// The type of an element of this list type.
  var element: TypeReference? {
    switch self {
    case .named: nil
    case .list(let element, _): element
    case .nonNull(let inner): inner.element
    }
  }
}
