import GRDBSQLite

/// Moving bytes between records and SQLite statements, by length and without copies.
enum SQLiteText {
  /// The text of a column; valid until the statement moves on.
  @inline(__always)
  static func column(_ statement: OpaquePointer, _ index: Int32) -> Bytes {
    // The pointer first: https://www.sqlite.org/c3ref/column_blob.html
    guard let start = sqlite3_column_text(statement, index) else { return .empty }
    return Bytes(start: start, count: Int(sqlite3_column_bytes(statement, index)))
  }

  /// Binds bytes that outlive the statement's next step.
  @inline(__always)
  static func bind(_ statement: OpaquePointer, _ index: Int32, _ bytes: Bytes) {
    sqlite3_bind_text64(
      statement, index, UnsafeRawPointer(bytes.start).assumingMemoryBound(to: CChar.self),
      UInt64(bytes.count), nil, UInt8(SQLITE_UTF8))
  }

  /// What is stored beside a record, so that a damaged page cannot pass for data.
  ///
  /// SQLite itself does not notice a zeroed or swapped page.
  @inline(__always)
  static func checksum(key: Bytes, text: Bytes) -> Int64 {
    let keyHash = hashBytes(key.start, key.count, seed: 0x6771_6c72_756e)
    return Int64(bitPattern: hashBytes(text.start, text.count, seed: keyHash))
  }
}
