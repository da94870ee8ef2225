import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

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

extension ValueTemplate {
  /// The references in the value, at any depth.
  var references: [Reference] {
    switch self {
    case .constant: []
    case .reference(let reference, _): [reference]
    case .text(let template, _): template.references
    case .list(let elements): elements.flatMap { $0.references }
    case .object(let members): members.flatMap { $0.value.references }
    case .upload(let template):
      [template.path, template.contentType, template.fileName].flatMap { $0?.references ?? [] }
    }
  }
}

extension ValueTemplate: CustomStringConvertible {
  /// JSON, with references in double braces. Equal descriptions are equal values of every task.
  var description: String {
    switch self {
    case .constant(let value): value.canonicalText
    case .reference(let reference, _): "{{\(reference)}}"
    case .text(let template, _): Self.quoted(template)
    case .list(let elements): "[\(elements.map(\.description).joined(separator: ","))]"
    case .object(let members):
      "{\(members.map { Self.member($0.key, $0.value) }.sorted().joined(separator: ","))}"
    case .upload(let template):
      "upload(\([template.path, template.contentType, template.fileName].map(Self.quoted).joined(separator: ",")))"
    }
  }

  private static func member(_ key: String, _ value: ValueTemplate) -> String {
    "\(JSONValue.string(key).canonicalText):\(value)"
  }

  private static func quoted(_ template: TextTemplate?) -> String {
    template.map { JSONValue.string($0.description).canonicalText } ?? ""
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
    let value = YAMLNode.scalar(text, isPlain: isPlain)
    guard isPlain, !value.isNull, let leaf = type?.namedType.value,
      Schema.builtInScalars.contains(leaf)
    else { return value }
    return try self.value(of: text, type, name)
  }

  /// The type of an input object's field; `nil` if unknown.
  func field(_ name: String, of type: TypeReference?) -> TypeReference? {
    guard let leaf = type?.namedType.value,
      case .inputObject(let object) = schema?.type(named: leaf)
    else { return nil }
    return object.fields[name]?.type
  }
}

/// A reference in a template: `row.login`, `state.since`, `op`.
struct Reference: Sendable, Hashable, CustomStringConvertible {
  var root: String
  var path: [String]

  var description: String { ([root] + path).joined(separator: ".") }
}

/// A text of a manifest that has no value: what is wrong, and what would work.
struct MalformedText: Error, Equatable {
  var message: String
  var hint: String
}

/// Text with references in double braces: `out/{{op}}.ndjson`. Templates contain no code.
struct TextTemplate: Sendable, CustomStringConvertible {
  enum Part: Sendable {
    case text(String)
    case reference(Reference)
  }

  var parts: [Part]

  init(_ text: String) throws(MalformedText) {
    parts = []
    var rest = text[...]
    while let open = rest.firstRange(of: "{{") {
      if open.lowerBound > rest.startIndex {
        parts.append(.text(String(rest[..<open.lowerBound])))
      }
      rest = rest[open.upperBound...]
      guard let close = rest.firstRange(of: "}}") else {
        throw MalformedText(message: "`{{` is not closed", hint: "write `{{row.name}}`")
      }
      let names = rest[..<close.lowerBound].split(
        separator: ".", omittingEmptySubsequences: false
      ).map { $0.filter { $0 != " " } }
      guard let root = names.first, names.allSatisfy({ !$0.isEmpty }),
        names.joined().allSatisfy({ $0.isLetter || $0.isNumber || "_-$".contains($0) })
      else {
        throw MalformedText(
          message: "`{{\(rest[..<close.lowerBound])}}` is no name",
          hint: "templates hold names such as `{{row.name}}` and no code")
      }
      parts.append(.reference(Reference(root: root, path: Array(names.dropFirst()))))
      rest = rest[close.upperBound...]
    }
    if !rest.isEmpty { parts.append(.text(String(rest))) }
  }

  var references: [Reference] {
    parts.compactMap { if case .reference(let reference) = $0 { reference } else { nil } }
  }

  var description: String {
    parts.reduce(into: "") { text, part in
      switch part {
      case .text(let part): text += part
      case .reference(let reference): text += "{{\(reference)}}"
      }
    }
  }

