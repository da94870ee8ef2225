import Foundation
import GQLRunJSON
import GQLRunSupport
import GRDB

/// The lines of a bulk operation in a temporary database, in the order in which their rows are written: connection after
/// connection, so that parents come before their children, and in each the lines of one parent together.
///
/// The order of the file itself does not promise either. Memory does not depend on the number of lines; SQLite removes the
/// database with its connection, also after a crash.
///
/// https://www.sqlite.org/inmemorydb.html#temp_db
actor BulkLines {
  /// Lines of one parent.
  struct Group: Sendable {
    var connection: Int
    /// The value of `__parentId`; `nil` for objects without parent.
    var parent: String?
    /// The index of the first line among those of the parent.
    var position: Int
    var lines: [JSONObject]
  }

  private let executor = FileExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let queue: DatabaseQueue
  private var lines = LineSplitter()
  private let document: BulkDocument

  /// The maximum number of lines in groups that are read together, and of their bytes.
  private static let maxLines = 1_000
  private static let maxBytes = 1 << 20
  /// The maximum length of a line in bytes.
  private static let maxLength = 64 << 20

  init(_ document: BulkDocument) throws(TaskProblem) {
    self.document = document
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      try db.execute(
        sql: "PRAGMA temp_store = FILE; PRAGMA journal_mode = OFF; PRAGMA cache_size = -8000")
    }
    do {
      queue = try DatabaseQueue(path: "", configuration: configuration)
      try queue.writeWithoutTransaction { db in
        try db.execute(
          sql:
            "CREATE TABLE received (connection INTEGER NOT NULL, parent TEXT, line BLOB NOT NULL)")
      }
    } catch {
      throw Self.problem(error)
    }
  }

  private static func problem(_ error: any Error) -> TaskProblem {
    (error as? TaskProblem)
      ?? TaskProblem(
        "the lines of the bulk operation cannot be kept in a temporary file: "
          + "\((error as? DatabaseError)?.message ?? "\(error)"); SQLITE_TMPDIR names a folder with more room"
      )
  }

  // MARK: Receiving

  /// Adds bytes of the result.
  func add(_ bytes: [UInt8]) throws(TaskProblem) {
    do {
      lines.add(bytes)
      var found: [ArraySlice<UInt8>] = []
      while let line = lines.next() { found.append(line) }
      try insert(found)
      guard lines.length <= Self.maxLength else {
        throw TaskProblem("a line of the bulk operation is longer than 64 MiB")
      }
    } catch {
      throw Self.problem(error)
    }
  }

  /// Ends the result, and sorts its lines. Returns their number.
  func end() throws(TaskProblem) -> Int {
    do {
      try insert([lines.rest()].compactMap { $0 })
      return try queue.write { db in
        try db.execute(
          sql: """
            CREATE TABLE line AS SELECT connection, parent,
              row_number() OVER (PARTITION BY connection, parent ORDER BY rowid) - 1 AS position, line
            FROM received ORDER BY connection, parent, rowid;
            DROP TABLE received
            """)
        return try Int.fetchOne(db, sql: "SELECT count(*) FROM line") ?? 0
      }
    } catch {
      throw Self.problem(error)
    }
  }

  private func insert(_ lines: [ArraySlice<UInt8>]) throws {
    guard !lines.isEmpty else { return }
    try queue.write { db in
      let statement = try db.cachedStatement(sql: "INSERT INTO received VALUES (?, ?, ?)")
      for line in lines where !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) {
        let object = try Self.object(line)
        guard let connection = document.connection(of: object) else {
          throw TaskProblem(
            "a line of the bulk operation is of no connection of the document: "
              + String(decoding: line.prefix(100), as: UTF8.self))
        }
        try statement.execute(
          arguments: [connection, object["__parentId"]?.stringValue, Data(line)])
      }
    }
  }

  private static func object(_ line: some Collection<UInt8>) throws(TaskProblem) -> JSONObject {
    guard let object = (try? JSONValue(parsing: Array(line)))?.objectValue else {
      throw TaskProblem(
        "a line of the bulk operation is not a JSON object: "
          + String(decoding: line.prefix(100), as: UTF8.self))
    }
    return object
  }

  // MARK: Reading

  /// The lines after the first `count`; empty after the last one.
  func groups(after count: Int) throws(TaskProblem) -> [Group] {
    do {
      return try queue.read { db in
        var groups: [Group] = []
        var bytes = 0
        // Rows of `CREATE TABLE AS` are numbered in their order.
        let rows = try GRDB.Row.fetchCursor(
          db,
          sql: """
            SELECT connection, parent, position, line FROM line WHERE rowid > ? ORDER BY rowid LIMIT ?
            """, arguments: [count, Self.maxLines])
        while bytes < Self.maxBytes, let row = try rows.next() {
          let line: Data = row[3]
          bytes += line.count
          let object = try Self.object(line)
          let (connection, parent): (Int, String?) = (row[0], row[1])
          if let last = groups.last, last.connection == connection, last.parent == parent {
            groups[groups.count - 1].lines.append(object)
          } else {
            groups.append(
              Group(
                connection: connection, parent: parent, position: row[2], lines: [object]))
          }
        }
        return groups
      }
    } catch {
      throw Self.problem(error)
    }
  }
}
