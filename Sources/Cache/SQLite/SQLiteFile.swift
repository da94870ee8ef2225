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
  ///
  /// - Returns: The version of its tables; 0 when there are none yet.
  static func check(_ path: String) throws(CacheError) -> Int32 {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return 0 }
      throw CacheError(
        .storage, "cannot open the cache \(path): \(String(cString: strerror(errno)))", place: path)
    }
    defer { close(descriptor) }
    var header = [UInt8](repeating: 0, count: 100)
    let count = read(descriptor, &header, 100)
    if count == 0 { return 0 }
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
    guard application == SQLiteSchema.applicationID else {
      throw CacheError(
        .foreignDatabase,
        "\(path) is a SQLite database of another program (application id \(application)), so it is "
          + "left as it is; name another file for the cache", place: path)
    }
    let version = Int32(bitPattern: number(header, at: 60))
    guard version <= SQLiteSchema.version else { throw newer(path, version: Int(version)) }
    return version
  }

  private static func number(_ header: [UInt8], at offset: Int) -> UInt32 {
    header[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
  }

  static func newer(_ path: String, version: Int) -> CacheError {
    CacheError(
      .foreignDatabase,
      "\(path) was made by a newer gqlrun (schema \(version), this one knows "
        + "\(SQLiteSchema.version)), so it is left as it is; update gqlrun or name another "
        + "file for the cache", place: path)
  }

  /// Makes the database when it is not there, for its owner only, and brings an older one up to date.
  ///
  /// - Parameter version: What ``check(_:)`` found.
  static func prepare(_ path: String, version: Int32) throws {
    if version == SQLiteSchema.version { return }
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CacheError(
        .storage, "cannot make the cache \(path): \(String(cString: strerror(errno)))", place: path)
    }
    close(descriptor)
    try SQLiteSchema.migrate(path)
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
