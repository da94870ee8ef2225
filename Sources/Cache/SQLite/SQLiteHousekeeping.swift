import Foundation
import GRDB
import GRDBSQLite

/// Removes rows, inside a transaction.
struct SQLiteHousekeeping {
  let collectsChanges: Bool
  private(set) var summary = RemovalSummary()

  init(collectsChanges: Bool) { self.collectsChanges = collectsChanges }

  /// The key ranges of root fields and of segments.
  private static let roots = "key >= 'QUERY_ROOT.' AND key < 'QUERY_ROOT/'"
  private static let segments = "key >= '$segment:' AND key < '$segment;'"

  // MARK: Selected records

  mutating func remove(_ selection: RecordSelection, from db: Database) throws {
    try SQLiteSchema.recordRemovals(in: db)
    let prefix = selection.commonPrefix
    let page = try db.makeStatement(
      sql: "SELECT key, data, checksum, received, ages FROM records WHERE key > ?1 ORDER BY key")
    var last: [UInt8]?
    // Keys are read in batches, because a row must not change while a statement reads it.
    repeat {
      var matches: [(key: [UInt8], text: [UInt8], times: RecordTimes)] = []
      last = try matchesAfter(
        last, selection: selection, prefix: prefix, handle: page.sqliteStatement, db: db,
        matches: &matches)
      for match in matches { try remove(match, selection, from: db) }
    } while last != nil
  }

  /// Collects matching records after the key `last`; returns where to continue, or `nil` at the
  /// end.
  private func matchesAfter(
    _ last: [UInt8]?, selection: RecordSelection, prefix: [UInt8], handle: OpaquePointer,
    db: Database, matches: inout [(key: [UInt8], text: [UInt8], times: RecordTimes)]
  ) throws -> [UInt8]? {
    defer { sqlite3_reset(handle) }
    // Keys greater than the prefix without its last byte include the prefix itself.
    let start = last ?? Array(prefix.dropLast())
    return try start.withUnsafeBufferPointer { start in
      SQLiteText.bind(handle, index: 1, bytes: Bytes(start))
      while true {
        let code = sqlite3_step(handle)
        if code == SQLITE_DONE { return nil }
        guard code == SQLITE_ROW else { throw Self.error(code, db) }
        let key = SQLiteText.column(handle, 0)
        if !prefix.isEmpty, !key.array.starts(with: prefix) {
          // Skips keys before the prefix; ends after it.
          if prefix.withUnsafeBufferPointer({ compareKeys(key, Bytes($0)) }) { continue }
          return nil
        }
        guard selection.matches(key: key) else { continue }
        let text = SQLiteText.column(handle, 1)
        matches.append((key.array, text.array, SQLiteText.times(handle, 3)))
        if matches.count == 1000 { return key.array }
      }
    }
  }

  private mutating func remove(
    _ match: (key: [UInt8], text: [UInt8], times: RecordTimes), _ selection: RecordSelection,
    from db: Database
  ) throws {
    let key = Data(match.key)
    try match.key.withUnsafeBufferPointer { keyBuffer in
      try match.text.withUnsafeBufferPointer { textBuffer in
        let (rest, removed) = selection.remainder(of: Bytes(textBuffer))
        guard let rest else {
          summary.note(
            key: Bytes(keyBuffer), text: Bytes(textBuffer), collectsChanges: collectsChanges)
          try db.execute(
            sql: "DELETE FROM records WHERE key = CAST(? AS TEXT)", arguments: [key])
          return
        }
        if removed.isEmpty { return }
        summary.note(
          key: Bytes(keyBuffer), removed: removed, bytes: match.text.count - rest.count,
          collectsChanges: collectsChanges)
        try rest.withUnsafeBufferPointer { rest in
          let times = match.times.replacing([], in: Bytes(rest))
          try db.execute(
            sql: """
              UPDATE records SET data = CAST(? AS TEXT), checksum = ?, received = ?,
                ages = CAST(NULLIF(?, x'') AS TEXT)
              WHERE key = CAST(? AS TEXT)
              """,
            arguments: [
              Data(rest), SQLiteText.checksum(key: Bytes(keyBuffer), text: Bytes(rest)),
              Int64(times.received), Data(times.ages), key,
            ])
        }
      }
    }
  }

