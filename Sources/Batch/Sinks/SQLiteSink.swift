import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

/// A table of a SQLite database.
struct SQLiteSink: Sink {
  static let name = "sqlite"
  static let summary = "A table of a SQLite database with one row per record"
  static let example = #"sqlite: { path: out/countries.db, table: "{{op}}", key: [code] }"#
  static let fileExtensions = [".db", ".sqlite"]

  @Option("Database, whose path may contain `{{op}}`") var path: Located<String>
  @Option("Table, which may contain `{{op}}`") var table = Located("{{op}}")
  @Option("Columns that identify a record: a later record replaces the earlier one")
  var key: [Located<String>] = []
  @Option("Operations whose results the sink receives; by default all")
  var operations: [Located<String>] = []

  var file: Located<String>? { path }

  func output(of operation: BatchOperation, at path: String) throws(TaskProblem) -> SinkOutput? {
    let key = key.map(\.value)
    let columns = operation.columns + key.filter { !operation.columns.contains($0) }
    let name = Self.name + (key.isEmpty ? "" : " key " + key.joined(separator: ","))
    return SinkOutput(
      format: FileFormat(name: name),
      records: TableRows(
        emit: operation.emit, columns: RecordColumns(columns),
        key: key.compactMap { columns.firstIndex(of: $0) }, cell: { SQLValue($0) }),
      table: SinkOutput.Table(
        name: try TextTemplate.filled(table.value, operation.id), columns: columns, key: key))
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
    for operation in operations { checkTable(operation, &loader) }
  }

  private func checkTable(_ operation: BatchOperation, _ loader: inout ManifestLoader) {
    guard let name = try? TextTemplate.filled(table.value, operation.id) else { return }
    let lower = name.asciiLowercased
    let reason: String? =
      if name.isEmpty {
        "it is empty"
      } else if name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
        "it has a control character"
      } else if lower.hasPrefix("sqlite_") {
        "SQLite reserves names that begin with `sqlite_`"
      } else if lower == TableMarker.tableName {
        "gqlrun keeps its own records in that table"
      } else {
        nil
      }
    if let reason {
      loader.report(
        .wrongValue, "`\(name)` cannot be the name of a table: \(reason)", table.location,
        "name another table")
    }
    // SQLite ignores the case of ASCII letters in names.
    let key = key.map(\.value)
    var seen: [String: String] = key.isEmpty ? ["_task": "_task, which gqlrun adds"] : [:]
    for column in operation.columns + key.filter({ !operation.columns.contains($0) }) {
      guard let other = seen.updateValue(column, forKey: column.asciiLowercased) else { continue }
      loader.report(
        .wrongValue,
        "the columns `\(other)` and `\(column)` of `\(operation.id)` are one column for SQLite",
        table.location, "give one of the fields an alias")
    }
  }
}
