public import GQLRunPipeline

/// Where extracted tables are written.
public enum TableTarget: Sendable, Hashable {
  /// The format of files.
  public enum FileFormat: String, Sendable, CaseIterable, ExpressibleByOption {
    /// Comma-separated values with a header.
    case csv
    /// One JSON object per line.
    case ndjson
  }

  /// A SQLite file at this path, with primary and foreign keys. A row replaces the one with the same key.
  case sqlite(String)
  /// A file for each table, in the folder at this path.
  case files(String, FileFormat)
  /// The PostgreSQL database with this URL, with primary and foreign keys. A row replaces the one with the same key.
  ///
  /// libpq's variables and its password file give what the URL does not have, so that `postgres://` may suffice. Tables that
  /// do not exist are created in the first schema of the search path, and beside them those of a queue.
  case postgres(String)
}

/// Where the rows of tables go: the value of `to`.
enum TablesTarget: Sendable, Equatable {
  /// A SQLite database; ``TablesOutput`` has its resolved path.
  case sqlite(path: String)
  /// The database of the queue.
  case postgres
  /// A folder with one file for each table; ``TablesOutput`` has its resolved path.
  case folder(path: String, TableTarget.FileFormat)

  /// Parses the value of `to`; the path is as it is written.
  ///
  /// - Parameter format: The value of `format`, which only folders have.
  init(_ text: String, format: TableTarget.FileFormat?) throws(MalformedText) {
    let schemes = ["postgres:", "postgresql:"]
    if text.contains("{{") {
      throw MalformedText(
        message: "`to` contains a template, and each operation has a `to` of its own",
        hint: "write the path without `{{…}}`")
    } else if schemes.contains(where: { text.hasPrefix($0) }) {
      throw MalformedText(
        message: "`to` has the URL of a database, which is that of the run",
        hint:
          "write `to: postgres`, and the URL as `run: { journal: \"postgres://host/database\" }`")
    } else if text == "postgres" {
      self = .postgres
    } else if text.hasPrefix(Self.sqlitePrefix) {
      let path = String(text.dropFirst(Self.sqlitePrefix.count))
      guard !path.isEmpty, !path.hasSuffix("/") else {
        throw MalformedText(
          message: "`\(text)` names no file", hint: "write `to: sqlite:FILE`, such as sqlite:out.db"
        )
      }
      self = .sqlite(path: path)
    } else if SQLiteSink.fileExtensions.contains(where: { text.hasSuffix($0) }) {
      throw MalformedText(
        message: "`\(text)` is a folder, because it does not begin with `sqlite:`",
        hint: "write `to: sqlite:\(text)` for a database")
    } else if let format {
      self = .folder(path: text.hasSuffix("/") ? String(text.dropLast()) : text, format)
    } else {
      throw MalformedText(
        message: "the files in `\(text)` have no format",
        hint: "add `format: csv` or `format: ndjson`, or write `to: sqlite:FILE` for a database")
    }
    guard keepsRows == (format == nil) else {
      throw MalformedText(
        message: "`format` is for files in a folder, and `to` is a database", hint: "remove it")
    }
  }

  private static let sqlitePrefix = "sqlite:"

  /// The same target with its path resolved; `nil` for an unusable path.
  func resolved(_ resolve: (String) -> String?) -> Self? {
    switch self {
    case .sqlite(let path): resolve(path).map { .sqlite(path: $0) }
    case .postgres: self
    case .folder(let path, let format): resolve(path).map { .folder(path: $0, format) }
    }
  }

  /// Whether the tables keep the rows of earlier runs; otherwise each run has files of its own.
  var keepsRows: Bool { if case .folder = self { false } else { true } }

  /// Why a table cannot have this name; `nil` if it can.
  func problem(withTable name: String) -> String? {
    switch self {
    case .sqlite: return SQLiteSink.problem(withName: name)
    case .postgres: return PostgresSink.problem(withName: name)
    case .folder:
      // It becomes the name of a file.
      return name.utf8.count > 200 ? "it is longer than 200 bytes" : nil
    }
  }

  /// Why a column cannot have this name; `nil` if it can.
  ///
  /// https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS
  func problem(withColumn name: String) -> String? {
    self == .postgres && name.utf8.count > 63 ? "it is longer than 63 bytes" : nil
  }
}