  // MARK: Garbage

  /// - Parameter prefixes: The prefixes of records that redirects reach: names, which need no quoting.
  mutating func collectGarbage(
    rootsBefore date: Int?, keeping prefixes: Set<String>, in db: Database
  ) throws {
    if let date { try removeRows("\(Self.roots) AND received < \(date)", from: db) }
    let kept = prefixes.map { "(key >= '\($0):' AND key < '\($0);')" }
    let starts = ([Self.roots] + kept).joined(separator: " OR ")
    try db.execute(
      sql: """
        CREATE TEMP TABLE reached (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
        INSERT INTO reached (key) SELECT key FROM records
          WHERE (\(starts)) AND received >= \(date ?? 0);
        """)
    // One table is both the queue and the set of reached records.
    let next = try db.makeStatement(
      sql: """
        SELECT r.key, r.data, r.checksum, q.number FROM temp.reached q
        LEFT JOIN records r ON r.key = q.key WHERE q.number = ?1
        """)
    let note = try db.makeStatement(sql: "INSERT OR IGNORE INTO temp.reached (key) VALUES (?1)")
    var number: Int64 = 1
    while true {
      sqlite3_reset(next.sqliteStatement)
      sqlite3_bind_int64(next.sqliteStatement, 1, number)
      let code = sqlite3_step(next.sqliteStatement)
      if code == SQLITE_DONE { break }
      guard code == SQLITE_ROW else { throw Self.error(code, db) }
      number += 1
      // A dangling reference, or one to a damaged record, which is treated as missing.
      guard sqlite3_column_type(next.sqliteStatement, 0) != SQLITE_NULL,
        let text = Self.sound(next.sqliteStatement)
      else { continue }
      _ = try RecordLinks.forEach(in: text) { key in
        SQLiteText.bind(note.sqliteStatement, index: 1, bytes: key)
        let code = sqlite3_step(note.sqliteStatement)
        sqlite3_reset(note.sqliteStatement)
        guard code == SQLITE_DONE else { throw Self.error(code, db) }
      }
    }
    sqlite3_reset(next.sqliteStatement)
    try removeRows(
      "NOT EXISTS (SELECT 1 FROM temp.reached WHERE reached.key = records.key)", from: db)
    try db.execute(sql: "DROP TABLE temp.reached")
  }

  // MARK: Size

  mutating func trim(to limit: Int, in db: Database) throws {
    try SQLiteSchema.recordRemovals(in: db)
    try removeLostSegments(in: db)
    while true {
      let (total, sizes) = try sizes(in: db)
      guard total > limit, !sizes.isEmpty else { return }
      // Removes the oldest seconds completely, and of the last one only as much as required.
      var left = total - limit
      for (second, size) in sizes.sorted(by: { $0.key < $1.key }) {
        if size <= left {
          try removeRows("received = \(second) AND NOT (\(Self.segments))", from: db)
          left -= size
        } else {
          try removeFirst(left, receivedAt: second, from: db)
          left = 0
        }
        if left <= 0 { break }
      }
      try removeLostSegments(in: db)
    }
  }

  /// The total size in bytes, and that of the records of each second with the segments of their
  /// lists.
  private func sizes(in db: Database) throws -> (total: Int, bySecond: [Int64: Int]) {
    var total = 0
    var bySecond: [Int64: Int] = [:]
    let segment = try db.makeStatement(
      sql: "SELECT length(CAST(data AS BLOB)) FROM records WHERE key = ?1")
    try Self.forEachRow("SELECT key, data, checksum, received FROM records", db: db) { handle in
      let key = SQLiteText.column(handle, 0)
      let text = SQLiteText.column(handle, 1)
      total += key.count + text.count
      if Segments.isSegment(key: key) { return }
      let size = key.count + text.count + Self.segmentBytes(of: text, segment.sqliteStatement)
      bySecond[sqlite3_column_int64(handle, 3), default: 0] += size
    }
    return (total, bySecond)
  }

