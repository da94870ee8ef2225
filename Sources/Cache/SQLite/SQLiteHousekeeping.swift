import GRDB
import GRDBSQLite

/// The records of a file, in a transaction of the writer.
struct SQLiteHousekeeping: HousekeepingRecords {
  private let db: Database
  private let records: SQLiteRecords
  private let rows: Statement

  /// The maximum number of changes that are made at a time.
  private static let maxChanges = 1000

  init(_ db: Database) throws {
    self.db = db
    rows = try db.makeStatement(
      sql: "SELECT key, data, received, ages FROM records WHERE key > ?1 ORDER BY key")
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
    // Keys greater than the prefix without its last byte include the prefix itself.
    var last: [UInt8]? = Array(prefix.dropLast())
    while let start = last {
      var changes: [(key: [UInt8], change: RecordChange)] = []
      last = try changesAfter(
        start, prefix: prefix, removed: removed, changes: &changes, body: body)
      for (key, change) in changes {
        try key.withBytes { try make(change, to: $0) }
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
    return try start.withBytes { start in
      SQLiteText.bind(handle, index: 1, bytes: start)
      while try SQLiteText.step(handle) {
        let key = SQLiteText.column(handle, 0)
        if !prefix.isEmpty, !key.array.starts(with: prefix) {
          // Skips keys before the prefix; ends after it.
          if prefix.withBytes({ compareKeys(key, $0) }) { continue }
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
    case .remove: try records.remove(key)
    case .replace(let text, let times):
      try text.withBytes { try records.replace(key, text: $0, times: times) }
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
