package import GQLRunCache
package import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// What the tables of an operation would be, and how their rows would be requested, without requesting any.
package struct TablesPreview: Sendable {
  private let output: TablesOutput
  private let variables: JSONObject
  /// The numbers of all rows, by index of the connection.
  private var totals: [Int: Int] = [:]

  private var plan: TablePlan { output.plan }

  /// Previews the tables of a manifest's first operation; `nil` if it has none.
  package init?(_ manifest: Manifest) {
    guard let operation = manifest.operations.first, let output = operation.tables else {
      return nil
    }
    self.output = output
    variables = operation.constants
  }

  // MARK: Totals

  /// The connections that no list is above, whose `totalCount` the document selects.
  private var counted: [(index: Int, keys: [String])] {
    plan.connections.enumerated().compactMap { index, connection in
      guard connection.holder == .path, let total = connection.totalKey else { return nil }
      return (index, connection.keys + [total])
    }
  }

  /// The operation with nothing but the `totalCount` of connections that no list is above; `nil` if the document selects
  /// none.
  package func totalsOperation() throws(CacheError) -> PreparedOperation? {
    let paths = counted.map(\.keys)
    var operation = plan.template.definition
    operation.selectionSet.change { field, keys in
      paths.contains { $0.starts(with: keys) } ? field : nil
    }
    guard !operation.selectionSet.selections.isEmpty else { return nil }
    let given = operation.removeUnusedVariables(variables)
    return try plan.template.companion(Document(definitions: [.operation(operation)]))
      .prepared(given)
  }

  /// Reads the response to ``totalsOperation()``.
  package mutating func read(_ data: JSONValue) {
    for (index, keys) in counted {
      guard let total = data.objectValue?.value(at: keys)?.intValue else { continue }
      totals[index] = Continuation.bounded(total)
    }
  }

  // MARK: Text

  /// The tables with their columns, how each connection continues, and the least number of requests.
  package var text: String {
    plan.tables.indices.map { table($0) }.joined(separator: "\n") + "\n" + requests + "\n"
  }

  private func table(_ index: Int) -> String {
    let table = plan.tables[index]
    var facts = [table.coordinate].compactMap { $0 }
    if let parent = table.parent {
      facts.append("_parent is the _key of \(plan.tables[parent].name)")
    }
    if table.isShared { facts.append("a row for each parent") }
    var columns = TextTable()
    for column in table.columns {
      columns.add("  \(column.name)", column.kind.rawValue, column.coordinate ?? "")
    }
    let pages = plan.connections.filter { $0.table == index }.map { "  \(continuation(of: $0))" }
    let head = table.name + (facts.isEmpty ? "" : ": \(facts.joined(separator: "; "))")
    return ([head] + columns.lines + pages).map { $0 + "\n" }.joined()
  }

  /// How the pages after the first are requested.
  private func continuation(of connection: TableConnection) -> String {
    let size = size(of: connection).map { "pages of \($0)" } ?? "pages of the server's size"
    let pack = "up to \(output.settings.pack) in a request"
    if output.settings.bulk != nil { return "all rows, by a bulk operation" }
    switch connection.holder {
    case .path: return "\(size), by the path \(connection.path)"
    case .field(let name, let type, _):
      let names = connection.finders.map { "\($0.argument):" }.joined(separator: ", ")
      let object = type.map { " of \($0)" } ?? ""
      return "\(size), through \(name)(\(names))\(object), \(pack)"
    case .none(let reason): return "\(size), and no further ones: \(reason)"
    }
  }

  /// The number of rows of a page, also if a variable gives it.
  private func size(of connection: TableConnection) -> Int? {
    connection.pageSize
      ?? connection.given(connection.sizeArgument, variables)?.intValue
      .map(Continuation.bounded)
  }

  /// The least number of requests, as far as the totals are known.
  private var requests: String {
    if output.settings.bulk != nil { return "one bulk operation" }
    var least = 1
    var known: [String] = []
    var isExact = true
    for (index, connection) in plan.connections.enumerated() {
      guard let total = totals[index] else {
        isExact = false
        continue
      }
      known.append("\(plan.tables[connection.table].name) has \(Quantity.count(total, "row"))")
      if let size = size(of: connection), size > 0 {
        least += max((total + size - 1) / size, 1) - 1
      } else {
        isExact = isExact && total == 0
      }
    }
    let reason = known.isEmpty ? "" : ": \(known.joined(separator: ", "))"
    return "\(isExact ? "" : "at least ")\(Quantity.count(least, "request"))\(reason)"
  }
}
