import GQLRunJSON
import GQLRunPipeline

/// What one of the tables of an operation has that the table of a sink has not: types, a parent, comments.
struct TableRelation: Sendable, Equatable {
  /// The id of the operation.
  var operation: String
  /// If it is shared, `_key` and `_parent` identify a row; otherwise `_key`.
  var table: TableDefinition
  /// The name in `shared`: by the response keys.
  var derivedName: String
  /// The table whose `_key` is the `_parent` of a row; `nil` if that is no key of a table.
  var parent: String?

  var isShared: Bool { table.isShared }

  /// The error of a row whose object another parent has already.
  func secondParent(_ key: String, first: String?, second: String?) -> String {
    func shown(_ parent: String?) -> String { parent.map { "`\($0)`" } ?? "no parent" }
    return
      "the table `\(table.name)` has `\(key)` under \(shown(first)), and it is under \(shown(second)), too; "
      + "for a row under each of them, add `shared: [\(derivedName)]` to `tables` (--shared \(derivedName))"
  }
}

extension TablesOutput {
  /// The entry of a table, and the format of its rows.
  ///
  /// - Parameters:
  ///   - index: The index of the table in the plan.
  ///   - operation: The operation.
  ///   - suffix: Inserted before the extension, for the files of a shard.
  func entry(
    of index: Int, _ operation: BatchOperation, suffix: String
  ) -> (entry: SinkPlan.Entry, format: any TableRowFormat) {
    var table = plan.tables[index]
    let columns = TableDefinition.ownColumns + table.columns.map(\.name)
    let parent = parent(of: table)
    // The rows of an operation without `foreach` have no parent at the first level: their keys suffice.
    if table.parent == nil, operation.source == nil { table.isShared = false }
    let relation = TableRelation(
      operation: operation.id, table: table, derivedName: derivedName(of: table.name),
      parent: parent)
    let shared = table.isShared ? " shared" : ""
    let given = table.parent == nil ? operation.columns.taskColumns : ""
    let takes = [operation.id: "rows" + (given.isEmpty ? "" : " with \(given)")]
    func database(_ kind: String, at path: String) -> SinkPlan.Entry {
      SinkPlan.Entry(
        location: settings.to.location, path: path,
        format: FileFormat(name: "\(kind) table\(shared)"), isTable: true, table: table.name,
        columns: columns, key: table.isShared ? ["_parent", "_key"] : ["_key"], relation: relation,
        takes: takes)
    }
    func file(_ path: String, _ format: FileFormat) -> SinkPlan.Entry {
      SinkPlan.Entry(
        location: settings.to.location, path: SinkPlan.path(path, suffix), format: format,
        relation: relation, takes: takes)
    }
    switch target {
    case .sqlite(let path):
      return (
        database("sqlite", at: SinkPlan.path(path, suffix)), SQLiteRowFormat(table: table)
      )
    case .postgres:
      return (database("postgres", at: ""), PostgresRowFormat(table: table))
    case .folder(let path, .csv):
      let header = CSVText.line(columns.map { .string($0) })
      let name = "csv " + String(decoding: header.dropLast(), as: UTF8.self) + shared
      return (
        file("\(path)/\(table.name).csv", FileFormat(name: name, header: header)), CSVRowFormat()
      )
    case .folder(let path, .ndjson):
      return (
        file("\(path)/\(table.name).ndjson", FileFormat(name: "ndjson rows" + shared)),
        NDJSONRowFormat(columns: columns)
      )
    }
  }

  /// The table that a foreign key refers to. A key of a shared table is in several of its rows.
  private func parent(of table: TableDefinition) -> String? {
    guard !table.isShared, let parent = table.parent, !plan.tables[parent].isShared else {
      return nil
    }
    return plan.tables[parent].name
  }

  /// The name by the response keys of a table that `as` may have renamed.
  private func derivedName(of name: String) -> String {
    settings.as.entries.first { $0.value.value == name }?.name ?? name
  }
}
