import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import GRDB

/// Rows of a query over a SQLite database: `sqlite: out.db`.
struct SQLiteInput: RowInput {
  static let name = "sqlite"
  static let summary =
    "Rows of a query over a SQLite database, also one that an earlier operation writes"
  static let example =
    #"foreach: { sqlite: out.db, query: "select id from repos", key: "{{row.id}}" }"#

  @Option("SQLite database") var sqlite: OptionPath
  @Option("SQL query whose result rows are the rows") var query: String

  var path: String? { sqlite.path }
  var isDatabase: Bool { true }

  func columns(hasNeeds: Bool) throws -> [String]? {
    // An earlier operation may create or change the database.
    guard !hasNeeds else { return nil }
    return try QuerySource(path: sqlite.path, query: query).names
  }

  func isReadable(hasNeeds: Bool) -> Bool {
    !hasNeeds && FileManager.default.fileExists(atPath: sqlite.path)
  }

  func open(_ context: RowContext) throws -> RowSource? {
    try QuerySource(path: sqlite.path, query: query).next
  }
}

/// Reads the rows of a query over a SQLite file, opened read-only.
final class QuerySource {
  private let queue: DatabaseQueue
  /// `nil` after the last row.
  private var rows: RowStatement?
  /// The names of the columns.
  let names: [String]
  private let path: String
  private var number = 0

  init(path: String, query: String) throws(InputProblem) {
    self.path = path
    guard let status = FilePath.status(of: path) else {
      throw InputProblem(file: path, message: "there is no such file")
    }
    // Opening a pipe would wait for its writer.
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw InputProblem(
        file: path, message: "it is not a regular file, and so not a SQLite database")
    }
    do {
      // Read-only, because the query is the user's: `query_only` lets `PRAGMA journal_mode` pass.
      queue = try DatabaseQueue(path: path, configuration: .reading)
      (names, rows) = try queue.inDatabase { db -> ([String], RowStatement?) in
        let statement = try db.makeStatement(sql: query)
        try statement.validateArguments([])
        return (statement.columnNames, try RowStatement(db, sql: query))
      }
    } catch {
      throw Self.problem(path, error)
    }
    var seen: Set<String> = []
    for name in names where !seen.insert(name).inserted {
      throw InputProblem(
        file: path,
        message: "the query returns two columns `\(name)`; rename one of them with `AS`")
    }
  }

  func next() throws -> Row? {
    do {
      return try queue.inDatabase { _ in
        guard let row = try rows?.next() else {
          rows = nil
          return nil
        }
        number += 1
        var object = JSONObject()
        for (name, value) in zip(names, row) { object[name] = Self.json(value) }
        return Row(number: number, content: .values(object))
      }
    } catch {
      throw Self.problem(path, error)
    }
  }

  deinit {
    // A statement must be finalized on its database's queue.
    queue.inDatabase { _ in rows = nil }
  }

  private static func json(_ value: SQLValue) -> JSONValue {
    switch value {
    case .null: .null
    case .integer(let number): .number(JSONNumber(number))
    case .real(let number): JSONNumber(number).map { .number($0) } ?? .null
    case .text(let text): .string(text)
    }
  }

  private static func problem(_ path: String, _ error: any Error) -> InputProblem {
    var message = (error as? DatabaseError)?.message ?? "\(error)"
    // The message is for callers of GRDB.
    if (error as? DatabaseError)?.resultCode == .SQLITE_MISUSE {
      message =
        "it has more than one statement, or a parameter; write one statement with its values"
    }
    return InputProblem(file: path, message: "the query cannot be run: \(message)")
  }
}
