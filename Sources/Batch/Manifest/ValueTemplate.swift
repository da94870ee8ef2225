import GQLRunCache
import GQLRunJSON
import GQLRunLanguage

/// The value of a variable, with references that are filled in for each task.
///
/// A value that consists of a single reference keeps the type of the referenced value; text from
/// CSV is converted to the declared type.
indirect enum ValueTemplate: Sendable {
  case constant(JSONValue)
  case reference(Reference, TypeReference?)
  case text(TextTemplate, TypeReference?)
  case list([ValueTemplate])
  case object([(key: String, value: ValueTemplate)])
  case upload(UploadTemplate)

  /// Whether the value has a file.
  var hasUpload: Bool {
    switch self {
    case .upload: true
    case .list(let elements): elements.contains { $0.hasUpload }
    case .object(let members): members.contains { $0.value.hasUpload }
    case .constant, .reference, .text: false
    }
  }

  /// The value for one task; `nil` leaves the variable out.
  ///
  /// - Parameters:
  ///   - name: The path of the value in the variables, for errors.
  ///   - uploads: Receives the files of the value, which has null in their places.
  func value(
    in scope: Scope, types: TypedText, _ name: String, uploads: inout [TaskUpload]
  ) throws(TaskProblem) -> JSONValue? {
    switch self {
    case .upload(let template):
      do throws(TaskProblem) {
        guard let upload = try template.upload(in: scope, for: name) else { return nil }
        uploads.append(upload)
        return .null
      } catch {
        throw TaskProblem("variables.\(name): \(error.message)")
      }
    case .constant(let value): return value
    case .reference(let reference, let type):
      switch scope.find(reference) {
      case .absent: return nil
      case .value(let value): return value
      case .text(let text): return try types.value(of: text, type, name)
      }
    case .text(let template, let type):
      let text: String
      do throws(TaskProblem) {
        text = try template.text(in: scope)
      } catch {
        throw TaskProblem("variables.\(name): \(error.message)")
      }
      return try types.value(of: text, type, name)
    case .list(let elements):
      var values: [JSONValue] = []
      for (location, element) in elements.enumerated() {
        values.append(
          try element.value(
            in: scope, types: types, "\(name)[\(location)]", uploads: &uploads) ?? .null)
      }
      return .array(values)
    case .object(let members):
      var object = JSONObject()
      for member in members {
        object[member.key] = try member.value.value(
          in: scope, types: types, "\(name).\(member.key)", uploads: &uploads)
      }
      return .object(object)
    }
  }
}

/// Converts text from files to the types that an operation declares.
struct TypedText: Sendable {
  let reader: VariableReader
  var schema: Schema?

  /// `text` as a value of `type`; a string if `type` is `nil`.
  func value(
    of text: String, _ type: TypeReference?, _ name: String
  ) throws(TaskProblem) -> JSONValue {
    guard let type else { return .string(text) }
    do throws(CacheError) {
      return try reader.value(ofText: text, as: type, for: name, empty: .string) ?? .null
    } catch {
      throw TaskProblem(error.message)
    }
  }

  /// A scalar of a manifest: quoted text is a string; plain text is converted to the declared type
  /// or, if none is known, to its JSON type.
  func value(
    ofScalar text: String, isPlain: Bool, _ type: TypeReference?, _ name: String
  ) throws(TaskProblem) -> JSONValue {
    if isPlain, !Self.isNull(text), let leaf = type?.namedType.value,
      Schema.builtInScalars.contains(leaf)
    {
      return try value(of: text, type, name)
    }
    return Self.value(ofScalar: text, isPlain: isPlain)
  }

  /// A YAML scalar with its JSON type.
  static func value(ofScalar text: String, isPlain: Bool) -> JSONValue {
    guard isPlain else { return .string(text) }
    if isNull(text) { return .null }
    if text == "true" || text == "false" { return .boolean(text == "true") }
    return JSONNumber(text: text).map { .number($0) } ?? .string(text)
  }

  private static func isNull(_ text: String) -> Bool {
    text.isEmpty || text == "null" || text == "~"
  }

  /// The type of an input object's field; `nil` if unknown.
  func field(_ name: String, of type: TypeReference?) -> TypeReference? {
    guard let leaf = type?.namedType.value,
      case .inputObject(let object) = schema?.type(named: leaf)
    else { return nil }
    return object.fields[name]?.type
  }
}

extension TypeReference {
  /// The element type of this list type.
  var element: TypeReference? {
    switch self {
    case .named: nil
    case .list(let element, _): element
    case .nonNull(let inner): inner.element
    }
  }
}
