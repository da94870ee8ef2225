import GQLRunCache
import GQLRunJSON

/// A reference in a template: `row.login`, `state.since`, `op`.
struct Reference: Sendable, Hashable, CustomStringConvertible {
  var root: String
  var path: [String]

  var description: String { ([root] + path).joined(separator: ".") }
}

/// Text with references in double braces: `out/{{op}}.ndjson`. Templates contain no code.
struct TextTemplate: Sendable {
  enum Part: Sendable {
    case text(String)
    case reference(Reference)
  }

  var parts: [Part]

  struct Malformed: Error {
    var message: String
    var hint: String
  }

  init(_ text: String) throws(Malformed) {
    parts = []
    var rest = text[...]
    while let open = rest.firstRange(of: "{{") {
      if open.lowerBound > rest.startIndex {
        parts.append(.text(String(rest[..<open.lowerBound])))
      }
      rest = rest[open.upperBound...]
      guard let close = rest.firstRange(of: "}}") else {
        throw Malformed(message: "`{{` is not closed", hint: "write `{{row.name}}`")
      }
      let names = rest[..<close.lowerBound].split(
        separator: ".", omittingEmptySubsequences: false
      ).map { $0.filter { $0 != " " } }
      guard let root = names.first, names.allSatisfy({ !$0.isEmpty }),
        names.joined().allSatisfy({ $0.isLetter || $0.isNumber || "_-$".contains($0) })
      else {
        throw Malformed(
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

  /// The reference, if it is the whole text.
  var whole: Reference? {
    guard parts.count == 1, case .reference(let reference) = parts[0] else { return nil }
    return reference
  }

  /// The text, if it has no references.
  var constant: String? {
    guard references.isEmpty else { return nil }
    return parts.reduce(into: "") { if case .text(let text) = $1 { $0 += text } }
  }

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
    case "state": return Self.find(reference.path, in: state)
    default: return captured[reference.root].map { Self.find(reference.path, in: $0) } ?? .absent
    }
  }

  private static func find(_ path: [String], in object: JSONObject) -> Row.Found {
    var value = JSONValue.object(object)
    for name in path {
      guard let next = value[name] else { return .absent }
      value = next
    }
    return .value(value)
  }
}
