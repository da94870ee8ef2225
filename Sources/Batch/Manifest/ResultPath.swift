import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// A path into a result, such as `organization.repositories.nodes[*]`; `[*]` matches every element.
struct ResultPath: Sendable, Hashable, CustomStringConvertible {
  enum Step: Sendable, Hashable {
    case key(String)
    case each
    case index(Int)
  }

  var steps: [Step]
  var description: String

  /// The path of the data itself.
  init() {
    steps = []
    description = ""
  }

  init?(_ text: String) {
    description = text
    steps = []
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      let pieces = part.split(separator: "[", omittingEmptySubsequences: false)
      guard let name = pieces.first, !name.isEmpty,
        name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
      else { return nil }
      steps.append(.key(String(name)))
      for piece in pieces.dropFirst() {
        if piece == "*]" {
          steps.append(.each)
        } else if piece.last == "]", let index = Int(piece.dropLast()), index >= 0 {
          steps.append(.index(index))
        } else {
          return nil
        }
      }
    }
  }

  /// The keys of the path, without list steps.
  var keys: [String] {
    steps.compactMap { if case .key(let key) = $0 { key } else { nil } }
  }

  /// All values at the path; empty where an object on the path is null or absent.
  ///
  /// - Parameter countsNull: Whether what an object on the path would have is null if the object is.
  func values(in value: JSONValue, countsNull: Bool = false) -> [JSONValue] {
    values(value, 0, countsNull: countsNull)
  }

  private func values(_ value: JSONValue, _ index: Int, countsNull: Bool) -> [JSONValue] {
    guard index < steps.count else { return [value] }
    func rest(_ value: JSONValue) -> [JSONValue] {
      values(value, index + 1, countsNull: countsNull)
    }
    switch steps[index] {
    case .key where countsNull && value.isNull, .index where countsNull && value.isNull:
      return [.null]
    case .key(let key): return value[key].map(rest) ?? []
    case .index(let index): return value[index].map(rest) ?? []
    case .each: return (value.arrayValue ?? []).flatMap(rest)
    }
  }

  /// The result of a lookup in one record.
  enum Found {
    case value(JSONValue)
    /// An object or list on the path is null, or empty.
    case null
    /// An object on the path does not have the next key.
    case absent
    case mismatch(PathMismatch)
  }

  /// Looks up the path; if it goes through lists, the result is the first match, unless an element does not fit.
  func look(in value: JSONValue) -> Found { look(value, 0) }

  private func look(_ value: JSONValue, _ index: Int) -> Found {
    guard index < steps.count else { return .value(value) }
    if value.isNull { return .null }
    switch (steps[index], value) {
    case (.key(let key), .object(let object)):
      return object[key].map { look($0, index + 1) } ?? .absent
    case (.index(let location), .array(let elements)):
      return elements.indices.contains(location) ? look(elements[location], index + 1) : .null
    case (.each, .array(let elements)):
      var found = Found.null
      for element in elements {
        let next = look(element, index + 1)
        if case .mismatch = next { return next }
        if case .value = found { continue }
        found = next
      }
      return found
    default: return .mismatch(PathMismatch(self, at: index, isList: value.arrayValue != nil))
    }
  }

  /// The text of the steps before `end`.
  fileprivate func text(upTo end: Int) -> String {
    // The first step is a key.
    String(steps[..<end].map(\.shown).joined().dropFirst())
  }
}

/// A value on a path has the wrong shape: a list without `[*]`, or `[*]` on a value that is no
/// list.
struct PathMismatch: Sendable, Equatable, CustomStringConvertible {
  /// The error and the correction; continues a sentence after the option's name.
  let description: String

  /// - Parameters:
  ///   - index: The step that does not fit the value before it.
  ///   - isList: Whether the value before the step is a list.
  init(_ path: ResultPath, at index: Int, isList: Bool) {
    let before = path.text(upTo: index)
    let rest = path.description.dropFirst(before.count)
    let shown = before.isEmpty ? "the data" : "`\(before)`"
    if isList {
      description = "leads through \(shown), which is a list; write `\(before)[*]\(rest)`"
    } else if index < path.steps.count, case .key(let key) = path.steps[index] {
      description = "asks for `\(key)` of \(shown), which is not an object"
    } else {
      description = "asks for elements of \(shown), which is not a list; write it without `[*]`"
    }
  }
}

