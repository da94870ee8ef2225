public import GQLRunJSON
public import GQLRunLanguage
import GQLRunSupport

/// Reads the variables of an operation from text by the types that the operation declares.
///
/// `--var`, `--var-file` and the cells of tables all use this one rule, so the same text for the
/// same type is the same value everywhere. Only the command line also reads
/// ``jsonSpelling(of:for:)``.
///
/// | declared type | text | value |
/// |---|---|---|
/// | `String`, `ID` | anything | the text itself |
/// | `Int`, `Float` | `10`, `1.5e3` | the number, within the bounds of the type |
/// | `Boolean` | `true`, `false`, in any case | the boolean |
/// | an enum | one of its names, with or without quotes | the name |
/// | a list, an input object | JSON | what the JSON says, every part checked |
/// | a list | one value of its elements, not in `[…]` | a list of that one |
/// | a custom scalar, or a type that is unknown without a schema | JSON, else the text itself | |
///
/// A nullable variable has three states: a value, null, and absent. ``Empty`` decides what an empty
/// text means. The text `null` is null, except for strings and ids, where it is the text itself.
///
/// ```swift
/// let reader = try VariableReader(document: document, schema: schema)
/// let first = try reader.value(ofText: "10", for: "first")  // the number 10
/// let none = try reader.value(ofText: "", for: "after", empty: .omit)  // nil: absent
/// ```
public struct VariableReader: Sendable {
  /// The meaning of empty text.
  public enum Empty: String, Sendable, Hashable, CaseIterable {
    /// The variable is absent, so its default applies.
    case omit
    /// The value is null.
    case null
    /// An empty string; an error for types other than strings and IDs.
    case string
  }

  private let coercion: VariableCoercion

  /// Creates a reader for one operation of a document.
  ///
  /// - Throws: ``CacheError`` with code `invalidOperation` if there is no such operation.
  public init(
    document: Document, operationName: String? = nil, schema: Schema? = nil
  ) throws(CacheError) {
    let (operation, _) = try PreparedOperation.select(operationName, in: document)
    coercion = VariableCoercion(operation: operation, schema: schema)
  }

  init(_ coercion: VariableCoercion) { self.coercion = coercion }

  /// The names of the declared variables, in their order.
  public var names: [String] { coercion.operation.variables.map(\.name.value) }

  /// The declared type of a variable; `nil` if it is not declared.
  public func type(of name: String) -> TypeReference? { coercion.variable(name)?.type }

  /// Whether a variable is required: non-null and without a default.
  public func isRequired(_ name: String) -> Bool {
    coercion.variable(name).map { $0.type.isNonNull && $0.defaultValue == nil } ?? false
  }

  /// The value of `text` for a variable; `nil` if the variable is absent.
  ///
  /// - Throws: ``CacheError`` with code `invalidVariables` and the path inside the value:
  ///   `variables.input.tags[2]: …`.
  public func value(
    ofText text: String, for name: String, empty: Empty = .omit
  ) throws(CacheError) -> JSONValue? {
    guard let type = coercion.variable(name)?.type else { throw coercion.undeclared(name) }
    return try value(ofText: text, as: type, for: name, empty: empty)
  }

  /// The value of `text` for a part of a variable: a field of its input object, or an element.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - type: The type of the part.
  ///   - name: The path of the part, for error messages.
  ///   - empty: The meaning of empty text.
  public func value(
    ofText text: String, as type: TypeReference, for name: String, empty: Empty = .omit
  ) throws(CacheError) -> JSONValue? {
    if text.isEmpty {
      switch empty {
      case .omit: return nil
      case .null: return try checked(.null, name: name, type: type)
      case .string where type.acceptsText || coercion.acceptsAnyJSON(type.namedType.value): break
      case .string:
        throw coercion.mismatch(name, "expected \(type.printed()), found an empty text")
      }
    }
    return try checked(read(text, type: type, name: name), name: name, type: type)
  }

  /// The value of `text` if it is JSON instead of the plain text of a string or an ID:
  /// `null`, or a JSON string in double quotes; `nil` for other texts and types.
  ///
  /// The command line uses it for `--var code="PT"` and `--var after=null`. Cells of tables are data:
  /// a quoted phrase keeps its quotes.
  public func jsonSpelling(of text: String, for name: String) -> JSONValue? {
    coercion.variable(name).flatMap { Self.jsonSpelling(of: text, as: $0.type) }
  }

  private static func jsonSpelling(of text: String, as type: TypeReference) -> JSONValue? {
    guard type.acceptsText else { return nil }
    switch try? JSONValue(parsing: text) {
    case .null?: return .null
    case .string(let string)?: return .string(string)
    default: return nil
    }
  }

  /// Checks a value from JSON or YAML against the declared type.
  public func value(_ value: JSONValue, for name: String) throws(CacheError) -> JSONValue {
    guard let type = coercion.variable(name)?.type else { throw coercion.undeclared(name) }
    return try checked(value, name: name, type: type)
  }

