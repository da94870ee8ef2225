import GQLRunLanguage
import GQLRunSupport

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
  package func pagedFields() -> [PagedField] { PageSearch(template, pages: plan.keys.pages).fields }
}

extension OperationTemplate {
  /// The fields that select `pageInfo { hasNextPage }`, at any depth, as the caller wrote them.
  package func connectionFields() -> [ConnectionField] { PageSearch(self).connections }

  /// The response keys of the connections whose `pageInfo { hasNextPage }` the operation does not select, although it
  /// selects their elements; empty for an operation that was prepared without a schema.
  package func connectionsWithoutPageInfo() -> [[String]] {
    let search = PageSearch(self)
    return search.listed.filter { keys in !search.connections.contains { $0.keys == keys } }
  }
}

private struct PageSearch {
  private let tree: SelectionTree
  /// How pages are joined, by type and field.
  private let pages: [String: [String: PagePolicy]]
  private(set) var fields: [PagedField] = []
  private(set) var connections: [ConnectionField] = []
  /// The response keys of connections whose elements are selected, if there is a schema.
  private(set) var listed: [[String]] = []

  init(_ template: OperationTemplate, pages: [String: [String: PagePolicy]] = [:]) {
    tree = SelectionTree(template)
    self.pages = pages
    visit([tree.root], below: [])
  }

  /// Whether a rule of some type joins the pages of a field with this name in this manner.
  private func joins(_ field: String, _ policy: PagePolicy) -> Bool {
    pages.values.contains { $0[field] == policy }
  }

  /// Adds the lists of an object, at any depth.
  ///
  /// - Parameter scopes: All selection sets of the object.
  private mutating func visit(_ scopes: [SelectionTree.Scope], below outer: [String]) {
    // The selections of one response key are one field of the object.
    for (key, group) in OrderedGroups(tree.fields(of: scopes), by: \.key).all {
      let inner = tree.below(group)
      guard !inner.isEmpty else { continue }
      let keys = outer + [key]
      let isConnection = hasPageInfo(inner)
      var paged: Set<PagedField> = []
      for entry in group {
        guard let field = pagedField(entry, keys, isConnection: isConnection),
          paged.insert(field).inserted
        else { continue }
        fields.append(field)
      }
      let cursor = group.compactMap { cursorVariable(of: $0.field) }.first
      if let connection = connection(keys, inner, cursor: cursor) { connections.append(connection) }
      if inner.contains(where: { lists($0) }) { listed.append(keys) }
      visit(inner, below: keys)
    }
  }

  /// The list with these keys, if a variable of the field selects its pages.
  ///
  /// - Parameter isConnection: Whether the document selects what tells the next page of a connection.
  private func pagedField(
    _ entry: SelectionTree.Entry, _ keys: [String], isConnection: Bool
  ) -> PagedField? {
    if isConnection, let cursor = cursorVariable(of: entry.field) {
      return PagedField(
        keys: keys, variable: cursor, isConnection: true, isJoined: joins(entry.name, .connection))
    }
    let offset = variables(of: entry.field).first {
      $0.argument == "offset" || $0.argument == "skip"
    }
    guard let offset, joins(entry.name, .offset) else { return nil }
    return PagedField(keys: keys, variable: offset.name, isConnection: false, isJoined: true)
  }

  /// The variable with the cursor of a field's page.
  private func cursorVariable(of field: Field) -> String? {
    variables(of: field).first { $0.argument == "after" || $0.name == "endCursor" }?.name
  }

  /// The variables that are arguments of a field.
  private func variables(of field: Field) -> [(argument: String, name: String)] {
    field.arguments.compactMap { argument -> (argument: String, name: String)? in
      guard case .variable(let name) = argument.value else { return nil }
      return (argument.name.value, name.value)
    }
  }

  /// The connection with these keys, if its selection sets have `pageInfo { hasNextPage }`, under any response keys.
  private func connection(
    _ keys: [String], _ scopes: [SelectionTree.Scope], cursor: String?
  ) -> ConnectionField? {
    var found = ConnectionField(keys: keys, hasNextPage: [], endCursor: [], variable: cursor)
    var seen: Set<[String]> = []
    for info in tree.fields(of: scopes) where info.name == "pageInfo" {
      for member in tree.fields(of: tree.below([info])) {
        let path = [info.key, member.key]
        if member.name == "hasNextPage", scopes.count == 1, info.isAlwaysSelected,
          member.isAlwaysSelected
        {
          found.isAlwaysSelected = true
        }
        guard seen.insert([member.name] + path).inserted else { continue }
        switch member.name {
        case "hasNextPage": found.hasNextPage.append(path)
        case "endCursor": found.endCursor.append(path)
        default: break
        }
      }
    }
    return found.hasNextPage.isEmpty ? nil : found
  }

  /// Whether the selection set is that of a connection type, and selects elements.
  private func lists(_ scope: SelectionTree.Scope) -> Bool {
    guard let schema = tree.schema, let type = scope.type,
      let info = schema.field("pageInfo", on: type)?.type.namedType.value,
      schema.field("hasNextPage", on: info) != nil
    else { return false }
    return tree.fields(of: scope).contains { ["edges", "nodes"].contains($0.name) }
  }

  private func hasPageInfo(_ scopes: [SelectionTree.Scope]) -> Bool {
    let info = tree.fields(of: scopes).filter { $0.key == "pageInfo" }
    let keys = tree.fields(of: tree.below(info)).map(\.key)
    return keys.contains("hasNextPage") && keys.contains("endCursor")
  }
}

extension SelectionTree.Entry {
  /// Whether each object of the selection set has the field.
  fileprivate var isAlwaysSelected: Bool { conditions.isEmpty && field.directives.isEmpty }
}
