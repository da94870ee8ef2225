import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// A path into a result: `organization.repositories.nodes[*]`, where `[*]` is every element.
struct ResultPath: Sendable, Hashable, CustomStringConvertible {
  enum Step: Sendable, Hashable {
    case key(String)
    case each
    case index(Int)
  }

  var steps: [Step]
  var description: String

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

  /// The keys of the path, without lists.
  var keys: [String] {
    steps.compactMap { if case .key(let key) = $0 { key } else { nil } }
  }

  /// Every value at the path; none where the result has null or nothing.
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

  /// The one value at the path.
  func value(in value: JSONValue) -> JSONValue? { values(in: value).first }
}

/// The fields of a document by response path, to check paths before anything is sent.
struct SelectionTree {
  let document: Document
  let root: SelectionSet

  init(_ document: Document, _ operation: OperationDefinition) {
    self.document = document
    root = operation.selectionSet
  }

  /// What is wrong with a path: the name that no field answers to, and a better one.
  func problem(of keys: [String]) -> (name: String, suggestion: String?)? {
    var sets = [root]
    for key in keys {
      let fields = sets.flatMap { self.fields(of: $0) }
      let found = fields.filter { $0.responseKey == key }
      guard !found.isEmpty else {
        return (key, GQLRunSupport.suggestion(for: key, in: fields.map(\.responseKey)))
      }
      sets = found.compactMap(\.selectionSet)
    }
    return nil
  }

  /// The selections below a path.
  func selections(at keys: [String]) -> [SelectionSet] {
    var sets = [root]
    for key in keys {
      sets = sets.flatMap { fields(of: $0) }.filter { $0.responseKey == key }
        .compactMap(\.selectionSet)
    }
    return sets
  }

  /// The names of the columns of objects at a path, in the order of the document.
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
