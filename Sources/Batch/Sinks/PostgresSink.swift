import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline

/// A table in the database of the queue.
///
/// Its rows and the state of their task commit in one transaction.
struct PostgresSink: Sink {
  static let name = "postgres"
  static let summary =
    "A table in the database of the run with one row per record, written with the state of its task"
  static let example = #"postgres: { table: "{{op}}", key: [code] }"#

  @Option("Table, which may contain `{{op}}`") var table = Located("{{op}}")
  @Option("Columns that identify a record: a later record replaces the earlier one")
  var key: [Located<String>] = []
  @Option("Operations whose results the sink receives; by default all")
  var operations: [Located<String>] = []

  var file: Located<String>? { nil }

  func output(of operation: BatchOperation, at path: String) throws(TaskProblem) -> SinkOutput? {
    let key = key.map(\.value)
    let columns = operation.columns + key.filter { !operation.columns.contains($0) }
    let name = Self.name + (key.isEmpty ? "" : " key " + key.joined(separator: ","))
    return SinkOutput(
      format: FileFormat(name: name),
      records: TableRows(
        emit: operation.emit, columns: RecordColumns(columns),
        key: key.compactMap { columns.firstIndex(of: $0) }, cell: Self.text),
      table: SinkOutput.Table(
        name: try TextTemplate.filled(table.value, operation.id), columns: columns, key: key))
  }

  /// The text that PostgreSQL converts to the type of the column; numbers keep their spelling.
  private static func text(_ value: JSONValue?) -> SQLValue {
    switch value {
    case nil, .null?: .null
    case .string(let text)?: .text(text)
    case let value?: .text(value.jsonText())
    }
  }

  func check(
    _ operations: [BatchOperation], at location: FileLocation, _ schema: Schema?,
    _ loader: inout ManifestLoader
  ) {
    _ = loader.textTemplate(table, known: .operationID)
    loader.checkFields(of: operations, Self.name, location, schema)
    loader.checkPaths(key, "key", of: operations, schema, mustFitAll: true)
    if Set(key.map(\.value)).count < key.count {
      loader.report(.wrongValue, "`key` names a column twice", $key.location)
    }
    for operation in operations {
      guard let name = try? TextTemplate.filled(table.value, operation.id) else { continue }
      // https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS
      let reason: String? =
        if name.isEmpty {
          "it is empty"
        } else if name.utf8.count > 63 {
          "it is longer than 63 bytes"
        } else if name.hasPrefix("gq_") || name.hasPrefix("gqlrun_") {
          "gqlrun keeps its own records in such tables"
        } else if name.utf8.contains(0) {
          "it has a NUL character"
        } else {
          nil
        }
      guard let reason else { continue }
      loader.report(
        .wrongValue, "`\(name)` cannot be the name of a table: \(reason)", table.location,
        "name another table")
    }
  }
}