  // MARK: - Parts

  /// The value of `text` for a variable or a part of it, as the command line reads it: an empty text is an
  /// empty string, and ``jsonSpelling(of:for:)`` applies.
  package func value(
    ofText text: String, at path: VariablePath, readsJSON: Bool = true
  ) throws(CacheError) -> JSONValue {
    let type = try coercion.type(at: path)
    if readsJSON, let json = Self.jsonSpelling(of: text, as: type) {
      return try checked(json, name: path.text, type: type)
    }
    return try value(ofText: text, as: type, for: path.text, empty: .string) ?? .null
  }

  /// Checks a value from JSON against the type of a variable or of a part of it.
  package func value(
    _ value: JSONValue, at path: VariablePath
  ) throws(CacheError) -> JSONValue {
    try checked(value, name: path.text, type: coercion.type(at: path))
  }

  private func checked(
    _ value: JSONValue, name: String, type: TypeReference
  ) throws(CacheError) -> JSONValue {
    var problems = VariableCoercion.Problems()
    _ = coercion.coerced(value, to: type, path: name, problems: &problems)
    if let error = CacheError(all: problems.found) { throw error }
    return value
  }

  // MARK: - Text

  private func read(
    _ text: String, type: TypeReference, name: String
  ) throws(CacheError) -> JSONValue {
    switch type {
    case .nonNull(let inner): return try read(text, type: inner, name: name)
    case .list(let element, _):
      if text.firstFilled == "[" { return try json(text, name: name, type: type) }
      if text.trimmed == "null" { return .null }
      return .array([try read(text, type: element, name: name)])
    case .named(let named): return try read(text, type: named.value, name: name)
    }
  }

  private func read(_ text: String, type: String, name: String) throws(CacheError) -> JSONValue {
    switch type {
    case "String", "ID": return .string(text)
    case "Int", "Float":
      let trimmed = text.trimmed
      if trimmed == "null" { return .null }
      guard let number = JSONNumber(text: trimmed) else {
        throw coercion.mismatch(
          name, "expected \(type), found \"\(text.prefix(40))\", which is not a number")
      }
      return .number(number)
    case "Boolean":
      switch text.trimmed.lowercased() {
      case "null": return .null
      case "true": return .boolean(true)
      case "false": return .boolean(false)
      default:
        throw coercion.mismatch(
          name, "expected Boolean, found \"\(text.prefix(40))\"; write true or false")
      }
    default: break
    }
    switch coercion.schema?.type(named: type) {
    case .enumeration(let enumeration)?:
      let name = text.trimmed
      // An enum may have a value of that name in another case only.
      if name == "null", enumeration.values["null"] == nil { return .null }
      // A name never contains quotes, so quoted JSON cannot mean anything else.
      if case .string(let quoted)? = try? JSONValue(parsing: name) { return .string(quoted) }
      return .string(name)
    case .inputObject?:
      if text.trimmed == "null" { return .null }
      return try json(text, name: name, type: .named(Name(type, at: .added)))
    default:
      // Text that starts like an object or list is parsed as one.
      if text.firstFilled == "{" || text.firstFilled == "[" {
        return try json(text, name: name, type: .named(Name(type, at: .added)))
      }
      return (try? JSONValue(parsing: text)) ?? .string(text)
    }
  }

  private func json(
    _ text: String, name: String, type: TypeReference
  ) throws(CacheError) -> JSONValue {
    do {
      return try JSONValue(parsing: text)
    } catch {
      throw coercion.mismatch(
        name,
        "expected \(type.printed()) as JSON, found a text that is not JSON at byte "
          + "\(error.offset): \(error.message)")
    }
  }
}

extension TypeReference {
  /// Whether every text is a value of the type.
  fileprivate var acceptsText: Bool {
    switch self {
    case .nonNull(let inner): inner.acceptsText
    case .list(let element, _): element.acceptsText
    case .named(let name): name.value == "String" || name.value == "ID"
    }
  }
}

extension String {
  fileprivate var trimmed: String {
    trimmingEnds { $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r\n" }
  }

  fileprivate var firstFilled: Character? { trimmed.first }
}

/// The path of a variable or of a part of it: names and list indices, such as `input.attachments.0`.
///
/// The multipart request specification separates them by dots; `input.attachments[0]`, as in error
/// messages, is the same path.
package struct VariablePath: Sendable, Hashable, Comparable {
  /// The name of the variable, then names of fields and indices of elements.
  package let steps: [String]

  /// The name of the variable.
  package var name: String { steps[0] }
  /// Whether the path is that of a whole variable.
  package var isWhole: Bool { steps.count == 1 }
  /// The steps, separated by dots.
  package var text: String { steps.joined(separator: ".") }

  /// Parses a path. A bracket that is not closed is part of a name.
  package init(_ text: String) {
    var steps: [String] = []
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      guard part.last == "]", let open = part.firstIndex(of: "["),
        case let indices = part[part.index(after: open)...].dropLast().split(
          separator: "][", omittingEmptySubsequences: false),
        !indices.contains(where: { $0.isEmpty || $0.contains("[") || $0.contains("]") })
      else {
        steps.append(String(part))
        continue
      }
      steps.append(String(part[..<open]))
      steps += indices.map { String($0) }
    }
    self.steps = steps
  }

