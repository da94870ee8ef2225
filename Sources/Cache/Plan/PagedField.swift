package import GQLRunLanguage

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
  package func pagedFields() -> [PagedField] {
    var search = PageSearch(parts.callerDocument, rules: self)
    return search.found().fields
  }

  /// The fields that select `pageInfo { hasNextPage }`, at any depth, as the caller wrote them.
  package func connectionFields() -> [ConnectionField] {
    var search = PageSearch(parts.callerDocument, rules: self)
    return search.found().connections
  }

  /// The response keys of the connections whose `pageInfo { hasNextPage }` the operation does not select, although it
  /// selects their elements; empty for an operation that was prepared without a schema.
  package func connectionsWithoutPageInfo() -> [[String]] {
    guard let schema = plan.facts?.schema else { return [] }
    var search = PageSearch(parts.callerDocument, rules: self, schema: schema)
    return search.found().withoutPageInfo
  }
}

extension OperationTemplate {
  /// The fields that select `pageInfo { hasNextPage }`, at any depth.
  package func connectionFields() -> [ConnectionField] {
    var search = PageSearch(callerDocument)
    return search.found().connections
  }

  /// The response keys of the connections whose `pageInfo { hasNextPage }` the operation does not select, although it
  /// selects their elements.
  package func connectionsWithoutPageInfo(_ schema: Schema) -> [[String]] {
    var search = PageSearch(callerDocument, schema: schema)
    return search.found().withoutPageInfo
  }
}

private struct PageSearch {
  /// A field, with the type that has it if there is a schema.
  private struct Selected {
    var field: Field
    var parent: String?
  }

  private let document: Document
  /// The operation whose rules join pages; `nil` for none.
  private let rules: PreparedOperation?
  private let schema: Schema?
  private let fragments: [String: FragmentDefinition]
  private var fields: [PagedField] = []
  private var connections: [ConnectionField] = []
  /// The response keys of connections whose elements are selected.
  private var listed: [[String]] = []

  init(_ document: Document, rules: PreparedOperation? = nil, schema: Schema? = nil) {
    self.document = document
    self.rules = rules
    self.schema = schema
    fragments = Dictionary(document.fragments.map { ($0.name.value, $0) }) { first, _ in first }
  }

  mutating func found() -> (
    fields: [PagedField], connections: [ConnectionField], withoutPageInfo: [[String]]
  ) {
    for definition in document.operations {
      visit(definition.selectionSet, of: schema?.rootType(for: definition.type)?.name, below: [])
    }
    // One of several selections of a field may have the `pageInfo`.
    let withoutPageInfo = listed.filter { keys in !connections.contains { $0.keys == keys } }
    return (fields, connections, withoutPageInfo)
  }

  private func joins(_ field: String, _ policy: PagePolicy) -> Bool {
    rules?.joins(field, policy) ?? false
  }

  private mutating func visit(_ set: SelectionSet, of type: String?, below outer: [String]) {
    for selected in selected(in: set, of: type) {
      let field = selected.field
      let keys = outer + [field.responseKey]
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
            keys: keys, variable: cursor.name, isConnection: true,
            isJoined: joins(name, .connection)))
      } else if let offset, joins(name, .offset) {
        fields.append(
          PagedField(keys: keys, variable: offset.name, isConnection: false, isJoined: true))
      }
      if let connection = connection(keys, inner, cursor: cursor?.name),
        !connections.contains(where: { $0.keys == keys })
      {
        connections.append(connection)
      }
      let type = selected.parent.flatMap { schema?.field(name, on: $0)?.type.namedType.value }
      if let type, lists(inner, of: type), !listed.contains(keys) { listed.append(keys) }
      visit(inner, of: type, below: keys)
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

  /// Whether the selection set of a connection type selects elements.
  private func lists(_ set: SelectionSet, of type: String) -> Bool {
    guard let schema, let info = schema.field("pageInfo", on: type)?.type.namedType.value,
      schema.field("hasNextPage", on: info) != nil
    else { return false }
    return fields(of: set).contains { ["edges", "nodes"].contains($0.name.value) }
  }

  private func hasPageInfo(_ set: SelectionSet) -> Bool {
    guard let info = fields(of: set).first(where: { $0.responseKey == "pageInfo" })?.selectionSet
    else { return false }
    let names = fields(of: info).map(\.responseKey)
    return names.contains("hasNextPage") && names.contains("endCursor")
  }

  private func fields(of set: SelectionSet) -> [Field] {
    selected(in: set, of: nil).map(\.field)
  }

  /// The fields of a selection set and its fragments. Fragments of a prepared operation are acyclic.
  private func selected(in set: SelectionSet, of type: String?) -> [Selected] {
    set.selections.flatMap { selection -> [Selected] in
      switch selection {
      case .field(let field): [Selected(field: field, parent: type)]
      case .inlineFragment(let fragment):
        selected(
          in: fragment.selectionSet, of: type == nil ? nil : fragment.typeCondition?.value ?? type)
      case .fragmentSpread(let spread):
        fragments[spread.name.value].map {
          selected(in: $0.selectionSet, of: type == nil ? nil : $0.typeCondition.value)
        } ?? []
      }
    }
  }
}
