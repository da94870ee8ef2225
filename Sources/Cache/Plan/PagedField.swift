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
  package func pagedFields() -> [PagedField] {
    var search = PageSearch(self)
    return search.found().fields
  }

  /// The fields that select `pageInfo { hasNextPage }`, at any depth, as the caller wrote them.
  package func connectionFields() -> [ConnectionField] {
    var search = PageSearch(self)
    return search.found().connections
  }
}

private struct PageSearch {
  private let operation: PreparedOperation
  private let fragments: [String: FragmentDefinition]
  private var fields: [PagedField] = []
  private var connections: [ConnectionField] = []

  init(_ operation: PreparedOperation) {
    self.operation = operation
    let known = operation.parts.callerDocument.fragments.map { ($0.name.value, $0) }
    fragments = Dictionary(known) { first, _ in first }
  }

  mutating func found() -> (fields: [PagedField], connections: [ConnectionField]) {
    visit(operation.parts.definition.selectionSet, [])
    return (fields, connections)
  }

  private mutating func visit(_ set: SelectionSet, _ outer: [String]) {
    for field in fields(of: set) {
      let keys = outer + [field.responseKey]
      let path = keys.joined(separator: ".")
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
      if let connection = connection(keys, inner, cursor: cursor?.name),
        !connections.contains(where: { $0.keys == keys })
      {
        connections.append(connection)
      }
      visit(inner, keys)
    }
  }

  /// The connection with these keys, if its selection set has `pageInfo { hasNextPage }`, under any response keys.
  private func connection(
    _ keys: [String], _ set: SelectionSet, cursor: String?
  ) -> ConnectionField? {
    for info in fields(of: set) where info.name.value == "pageInfo" {
      let members = info.selectionSet.map { fields(of: $0) } ?? []
      func key(_ name: String) -> [String]? {
        members.first { $0.name.value == name }.map { [info.responseKey, $0.responseKey] }
      }
      guard let hasNextPage = key("hasNextPage") else { continue }
      return ConnectionField(
        keys: keys, hasNextPage: hasNextPage, endCursor: key("endCursor"), variable: cursor)
    }
    return nil
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
