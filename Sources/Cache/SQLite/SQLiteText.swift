import GRDBSQLite

/// Transfers bytes between records and SQLite statements without copies.
enum SQLiteText {
  /// The text of a column; valid until the next step of the statement.
  @inline(__always)
  static func column(_ statement: OpaquePointer, _ index: Int32) -> Bytes {
    // The pointer before the length: https://www.sqlite.org/c3ref/column_blob.html
    guard let start = sqlite3_column_text(statement, index) else { return .empty }
    return Bytes(start: start, count: Int(sqlite3_column_bytes(statement, index)))
  }

  /// The times of a record whose columns `received` and `ages` start at `index`.
  static func times(_ statement: OpaquePointer, _ index: Int32) -> RecordTimes {
    RecordTimes(
      received: UInt32(clamping: sqlite3_column_int64(statement, index)),
      ages: column(statement, index + 1).array)
  }

  /// Binds bytes that stay valid until after the statement's next step.
  @inline(__always)
  static func bind(_ statement: OpaquePointer, _ index: Int32, _ bytes: Bytes) {
    sqlite3_bind_text64(
      statement, index, UnsafeRawPointer(bytes.start).assumingMemoryBound(to: CChar.self),
      UInt64(bytes.count), nil, UInt8(SQLITE_UTF8))
  }

  /// The checksum stored with a record, to detect damaged pages.
  ///
  /// SQLite itself does not detect a zeroed or swapped page.
  @inline(__always)
  static func checksum(key: Bytes, text: Bytes) -> Int64 {
    let keyHash = hashBytes(key.start, key.count, seed: 0x6771_6c72_756e)
    return Int64(bitPattern: hashBytes(text.start, text.count, seed: keyHash))
  }
}