  /// The index of an element that a step is; `nil` for a name.
  static func index(of step: String) -> Int? {
    step.utf8.allSatisfy { (48...57).contains($0) } ? Int(step) : nil
  }

  /// In the order in which parts are created: elements of a list by their index, so that each extends the
  /// list by one.
  package static func < (left: Self, right: Self) -> Bool {
    guard let (one, other) = zip(left.steps, right.steps).first(where: { $0 != $1 }) else {
      return left.steps.count < right.steps.count
    }
    guard let first = index(of: one), let second = index(of: other) else { return one < other }
    return first < second
  }
}

extension JSONValue {
  /// The value at a path such as `input.attachments.0`; `nil` if there is none.
  package func value(at path: String) -> JSONValue? {
    VariablePath(path).steps.reduce(self) { value, step in
      switch value {
      case .array(let elements):
        VariablePath.index(of: step).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
      default: value?[step]
      }
    }
  }
}

extension JSONObject {
  /// The variables with null at each path, in objects and lists that are created where they are
  /// missing.
  ///
  /// - Returns: The variables, and the paths as error messages write them: `input.attachments[0]`.
  func reserving(
    _ uploads: some Collection<String>
  ) throws(CacheError) -> (variables: JSONObject, shown: Set<String>) {
    var value = JSONValue.object(self)
    var shown: Set<String> = []
    for path in uploads.map({ VariablePath($0) }).sorted() {
      let change = PartChange(subject: "the upload ", value: nil)
      shown.insert(try change.apply(to: &value, path.steps[...], below: ""))
    }
    return (value.objectValue ?? self, shown)
  }

  /// Sets a part of a variable, in objects and lists that are created where they are missing.
  ///
  /// - Throws: ``CacheError`` with code `invalidVariables` if the variable has another value in between, or
  ///   the list has too few elements.
  package mutating func set(_ new: JSONValue, at path: VariablePath) throws(CacheError) {
    var value = JSONValue.object(self)
    _ = try PartChange(subject: "variables.", value: new).apply(
      to: &value, path.steps[...], below: "")
    self = value.objectValue ?? self
  }
}

/// Puts a value into variables.
private struct PartChange {
  /// The beginning of messages, which the path follows.
  var subject: String
  /// The new value; `nil` puts null where there is no value yet.
  var value: JSONValue?

  /// The maximum number of steps of a path: each is a level of the stack.
  private static let maxSteps = 500

  /// Changes the value at `steps`, below the path `shown`; returns the whole path.
  func apply(
    to target: inout JSONValue, _ steps: ArraySlice<String>, below shown: String
  ) throws(CacheError) -> String {
    func problem(_ text: String) -> CacheError {
      CacheError(
        .invalidVariables,
        "\(subject)\(shown.isEmpty ? steps.joined(separator: ".") : shown): \(text)",
        path: "variables.\(shown)")
    }
    guard steps.endIndex <= Self.maxSteps else {
      let name = steps.first ?? ""
      throw CacheError(
        .invalidVariables, "\(subject)\(name): a path has at most \(Self.maxSteps) parts",
        path: "variables.\(name)")
    }
    guard let step = steps.first else {
      guard value != nil || target.isNull else {
        throw problem("the variables already have \(target.shape) there")
      }
      target = value ?? .null
      return shown
    }
    let rest = steps.dropFirst()
    guard !step.isEmpty else {
      throw problem("write the path of a variable, such as input.attachments.0")
    }
    if let index = VariablePath.index(of: step), target.isNull || target.arrayValue != nil {
      var elements = target.arrayValue ?? []
      guard index <= elements.count else {
        throw problem(
          "the list has \(elements.count) elements; give element \(elements.count), too")
      }
      if index == elements.count { elements.append(.null) }
      let path = try apply(to: &elements[index], rest, below: "\(shown)[\(index)]")
      target = .array(elements)
      return path
    }
    guard target.isNull || target.objectValue != nil else {
      throw problem("the variables have \(target.shape) there, which has no member \"\(step)\"")
    }
    var object = target.objectValue ?? JSONObject()
    var member = object[step] ?? .null
    let path = try apply(to: &member, rest, below: shown.isEmpty ? step : "\(shown).\(step)")
    object[step] = member
    target = .object(object)
    return path
  }
}
