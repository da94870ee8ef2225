import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// Coerces the variables of a request to their declared types.
///
/// The messages are those of the reference implementation, graphql-js.
///
/// https://spec.graphql.org/September2025/#sec-Coercing-Variable-Values
struct VariableCoercion {
  private let schema: Schema
  private let files: [String: UploadedFile]
  private var errors: [RequestError] = []
  /// The variable being coerced, and the path in its value.
  private var current: VariableDefinition?
  private var path: [PathElement] = []

  /// The maximum number of reported errors.
  private static let maxErrors = 20

  /// The coerced variables, with defaults; without variables that have no value.
  ///
  /// - Parameter files: The files by their paths in `values`, which has null there.
  /// - Throws: The errors of all variables.
  static func coerce(
    _ values: JSONObject, files: [String: UploadedFile] = [:],
    for definitions: [VariableDefinition], in schema: Schema
  ) throws(RequestErrors) -> JSONObject {
    var coercion = VariableCoercion(schema: schema, files: files)
    var result = JSONObject()
    for definition in definitions {
      coercion.coerce(values[definition.name.value], for: definition, into: &result)
    }
    guard coercion.errors.isEmpty else { throw RequestErrors(coercion.errors) }
    return result
  }

  private init(schema: Schema, files: [String: UploadedFile]) {
    self.schema = schema
    self.files = files
  }

  private mutating func coerce(
    _ given: JSONValue?, for definition: VariableDefinition, into result: inout JSONObject
  ) {
    let name = definition.name.value
    current = definition
    path = []
    switch given {
    case nil:
      if let literal = definition.defaultValue {
        result[name] = try? LiteralCoercion(schema: schema, variables: [:])
          .coerce(literal, to: definition.type)
      } else if definition.type.isNonNull {
        report("Variable \"$\(name)\" of required type \"\(typeText)\" was not provided.")
      }
    case .null? where definition.type.isNonNull && file == nil:
      report("Variable \"$\(name)\" of non-null type \"\(typeText)\" must not be null.")
    case let value?:
      result[name] = coerce(value, to: definition.type)
    }
  }

  private mutating func coerce(_ value: JSONValue, to type: TypeReference) -> JSONValue? {
    guard errors.count < Self.maxErrors else { return nil }
    switch type {
    case .nonNull(let inner):
      guard !isNull(value) else {
        return refuse(value, "Expected non-nullable type \"\(type.printed())\" not to be null.")
      }
      return coerce(value, to: inner)
    case .list(let inner, _):
      guard !isNull(value) else { return .null }
      guard let elements = value.arrayValue else {
        return coerce(value, to: inner).map { .array([$0]) }
      }
      var result: [JSONValue] = []
      for (index, element) in elements.enumerated() {
        path.append(.index(index))
        if let coerced = coerce(element, to: inner) { result.append(coerced) }
        path.removeLast()
      }
      return .array(result)
    case .named(let name):
      if let file {
        return name.value == Scalar.upload
          ? file.json
          : refuse(value, "A file is no value of the type \"\(name.value)\".")
      }
      guard !value.isNull else { return .null }
      return coerce(value, toNamed: name.value)
    }
  }

  /// The file that the request has for the value being coerced.
  private var file: UploadedFile? {
    guard !files.isEmpty, let current else { return nil }
    let steps = path.map { step in
      switch step {
      case .key(let key): key
      case .index(let index): String(index)
      }
    }
    return files[([current.name.value] + steps).joined(separator: ".")]
  }

  private func isNull(_ value: JSONValue) -> Bool { value.isNull && file == nil }

  private mutating func coerce(_ value: JSONValue, toNamed name: String) -> JSONValue? {
    switch schema.type(named: name) {
    case .inputObject(let definition):
      return coerce(value, to: definition)
    case .enumeration(let definition):
      guard let text = value.stringValue else {
        return refuse(value, "Enum \"\(name)\" cannot represent non-string value: \(shown(value)).")
      }
      let names = definition.values.names
      guard names.contains(text) else {
        let hint = Self.hint(for: text, in: names, "the enum value")
        return refuse(value, "Value \"\(text)\" does not exist in \"\(name)\" enum.\(hint)")
      }
      return value
    default:
      do throws(ScalarFailure) {
        return try Scalar.coerce(value, to: name)
      } catch {
        return refuse(value, error.message)
      }
    }
  }

  private mutating func coerce(
    _ value: JSONValue, to definition: InputObjectType
  ) -> JSONValue? {
    let name = definition.name
    guard let members = value.objectValue else {
      return refuse(value, "Expected type \"\(name)\" to be an object.")
    }
    var result = JSONObject()
    for field in definition.fields {
      let key = field.name.value
      if let member = members[key] {
        path.append(.key(key))
        result[key] = coerce(member, to: field.type)
        path.removeLast()
      } else if let literal = field.defaultValue {
        result[key] = try? LiteralCoercion(schema: schema, variables: [:])
          .coerce(literal, to: field.type)
      } else if field.type.isNonNull {
        let type = field.type.printed()
        _ = refuse(value, "Field \"\(key)\" of required type \"\(type)\" was not provided.")
      }
    }
    let known = definition.fields.names
    for key in members.keys where !known.contains(key) {
      let hint = Self.hint(for: key, in: known)
      _ = refuse(value, "Field \"\(key)\" is not defined by type \"\(name)\".\(hint)")
    }
    return .object(result)
  }

  private mutating func refuse(_ value: JSONValue, _ reason: String) -> JSONValue? {
    let name = current?.name.value ?? ""
    let steps = path.map { step in
      switch step {
      case .key(let key): ".\(key)"
      case .index(let index): "[\(index)]"
      }
    }.joined()
    let position = path.isEmpty ? "" : " at \"\(name)\(steps)\""
    report("Variable \"$\(name)\" got invalid value \(shown(value))\(position); \(reason)")
    return nil
  }

  private mutating func report(_ message: String) {
    guard errors.count < Self.maxErrors else { return }
    errors.append(
      RequestError(.badUserInput, message, at: current.map { [$0.location] } ?? []))
  }

  private var typeText: String { current?.type.printed() ?? "" }

  private func shown(_ value: JSONValue) -> String { Scalar.shown(value) }

  private static func hint(
    for input: String, in options: [String], _ what: String = ""
  ) -> String {
    didYouMean(suggestions(for: input, in: options), what).doublyQuoted
  }
}

/// Several errors.
struct RequestErrors: Error {
  let all: [RequestError]

  init(_ all: [RequestError]) {
    self.all = all
  }
}
