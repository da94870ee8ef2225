import GRDB
import GRDBSQLite

/// The records of a file, in a transaction of the writer.
struct SQLiteHousekeeping: HousekeepingRecords {
  private let db: Database
  private let rows: Statement
  private let text: Statement
  private let deletion: Statement
  private let update: Statement

  /// The maximum number of changes that are made at a time.
  private static let maxChanges = 1000

  init(_ db: Database) throws {
    self.db = db
    rows = try db.makeStatement(
      sql: "SELECT key, data, received, ages FROM records WHERE key > ?1 ORDER BY key")
    text = try db.makeStatement(sql: "SELECT data, checksum FROM records WHERE key = ?1")
    deletion = try db.makeStatement(sql: "DELETE FROM records WHERE key = ?1")
    update = try db.makeStatement(
      sql: """
        UPDATE records SET data = ?2, checksum = ?3, received = ?4, ages = NULLIF(?5, '')
        WHERE key = ?1
        """)
  }

  var hasSegments: Bool {
    get throws {
      try Int.fetchOne(
        db, sql: "SELECT 1 FROM records WHERE key >= '$segment:' AND key < '$segment;' LIMIT 1")
        != nil
    }
  }

  func edit(
    prefix: [UInt8], needsTexts: Bool, removed: (Bytes, Bytes) -> Void,
    body: (HousekeepingRecord) throws -> RecordChange
  ) throws {
    // Keys greater than the prefix without its last byte include the prefix itself.
    var last: [UInt8]? = Array(prefix.dropLast())
    while let start = last {
      var changes: [(key: [UInt8], change: RecordChange)] = []
      last = try changesAfter(
        start, prefix: prefix, removed: removed, changes: &changes, body: body)
      for (key, change) in changes {
        try key.withUnsafeBufferPointer { try make(change, to: Bytes($0)) }
      }
    }
  }

  /// Collects changes of records after the key `start`, because a row must not change while a statement reads it.
  ///
  /// - Returns: Where to continue; `nil` at the end.
  private func changesAfter(
    _ start: [UInt8], prefix: [UInt8], removed: (Bytes, Bytes) -> Void,
    changes: inout [(key: [UInt8], change: RecordChange)],
    body: (HousekeepingRecord) throws -> RecordChange
  ) throws -> [UInt8]? {
    let handle = rows.sqliteStatement
    defer { sqlite3_reset(handle) }
    return try start.withUnsafeBufferPointer { start in
      SQLiteText.bind(handle, index: 1, bytes: Bytes(start))
      while try SQLiteText.step(handle) {
        let key = SQLiteText.column(handle, 0)
        if !prefix.isEmpty, !key.array.starts(with: prefix) {
          // Skips keys before the prefix; ends after it.
          if prefix.withUnsafeBufferPointer({ compareKeys(key, Bytes($0)) }) { continue }
          return nil
        }
        let text = SQLiteText.column(handle, 1)
        let times = SQLiteText.times(handle, 2)
        let change = try body(
          HousekeepingRecord(
            key: key, text: text, size: key.count + text.count, times: times,
            rank: times.received))
        switch change {
        case .keep: continue
        case .remove: removed(key, text)
        case .replace: break
        }
        changes.append((key.array, change))
        if changes.count == Self.maxChanges { return key.array }
      }
      return nil
    }
  }

  private func make(_ change: RecordChange, to key: Bytes) throws {
    switch change {
    case .keep: break
    case .remove:
      SQLiteText.bind(deletion.sqliteStatement, index: 1, bytes: key)
      try execute(deletion.sqliteStatement)
    case .replace(let text, let times):
      try text.withUnsafeBufferPointer { text in
        try times.ages.withUnsafeBufferPointer { ages in
          let handle = update.sqliteStatement
          SQLiteText.bind(handle, index: 1, bytes: key)
          SQLiteText.bind(handle, index: 2, bytes: Bytes(text))
          sqlite3_bind_int64(handle, 3, SQLiteText.checksum(key: key, text: Bytes(text)))
          sqlite3_bind_int64(handle, 4, Int64(times.received))
          SQLiteText.bind(handle, index: 5, bytes: Bytes(ages))
          try execute(handle)
        }
      }
    }
  }

  func forEach(_ keys: [[UInt8]], _ body: (Bytes, Bytes) throws -> Void) throws {
    let handle = text.sqliteStatement
    for key in keys {
      try key.withUnsafeBufferPointer { key in
        defer { sqlite3_reset(handle) }
        SQLiteText.bind(handle, index: 1, bytes: Bytes(key))
        guard try SQLiteText.step(handle) else { return }
        let text = SQLiteText.column(handle, 0)
        let checksum = SQLiteText.checksum(key: Bytes(key), text: text)
        if sqlite3_column_int64(handle, 1) == checksum { try body(Bytes(key), text) }
      }
    }
  }

  private func execute(_ handle: OpaquePointer) throws {
    defer { sqlite3_reset(handle) }
    _ = try SQLiteText.step(handle)
  }
}
