import GQLRunLanguage
import GQLRunSupport

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

  private struct Typed {
    var set: SelectionSet
    var parent: String?
  }

  private let document: Document
  private let definition: OperationDefinition
  private let schema: Schema?

  init(_ document: Document, _ definition: OperationDefinition, _ schema: Schema?) {
    self.document = document
    self.definition = definition
    self.schema = schema
  }

  /// A hint for a column that a field of the root selects: the records probably begin there.
  func emitHint(for column: ResultPath) -> String? {
    let root = fields([
      Typed(set: definition.selectionSet, parent: schema?.rootType(for: definition.type)?.name)
    ])
    guard let key = column.keys.first,
      let holder = root.first(where: { entry in
        fields(below([entry])).contains { $0.field.responseKey == key }
      })?.field.responseKey
    else { return nil }
    return
      "`\(holder)` has it, and without `emit` a record is the whole result: add `emit: \(holder)` to the "
      + "operation, or `emit: \(holder)[*]` for a list"
  }

  /// The error of a path; `nil` if no error is known.
  ///
  /// - Parameter base: The path of the records that `path` is relative to; validated separately.
  func problem(of path: ResultPath, below base: ResultPath? = nil, endsAt end: End) -> Problem? {
    var sets = [
      Typed(set: definition.selectionSet, parent: schema?.rootType(for: definition.type)?.name)
    ]
    for key in base?.keys ?? [] {
      sets = below(fields(sets).filter { $0.field.responseKey == key })
    }
    // The number of list levels not yet indexed after the last key; `nil` if unknown.
    var open: Int? = 0
    var text = ""
    for step in path.steps {
      switch step {
      case .key(let key):
        if let open, open > 0 { return listProblem(path, text) }
        let all = fields(sets)
        let found = all.filter { $0.field.responseKey == key }
        guard !found.isEmpty else {
          return Problem(
            message: "leads to `\(key)`, which the document does not select",
            hint: suggestion(for: key, in: all.map(\.field.responseKey)).map {
              "did you mean `\($0)`?"
            })
        }
        let depths = Set(found.map { depth(of: $0.field, on: $0.parent) })
        open = depths.count == 1 ? depths.first ?? nil : nil
        sets = below(found)
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
    var sets = [Typed(set: definition.selectionSet, parent: nil)]
    for key in path?.keys ?? [] {
      sets = below(fields(sets).filter { $0.field.responseKey == key })
    }
    return !sets.isEmpty
  }

  private func listProblem(_ path: ResultPath, _ list: String) -> Problem {
    let rest = path.description.dropFirst(list.count)
    return Problem(
      message: "leads to the list `\(list)` as if it were one object",
      hint: "write `\(list)[*]\(rest)`")
  }

  private func below(_ found: [(field: Field, parent: String?)]) -> [Typed] {
    found.compactMap { found in
      found.field.selectionSet.map {
        Typed(set: $0, parent: type(of: found.field, on: found.parent)?.namedType.value)
      }
    }
  }

  private func type(of field: Field, on parent: String?) -> TypeReference? {
    parent.flatMap { schema?.field(field.name.value, on: $0)?.type }
  }

  /// The number of list levels of a field's type; `nil` if unknown.
  private func depth(of field: Field, on parent: String?) -> Int? {
    guard var type = type(of: field, on: parent) else {
      return field.name.value == "__typename" ? 0 : nil
    }
    var depth = 0
    while true {
      switch type {
      case .named: return depth
      case .nonNull(let inner): type = inner
      case .list(let inner, _):
        depth += 1
        type = inner
      }
    }
  }

  private func fields(_ sets: [Typed]) -> [(field: Field, parent: String?)] {
    sets.flatMap { fields($0.set, $0.parent, depth: 0) }
  }

  private func fields(
    _ set: SelectionSet, _ parent: String?, depth: Int
  ) -> [(field: Field, parent: String?)] {
    guard depth < 64 else { return [] }
    return set.selections.flatMap { selection -> [(field: Field, parent: String?)] in
      switch selection {
      case .field(let field): return [(field, parent)]
      case .inlineFragment(let inline):
        return fields(
          inline.selectionSet, inline.typeCondition?.value ?? parent, depth: depth + 1)
      case .fragmentSpread(let spread):
        guard let fragment = document.fragments.first(where: { $0.name.value == spread.name.value })
        else { return [] }
        return fields(fragment.selectionSet, fragment.typeCondition.value, depth: depth + 1)
      }
    }
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
