import GQLRunLanguage

/// A list of an operation whose pages a variable selects.
package struct PagedField: Sendable, Hashable {
  /// The response keys to the list or connection.
  package var keys: [String]
  /// The variable with the cursor or the offset of the page.
  package var variable: String
  /// Whether the field is a connection with `pageInfo { hasNextPage endCursor }`; otherwise a list with `merge: offset`.
  package var isConnection: Bool
  /// Whether the cache joins the pages of the field.
  package var isJoined: Bool

  /// The response keys to the list or connection, joined by dots.
  package var path: String { keys.joined(separator: ".") }
}

extension PreparedOperation {
  /// The lists of the operation whose pages variables select, as the caller wrote them.
  package func pagedFields() -> [PagedField] { PageSearch(template, rules: self).fields }
}

extension OperationTemplate {
  /// The fields that select `pageInfo { hasNextPage }`, at any depth, as the caller wrote them.
  package func connectionFields() -> [ConnectionField] { PageSearch(self).connections }

  /// The response keys of the connections whose `pageInfo { hasNextPage }` the operation does not select, although it
  /// selects their elements; empty for an operation that was prepared without a schema.
  package func connectionsWithoutPageInfo() -> [[String]] {
    let search = PageSearch(self)
    // One of several selections of a field may have the `pageInfo`.
    return search.listed.filter { keys in !search.connections.contains { $0.keys == keys } }
  }
}

private struct PageSearch {
  private let tree: SelectionTree
  /// The operation whose rules join pages; `nil` for none.
  private let rules: PreparedOperation?
  private(set) var fields: [PagedField] = []
  private(set) var connections: [ConnectionField] = []
  /// The response keys of connections whose elements are selected, if there is a schema.
  private(set) var listed: [[String]] = []

  init(_ template: OperationTemplate, rules: PreparedOperation? = nil) {
    tree = SelectionTree(template)
    self.rules = rules
    visit(tree.root, below: [])
  }

  private func joins(_ field: String, _ policy: PagePolicy) -> Bool {
    rules?.joins(field, policy) ?? false
  }

  private mutating func visit(_ scope: SelectionTree.Scope, below outer: [String]) {
    for entry in tree.fields(of: scope) {
      guard let inner = tree.below([entry]).first else { continue }
      let keys = outer + [entry.key]
      let variables = entry.field.arguments.compactMap {
        argument -> (argument: String, name: String)? in
        guard case .variable(let name) = argument.value else { return nil }
        return (argument.name.value, name.value)
      }
      let cursor = variables.first { $0.argument == "after" || $0.name == "endCursor" }
      let offset = variables.first { $0.argument == "offset" || $0.argument == "skip" }
      if let cursor, hasPageInfo(inner) {
        fields.append(
          PagedField(
            keys: keys, variable: cursor.name, isConnection: true,
            isJoined: joins(entry.name, .connection)))
      } else if let offset, joins(entry.name, .offset) {
        fields.append(
          PagedField(keys: keys, variable: offset.name, isConnection: false, isJoined: true))
      }
      if let connection = connection(keys, inner, cursor: cursor?.name),
        !connections.contains(where: { $0.keys == keys })
      {
        connections.append(connection)
      }
      if lists(inner), !listed.contains(keys) { listed.append(keys) }
      visit(inner, below: keys)
    }
  }

  /// The connection with these keys, if its selection set has `pageInfo { hasNextPage }`, under any response keys.
  private func connection(
    _ keys: [String], _ scope: SelectionTree.Scope, cursor: String?
  ) -> ConnectionField? {
    for info in tree.fields(of: scope) where info.name == "pageInfo" {
      let members = tree.fields(of: tree.below([info]))
      func key(_ name: String) -> [String]? {
        members.first { $0.name == name }.map { [info.key, $0.key] }
      }
      guard let hasNextPage = key("hasNextPage") else { continue }
      return ConnectionField(
        keys: keys, hasNextPage: hasNextPage, endCursor: key("endCursor"), variable: cursor)
    }
    return nil
  }

  /// Whether the selection set is that of a connection type, and selects elements.
  private func lists(_ scope: SelectionTree.Scope) -> Bool {
    guard let schema = tree.schema, let type = scope.type,
      let info = schema.field("pageInfo", on: type)?.type.namedType.value,
      schema.field("hasNextPage", on: info) != nil
    else { return false }
    return tree.fields(of: scope).contains { ["edges", "nodes"].contains($0.name) }
  }

  private func hasPageInfo(_ scope: SelectionTree.Scope) -> Bool {
    guard let info = tree.fields(of: scope).first(where: { $0.key == "pageInfo" }) else {
      return false
    }
    let keys = tree.fields(of: tree.below([info])).map(\.key)
    return keys.contains("hasNextPage") && keys.contains("endCursor")
  }
}