/// Validates paths into a result against the document and, if there is one, the schema.
///
/// The document determines the response keys; only the schema determines which of them are lists.
struct PathShape {
  /// What a path must refer to.
  enum End {
    /// An object or leaf value for each match, not a list.
    case record
    /// Any value.
    case value
    /// The list itself.
    case list
    /// A single object with `pageInfo`.
    case connection
  }

  struct Problem {
    /// Continues a sentence after the option's name: "leads to `x`, which the document does not
    /// select".
    var message: String
    var hint: String?
  }

  let tree: SelectionTree

  /// A hint for a column that a field of the root selects: the records probably begin there.
  func emitHint(for column: ResultPath) -> String? {
    guard let key = column.keys.first,
      let holder = tree.fields(of: tree.root).first(where: { entry in
        tree.fields(of: tree.below([entry])).contains { $0.key == key }
      })?.key
    else { return nil }
    return
      "`\(holder)` has it, and without `emit` a record is the whole result: add `emit: \(holder)` to the "
      + "operation, or `emit: \(holder)[*]` for a list"
  }

  /// The error of a path; `nil` if no error is known.
  ///
  /// - Parameter base: The path of the records that `path` is relative to; validated separately.
  func problem(of path: ResultPath, below base: ResultPath? = nil, endsAt end: End) -> Problem? {
    var scopes = tree.scopes(at: base?.keys ?? [])
    // The number of list levels not yet indexed after the last key; `nil` if unknown.
    var open: Int? = 0
    var text = ""
    for step in path.steps {
      switch step {
      case .key(let key):
        if let open, open > 0 { return listProblem(path, text) }
        let all = tree.fields(of: scopes)
        let found = all.filter { $0.key == key }
        guard !found.isEmpty else {
          return Problem(
            message: "leads to `\(key)`, which the document does not select",
            hint: suggestion(for: key, in: all.map(\.key)).map { "did you mean `\($0)`?" })
        }
        let depths = Set(found.map { depth(of: $0) })
        open = depths.count == 1 ? depths.first ?? nil : nil
        scopes = tree.below(found)
        text += (text.isEmpty ? "" : ".") + key
      case .each, .index:
        if open == 0 {
          return Problem(
            message: "takes elements of `\(text)`, which is not a list", hint: "write `\(text)`")
        }
        open = open.map { $0 - 1 }
        text += step.shown
      }
    }
    switch end {
    case .value: return nil
    case .record: return open.map { $0 > 0 } == true ? listProblem(path, text) : nil
    case .connection:
      if path.steps.contains(.each) || open.map({ $0 > 0 }) == true {
        return Problem(
          message: "leads to several connections, and pages are read of one",
          hint: "name one of them, as with `[0]`, or complete those of records with `nested`")
      }
      return nil
    case .list:
      if path.steps.last == .each {
        return Problem(
          message: "names the elements, and the list itself is counted",
          hint: "write `\(path.description.dropLast(3))`")
      }
      return open == 0
        ? Problem(message: "leads to `\(text)`, which is not a list", hint: nil) : nil
    }
  }

  /// Whether the records at a path have fields.
  func hasFields(at path: ResultPath?) -> Bool {
    !tree.scopes(at: path?.keys ?? []).isEmpty
  }

  private func listProblem(_ path: ResultPath, _ list: String) -> Problem {
    let rest = path.description.dropFirst(list.count)
    return Problem(
      message: "leads to the list `\(list)` as if it were one object",
      hint: "write `\(list)[*]\(rest)`")
  }

  /// The number of list levels of a field's type; `nil` if unknown.
  private func depth(of entry: SelectionTree.Entry) -> Int? {
    tree.type(of: entry)?.listDepth ?? (entry.name == "__typename" ? 0 : nil)
  }
}

extension ResultPath.Step {
  fileprivate var shown: String {
    switch self {
    case .key(let key): "." + key
    case .each: "[*]"
    case .index(let index): "[\(index)]"
    }
  }
}
