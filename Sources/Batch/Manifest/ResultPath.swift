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
  func values(in value: JSONValue) -> [JSONValue] { Self.values(value, steps[...]) }

  private static func values(_ value: JSONValue, _ steps: ArraySlice<Step>) -> [JSONValue] {
    guard let step = steps.first else { return [value] }
    let rest = steps.dropFirst()
    switch step {
    case .key(let key): return value[key].map { values($0, rest) } ?? []
    case .index(let index): return value[index].map { values($0, rest) } ?? []
    case .each: return (value.arrayValue ?? []).flatMap { values($0, rest) }
    }
  }

  /// The first value at the path.
  func value(in value: JSONValue) -> JSONValue? { values(in: value).first }

  /// The result of a lookup in one record.
  enum Found {
    case value(JSONValue)
    /// An object or list on the path is null, or empty.
    case null
    /// An object on the path does not have the next key.
    case absent
    case mismatch(PathMismatch)
  }

  /// Looks up the path; if it goes through lists, the result is the first match.
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
      var last = Found.null
      for element in elements {
        last = look(element, index + 1)
        switch last {
        case .value, .mismatch: return last
        case .null, .absent: continue
        }
      }
      return last
    default: return .mismatch(PathMismatch(self, at: index, isList: value.arrayValue != nil))
    }
  }

  /// The text of the steps before `end`.
  fileprivate func text(upTo end: Int) -> String {
    var text = ""
    for step in steps[..<end] {
      switch step {
      case .key(let key): text += (text.isEmpty ? "" : ".") + key
      case .each: text += "[*]"
      case .index(let index): text += "[\(index)]"
      }
    }
    return text
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

/// The fields of a document by response path, to validate paths before requests are sent.
struct SelectionTree {
  let document: Document
  let root: SelectionSet

  init(_ document: Document, _ operation: OperationDefinition) {
    self.document = document
    root = operation.selectionSet
  }

  /// The selection sets at a path.
  func selections(at keys: [String]) -> [SelectionSet] {
    var sets = [root]
    for key in keys {
      sets = sets.flatMap { fields(of: $0) }.filter { $0.responseKey == key }
        .compactMap(\.selectionSet)
    }
    return sets
  }

  /// The columns of the objects at a path: their response keys in the document's order.
  func columns(at keys: [String]) -> [String] {
    var seen: Set<String> = []
    return selections(at: keys).flatMap { fields(of: $0) }.map(\.responseKey)
      .filter { seen.insert($0).inserted }
  }

  func fields(of set: SelectionSet, depth: Int = 0) -> [Field] {
    guard depth < 64 else { return [] }
    return set.selections.flatMap { selection -> [Field] in
      switch selection {
      case .field(let field): return [field]
      case .inlineFragment(let inline): return fields(of: inline.selectionSet, depth: depth + 1)
      case .fragmentSpread(let spread):
        let fragment = document.fragments.first { $0.name.value == spread.name.value }
        return fragment.map { fields(of: $0.selectionSet, depth: depth + 1) } ?? []
      }
    }
  }
}