  private static func segmentBytes(of text: Bytes, _ handle: OpaquePointer) -> Int {
    RecordLinks.segments(of: text).reduce(0) { sum, key in
      sqlite3_reset(handle)
      let size = key.withUnsafeBufferPointer { key in
        SQLiteText.bind(handle, index: 1, bytes: Bytes(key))
        return sqlite3_step(handle) == SQLITE_ROW ? Int(sqlite3_column_int64(handle, 0)) : 0
      }
      sqlite3_reset(handle)
      return sum + key.count + size
    }
  }

  /// Removes records of one second in key order, until `bytes` bytes are removed.
  private mutating func removeFirst(
    _ bytes: Int, receivedAt second: Int64, from db: Database
  ) throws {
    var left = bytes
    var last: [UInt8] = []
    let segment = try db.makeStatement(
      sql: "SELECT length(CAST(data AS BLOB)) FROM records WHERE key = ?1")
    try Self.forEachRow(
      """
      SELECT key, data, checksum FROM records
      WHERE received = \(second) AND NOT (\(Self.segments)) ORDER BY key
      """, db: db
    ) { handle in
      guard left > 0 else { return }
      let key = SQLiteText.column(handle, 0)
      let text = SQLiteText.column(handle, 1)
      left -= key.count + text.count + Self.segmentBytes(of: text, segment.sqliteStatement)
      last = key.array
    }
    let key = last.map { String(format: "%02x", $0) }.joined()
    try removeRows(
      "received = \(second) AND NOT (\(Self.segments)) AND key <= CAST(x'\(key)' AS TEXT)", from: db
    )
  }

  /// Removes segments that belong to no list.
  private mutating func removeLostSegments(in db: Database) throws {
    try db.execute(sql: "CREATE TEMP TABLE owned (key TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID")
    let note = try db.makeStatement(sql: "INSERT OR IGNORE INTO temp.owned (key) VALUES (?1)")
    try Self.forEachRow("SELECT key, data, checksum FROM records", db: db) { handle in
      for key in RecordLinks.segments(of: SQLiteText.column(handle, 1)) {
        try key.withUnsafeBufferPointer { key in
          SQLiteText.bind(note.sqliteStatement, index: 1, bytes: Bytes(key))
          let code = sqlite3_step(note.sqliteStatement)
          sqlite3_reset(note.sqliteStatement)
          guard code == SQLITE_DONE else { throw Self.error(code, db) }
        }
      }
    }
    try removeRows(
      "\(Self.segments) AND NOT EXISTS (SELECT 1 FROM temp.owned WHERE owned.key = records.key)",
      from: db)
    try db.execute(sql: "DROP TABLE temp.owned")
  }

  // MARK: Rows

  /// Logs and removes the rows that satisfy a condition.
  private mutating func removeRows(_ condition: String, from db: Database) throws {
    let before = summary.records + summary.segments
    var noted = summary
    let collectsChanges = collectsChanges
    try Self.forEachRow("SELECT key, data FROM records WHERE \(condition)", db: db) { handle in
      noted.note(
        key: SQLiteText.column(handle, 0), text: SQLiteText.column(handle, 1),
        collectsChanges: collectsChanges)
    }
    summary = noted
    guard summary.records + summary.segments > before else { return }
    try db.execute(sql: "DELETE FROM records WHERE \(condition)")
  }

  static func forEachRow(
    _ sql: String, db: Database, body: (OpaquePointer) throws -> Void
  ) throws {
    let statement = try db.makeStatement(sql: sql)
    let handle = statement.sqliteStatement
    defer { sqlite3_reset(handle) }
    while true {
      let code = sqlite3_step(handle)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_ROW else { throw Self.error(code, db) }
      try body(handle)
    }
  }

  /// The text of a row of key, data and checksum; `nil` if it is damaged.
  private static func sound(_ handle: OpaquePointer) -> Bytes? {
    let key = SQLiteText.column(handle, 0)
    let text = SQLiteText.column(handle, 1)
    return sqlite3_column_int64(handle, 2) == SQLiteText.checksum(key: key, text: text) ? text : nil
  }

  private static func error(_ code: Int32, _ db: Database) -> DatabaseError {
    DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
  }
}