  /// The reference, if it is the whole text.
  var whole: Reference? {
    guard parts.count == 1, case .reference(let reference) = parts[0] else { return nil }
    return reference
  }

  /// The text, if it has no references.
  var constant: String? { references.isEmpty ? description : nil }

  func text(in scope: Scope) throws(TaskProblem) -> String {
    var result = ""
    for part in parts {
      switch part {
      case .text(let text): result += text
      case .reference(let reference):
        switch scope.find(reference) {
        case .absent:
          throw TaskProblem("`{{\(reference)}}` has no value here, and text needs one")
        case .text(let text): result += text
        case .value(let value): result += value.stringValue ?? value.canonicalText
        }
      }
    }
    return result
  }
}

/// An error in one task that is found before its request is sent.
struct TaskProblem: Error, Sendable, CustomStringConvertible {
  var message: String

  init(_ message: String) { self.message = message }

  var description: String { message }
}

/// The values that the references of one task's templates resolve to.
struct Scope: Sendable {
  /// The name of the row in templates, from `as`.
  var rowName = "row"
  var row: Row?
  var empty = VariableReader.Empty.omit
  var operation = ""
  var state = JSONObject()
  /// The captured values of needed operations, by operation.
  var captured: [String: JSONObject] = [:]
  /// The task's key, once it is computed.
  var key = ""

  func find(_ reference: Reference) -> Row.Found {
    if let row, reference.root == rowName {
      return row.find(reference.path, empty: empty)
    }
    switch reference.root {
    case "op" where reference.path.isEmpty: return .text(operation)
    case "key" where reference.path.isEmpty: return .text(key)
    case "state": return Row.Found(state, at: reference.path)
    default:
      return captured[reference.root].map { Row.Found($0, at: reference.path) } ?? .absent
    }
  }
}

/// A file as the value of a variable: `{ upload: "{{row.path}}" }`.
struct UploadTemplate: Sendable {
  var path: TextTemplate
  var contentType: TextTemplate?
  var fileName: TextTemplate?

  /// The members of the mapping.
  static let members = ["upload", "type", "filename"]

  /// The file of one task; `nil` for an empty path, or one that is a value which the row does not have.
  ///
  /// - Parameter name: The path of the value in the variables, as messages write it.
  func upload(in scope: Scope, for name: String) throws(TaskProblem) -> TaskUpload? {
    if let reference = path.whole, case .absent = scope.find(reference) { return nil }
    let path = try path.text(in: scope)
    guard !path.isEmpty else { return nil }
    return TaskUpload(
      variable: name.replacing("[", with: ".").replacing("]", with: ""), path: path,
      contentType: try contentType?.text(in: scope), fileName: try fileName?.text(in: scope))
  }
}

/// A file that a task sends.
struct TaskUpload: Sendable, Hashable {
  /// The path of the variable: `input.attachments.0`.
  var variable: String
  /// The path of the file, relative to the manifest's folder.
  var path: String
  var contentType: String?
  var fileName: String?
}

extension Manifest {
  /// Opens the file of a task.
  ///
  /// Rows are data: they may name files in the manifest's folder and in `upload_folders` only.
  func upload(_ file: TaskUpload) throws(ChainError) -> Upload {
    let path = FilePath.resolve(file.path, in: folder)
    guard let real = FilePath.withoutLinks(path) else {
      throw ChainError(
        notSent: .uploadFailed, "cannot open \(path): \(String(cString: strerror(errno)))")
    }
    let folders = [folder] + settings.uploadFolders.map { FilePath.resolve($0, in: folder) }
    let isAllowed = folders.compactMap(FilePath.withoutLinks).contains { folder in
      real.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/")
    }
    guard isAllowed else {
      throw ChainError(
        notSent: .uploadFailed,
        "the file \(file.path) is outside the manifest's folder; allow its folder with "
          + "`upload_folders` of `run`")
    }
    return try Upload(
      path: real,
      fileName: file.fileName ?? file.path.split(separator: "/").last.map(String.init),
      contentType: file.contentType)
  }
}
