import GQLRunJSON
import GQLRunPipeline

/// A table of a SQLite database.
struct SQLiteSink: TableSettings {
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

  var keyLocation: FileLocation { $key.location }

  static func cell(_ value: JSONValue?) -> SQLValue { SQLValue(value) }

  static func problem(withName name: String) -> String? {
    let lower = name.asciiLowercased
    return if name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
      "it has a control character"
    } else if lower.hasPrefix("sqlite_") {
      "SQLite reserves names that begin with `sqlite_`"
    } else if [TableMarker.tableName, SinceStore.tableName].contains(lower) {
      "gqlrun keeps its own records in that table"
    } else {
      nil
    }
  }

  func check(
    _ operations: [BatchOperation], at location: FileLocation, loader: inout ManifestLoader
  ) {
    checkTables(of: operations, at: location, &loader)
    for operation in operations {
      // SQLite ignores the case of ASCII letters in names.
      var seen: [String: String] = key.isEmpty ? ["_task": "_task, which gqlrun adds"] : [:]
      for column in columns(of: operation).names {
        guard let other = seen.updateValue(column, forKey: column.asciiLowercased) else { continue }
        loader.report(
          .wrongValue,
          message:
            "the columns `\(other)` and `\(column)` of `\(operation.id)` are one column for SQLite",
          location: table.location,
          hint: operation.columns.areGiven
            ? "name one of them in `columns`: `name: path`" : "give one of the fields an alias")
      }
    }
  }
}

/// A table in the database of the queue.
///
/// Its rows and the state of their task commit in one transaction.
struct PostgresSink: TableSettings {
  static let name = "postgres"
  static let storesNUL = false
  static let summary =
    "A table in the database of the run with one row per record, written with the state of its task"
  static let example = #"postgres: { table: "{{op}}", key: [code] }"#

  @Option("Table, which may contain `{{op}}`") var table = Located("{{op}}")
  @Option("Columns that identify a record: a later record replaces the earlier one")
  var key: [Located<String>] = []
  @Option("Operations whose results the sink receives; by default all")
  var operations: [Located<String>] = []

  var file: Located<String>? { nil }

  var keyLocation: FileLocation { $key.location }

  /// The text that PostgreSQL converts to the type of the column; numbers keep their spelling.
  static func cell(_ value: JSONValue?) -> SQLValue {
    switch value {
    case nil, .null?: .null
    case .string(let text)?: .text(text)
    case let value?: .text(value.jsonText())
    }
  }

  /// https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS
  static func problem(withName name: String) -> String? {
    if name.utf8.count > 63 {
      "it is longer than 63 bytes"
    } else if name.hasPrefix("gq_") || name.hasPrefix("gqlrun_") {
      "gqlrun keeps its own records in such tables"
    } else if name.utf8.contains(0) {
      "it has a NUL character"
    } else {
      nil
    }
  }
}
