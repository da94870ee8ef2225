import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

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
    } else if lower == TableMarker.tableName {
      "gqlrun keeps its own records in that table"
    } else {
      nil
    }
  }

  func check(
    _ operations: [BatchOperation], at location: FileLocation, _ schema: Schema?,
    _ loader: inout ManifestLoader
  ) {
    checkTables(of: operations, at: location, schema, &loader)
    for operation in operations {
      // SQLite ignores the case of ASCII letters in names.
      var seen: [String: String] = key.isEmpty ? ["_task": "_task, which gqlrun adds"] : [:]
      for column in columns(of: operation) {
        guard let other = seen.updateValue(column, forKey: column.asciiLowercased) else { continue }
        loader.report(
          .wrongValue,
          "the columns `\(other)` and `\(column)` of `\(operation.id)` are one column for SQLite",
          table.location, "give one of the fields an alias")
      }
    }
  }
}
