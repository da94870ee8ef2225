import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline

/// A sink that writes one row per record into a table: what the kinds of databases have in common.
protocol TableSettings: Sink {
  /// The table, which may contain `{{op}}`.
  var table: Located<String> { get }
  /// The columns that identify a record.
  var key: [Located<String>] { get }
  /// The location of the option `key`.
  var keyLocation: FileLocation { get }

  /// The value of a cell.
  static func cell(_ value: JSONValue?) -> SQLValue
  /// Why the table cannot have this name; `nil` if it can.
  static func problem(withName name: String) -> String?
}

extension TableSettings {
  /// The columns of an operation's table.
  func columns(of operation: BatchOperation) -> [String] {
    operation.columns + key.map(\.value).filter { !operation.columns.contains($0) }
  }

  func output(of operation: BatchOperation, at path: String) throws(TaskProblem) -> SinkOutput? {
    let key = key.map(\.value)
    let columns = columns(of: operation)
    let name = Self.name + (key.isEmpty ? "" : " key " + key.joined(separator: ","))
    return SinkOutput(
      format: FileFormat(name: name),
      records: TableRows(
        emit: operation.emit, columns: RecordColumns(columns),
        key: key.compactMap { columns.firstIndex(of: $0) }, cell: { Self.cell($0) }),
      table: SinkOutput.Table(
        name: try TextTemplate.filled(table.value, operation.id), columns: columns, key: key))
  }

  /// Checks the names of the tables and the columns of the key.
  func checkTables(
    of operations: [BatchOperation], at location: FileLocation, _ schema: Schema?,
    _ loader: inout ManifestLoader
  ) {
    _ = loader.textTemplate(table, known: .operationID)
    loader.checkFields(of: operations, Self.name, location, schema)
    loader.checkPaths(key, "key", of: operations, schema, mustFitAll: true)
    if Set(key.map(\.value)).count < key.count {
      loader.report(.wrongValue, "`key` names a column twice", keyLocation)
    }
    for operation in operations {
      guard let name = try? TextTemplate.filled(table.value, operation.id),
        let reason = name.isEmpty ? "it is empty" : Self.problem(withName: name)
      else { continue }
      loader.report(
        .wrongValue, "`\(name)` cannot be the name of a table: \(reason)", table.location,
        "name another table")
    }
  }
}
