import GQLRunLanguage

/// A list of an operation whose pages a variable selects.
package struct PagedField: Sendable, Hashable {
  /// The response keys to the list or connection, joined by dots.
  package var path: String
  /// The variable with the cursor or the offset of the page.
  package var variable: String
  /// Whether the field is a connection with `pageInfo { hasNextPage endCursor }`; otherwise a list with `merge: offset`.
  package var isConnection: Bool
  /// Whether the cache joins the pages of the field.
  package var isJoined: Bool
}

extension PreparedOperation {
  /// The lists of the operation whose pages variables select, as the caller wrote them.
  package func pagedFields() throws -> [PagedField] {
    var search = PageSearch(self, try Document(parsing: callerDocument))
    return search.found()
  }
}

private struct PageSearch {
  private let operation: PreparedOperation
  private let document: Document
  private let fragments: [String: FragmentDefinition]
  private var fields: [PagedField] = []

  init(_ operation: PreparedOperation, _ document: Document) {
    self.operation = operation
    self.document = document
    fragments = Dictionary(document.fragments.map { ($0.name.value, $0) }) { first, _ in first }
  }

  mutating func found() -> [PagedField] {
    for definition in document.operations { visit(definition.selectionSet, "") }
    return fields
  }

  private mutating func visit(_ set: SelectionSet, _ path: String) {
    for field in fields(of: set) {
      let path = path.isEmpty ? field.responseKey : "\(path).\(field.responseKey)"
      guard let inner = field.selectionSet else { continue }
      let variables = field.arguments.compactMap { argument -> (argument: String, name: String)? in
        guard case .variable(let name) = argument.value else { return nil }
        return (argument.name.value, name.value)
      }
      let cursor = variables.first { $0.argument == "after" || $0.name == "endCursor" }
      let offset = variables.first { $0.argument == "offset" || $0.argument == "skip" }
      let name = field.name.value
      if let cursor, hasPageInfo(inner) {
        fields.append(
          PagedField(
            path: path, variable: cursor.name, isConnection: true,
            isJoined: operation.joins(name, .connection)))
      } else if let offset, operation.joins(name, .offset) {
        fields.append(
          PagedField(path: path, variable: offset.name, isConnection: false, isJoined: true))
      }
      visit(inner, path)
    }
  }

  private func hasPageInfo(_ set: SelectionSet) -> Bool {
    guard let info = fields(of: set).first(where: { $0.responseKey == "pageInfo" })?.selectionSet
    else { return false }
    let names = fields(of: info).map(\.responseKey)
    return names.contains("hasNextPage") && names.contains("endCursor")
  }

  /// The fields of a selection set and its fragments. Fragments of a prepared operation are acyclic.
  private func fields(of set: SelectionSet) -> [Field] {
    set.selections.flatMap { selection -> [Field] in
      switch selection {
      case .field(let field): [field]
      case .inlineFragment(let fragment): fields(of: fragment.selectionSet)
      case .fragmentSpread(let spread):
        fragments[spread.name.value].map { fields(of: $0.selectionSet) } ?? []
      }
    }
  }
}
