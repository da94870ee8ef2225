import GRDB
import GRDBSQLite

/// The records of a file, in transactions of the writer.
struct SQLiteHousekeeping: HousekeepingRecords {
  private let db: Database
  private let records: SQLiteRecords
  private let rows: Statement
  private let deletion: Statement
  private let continueIfLarge: () throws -> Void

  var isSorted: Bool { true }

  /// The maximum number of records that are changed at a time.
  private static let maxChanges = 1000

  /// Changes to make, because a row must not change while a statement reads it.
  private enum Change {
    /// Removes all records from the first key to the last one.
    case remove(first: [UInt8], last: [UInt8])
    case replace([UInt8], text: [UInt8], RecordTimes)
  }

  /// - Parameter continueIfLarge: Called after changes; may commit the transaction and begin another one.
  init(_ db: Database, continueIfLarge: @escaping () throws -> Void) throws {
    self.db = db
    self.continueIfLarge = continueIfLarge
    rows = try db.makeStatement(
      sql: "SELECT key, data, received, ages, checksum FROM records WHERE key >= ?1 ORDER BY key")
    // Searching for each key would compare it with the large rows in inner pages each time.
    deletion = try db.makeStatement(sql: "DELETE FROM records WHERE key BETWEEN ?1 AND ?2")
    records = try SQLiteRecords(db)
  }

  var hasSegments: Bool {
    get throws {
      try db.integer(
        "SELECT 1 FROM records WHERE key >= '$segment:' AND key < '$segment;' LIMIT 1") != nil
    }
  }

  func edit(
    prefix: [UInt8], needsTexts: Bool, removed: (Bytes, Bytes) -> Void,
    body: (HousekeepingRecord) throws -> RecordChange
  ) throws {
    var next: [UInt8]? = prefix
    while let start = next {
      var changes: [Change] = []
      next = try collect(&changes, from: start, prefix: prefix, removed: removed) { key, text in
        let isDamaged =
          needsTexts
          && sqlite3_column_int64(rows.sqliteStatement, 4)
            != SQLiteText.checksum(key: key, text: text)
        let times = SQLiteText.times(rows.sqliteStatement, 2)
        return try body(
          HousekeepingRecord(
            key: key, text: isDamaged ? .empty : text, size: key.count + text.count, times: times,
            rank: times.received))
      }
      for change in changes { try make(change) }
      if !changes.isEmpty { try continueIfLarge() }
    }
  }

  /// Collects the changes of records from the key `start` on.
  ///
  /// - Returns: Where to continue; `nil` at the end.
  private func collect(
    _ changes: inout [Change], from start: [UInt8], prefix: [UInt8],
    removed: (Bytes, Bytes) -> Void, body: (Bytes, Bytes) throws -> RecordChange
  ) throws -> [UInt8]? {
    let handle = rows.sqliteStatement
    defer { sqlite3_reset(handle) }
    var count = 0
    var first: [UInt8]?
    var last = ByteStack(capacity: 256)
    return try start.withBytes { start in
      SQLiteText.bind(handle, index: 1, bytes: start)
      while count < Self.maxChanges, try SQLiteText.step(handle) {
        // A key that is no text is found by no comparison with texts, and would be read repeatedly.
        let isText = sqlite3_column_type(handle, 0) == SQLITE_TEXT
        let key = SQLiteText.column(handle, 0)
        guard isText, compareKeys(last.all, key) else {
          throw DatabaseError(
            resultCode: .SQLITE_CORRUPT, message: "the keys of records are out of order")
        }
        guard key.count >= prefix.count, key[0..<prefix.count].equals(prefix) else { break }
        let text = SQLiteText.column(handle, 1)
        let change = try body(key, text)
        if case .remove = change {
          removed(key, text)
          first = first ?? key.array
        } else if let begin = first {
          changes.append(.remove(first: begin, last: last.all.array))
          first = nil
        }
        if case .replace(let text, let times) = change {
          changes.append(.replace(key.array, text: text, times))
        }
        if case .keep = change {} else { count += 1 }
        last.truncate(to: 0)
        last.append(key)
      }
      if let first { changes.append(.remove(first: first, last: last.all.array)) }
      // The least key after the last one.
      return count < Self.maxChanges ? nil : last.all.array + [0]
    }
  }

  private func make(_ change: Change) throws {
    switch change {
    case .remove(let first, let last):
      let handle = deletion.sqliteStatement
      try first.withBytes { first in
        try last.withBytes { last in
          SQLiteText.bind(handle, index: 1, bytes: first)
          SQLiteText.bind(handle, index: 2, bytes: last)
          defer { sqlite3_reset(handle) }
          _ = try SQLiteText.step(handle)
        }
      }
    case .replace(let key, let text, let times):
      try key.withBytes { key in
        try text.withBytes { try records.replace(key, text: $0, times: times) }
      }
    }
  }

  func forEach(_ keys: [[UInt8]], _ body: (Bytes, Bytes) throws -> Void) throws {
    for key in keys {
      try key.withBytes { key in
        if let text = try records.text(of: key) { try text.withBytes { try body(key, $0) } }
      }
    }
  }
}
