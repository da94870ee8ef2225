import Foundation
import GRDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The database file before SQLite sees it: whose it is, how it is made, what its errors mean.
enum SQLiteFile {
  /// Refuses a file that is not ours, without touching it.
  ///
  /// Reads the header directly: https://www.sqlite.org/fileformat2.html#the_database_header
  static func check(_ path: String) throws(CacheError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return }
      throw CacheError(
        .storage, "cannot open the cache \(path): \(String(cString: strerror(errno)))", place: path)
    }
    defer { close(descriptor) }
    var header = [UInt8](repeating: 0, count: 100)
    let count = read(descriptor, &header, 100)
    if count == 0 { return }
    guard count > 0 else {
      throw CacheError(
        .storage, "cannot read the cache \(path): \(String(cString: strerror(errno)))", place: path)
    }
    guard count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw CacheError(
        .foreignDatabase,
        "\(path) is not a SQLite database, so it is left as it is; name another file for the cache",
        place: path)
    }
    let application = Int32(bitPattern: number(header, at: 68))
    guard application == SQLiteStore.applicationID else {
      throw CacheError(
        .foreignDatabase,
        "\(path) is a SQLite database of another program (application id \(application)), so it is "
          + "left as it is; name another file for the cache", place: path)
    }
    let version = Int32(bitPattern: number(header, at: 60))
    guard version <= SQLiteStore.schemaVersion else {
      throw CacheError(
        .foreignDatabase,
        "\(path) was made by a newer gqlrun (schema \(version), this one knows "
          + "\(SQLiteStore.schemaVersion)), so it is left as it is; update gqlrun or name another "
          + "file for the cache", place: path)
    }
  }

  private static func number(_ header: [UInt8], at offset: Int) -> UInt32 {
    header[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Makes the database when it is not there, in one transaction and for its owner only.
  static func create(_ path: String) throws {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CacheError(
        .storage, "cannot make the cache \(path): \(String(cString: strerror(errno)))", place: path)
    }
    let isEmpty = lseek(descriptor, 0, SEEK_END) == 0
    close(descriptor)
    guard isEmpty else { return }
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.writeWithoutTransaction { db in
      // Measured: 1.5 to 1.8 times faster than pages of 4 KiB with records of a few hundred bytes.
      try db.execute(sql: "PRAGMA page_size = 16384")
      try db.inTransaction(.exclusive) {
        // Another process may have been faster.
        guard try !db.tableExists("records") else { return .commit }
        try db.execute(
          sql: """
            CREATE TABLE records (
              key TEXT NOT NULL PRIMARY KEY,
              received INTEGER NOT NULL,
              data TEXT NOT NULL,
              checksum INTEGER NOT NULL
            ) WITHOUT ROWID;
            CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value) WITHOUT ROWID;
            PRAGMA application_id = \(SQLiteStore.applicationID);
            PRAGMA user_version = \(SQLiteStore.schemaVersion);
            """)
        try db.execute(
          sql: "INSERT INTO meta VALUES ('segment_seed', ?)",
          arguments: [Int64.random(in: .min ... .max)])
        return .commit
      }
    }
    try queue.close()
  }

  /// The error in the words of this room.
  static func describe(_ error: any Error, _ action: String, _ path: String) -> CacheError {
    if let error = error as? CacheError { return error }
    guard let database = error as? DatabaseError else {
      return CacheError(.storage, "cannot \(action) \(path): \(error)", place: path)
    }
    let message = database.message ?? "SQLite error \(database.extendedResultCode.rawValue)"
    switch database.resultCode {
    case .SQLITE_BUSY, .SQLITE_LOCKED:
      return CacheError(
        .busy,
        "cannot \(action) \(path): another process has been writing to it for 10 seconds; try again "
          + "when it is done, or use another file", place: path)
    case .SQLITE_CORRUPT, .SQLITE_NOTADB:
      return CacheError(
        .damagedDatabase,
        "cannot \(action) \(path): the database is damaged (\(message)); remove the file to start "
          + "with an empty cache", place: path)
    default:
      return CacheError(.storage, "cannot \(action) \(path): \(message)", place: path)
    }
  }
}
