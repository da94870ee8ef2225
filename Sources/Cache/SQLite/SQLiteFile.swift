import Foundation
import GRDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The database file outside of SQLite: validation, creation, and error messages.
enum SQLiteFile {
  /// Rejects a file of another program or a newer version, without changing it.
  ///
  /// Reads the header directly: https://www.sqlite.org/fileformat2.html#the_database_header
  ///
  /// - Returns: The schema version; 0 for an empty file.
  static func check(_ path: String) throws(CacheError) -> Int32 {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return 0 }
      throw CacheError(
        .storage, "cannot open the cache \(path): \(String(cString: strerror(errno)))", path: path)
    }
    defer { close(descriptor) }
    var header = [UInt8](repeating: 0, count: 100)
    let count = read(descriptor, &header, 100)
    if count == 0 { return 0 }
    guard count > 0 else {
      throw CacheError(
        .storage, "cannot read the cache \(path): \(String(cString: strerror(errno)))", path: path)
    }
    guard count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw CacheError(
        .foreignDatabase,
        "\(path) is not a SQLite database (unchanged); choose another file for the cache",
        path: path)
    }
    let application = Int32(bitPattern: number(header, at: 68))
    guard application == SQLiteSchema.applicationID else {
      throw CacheError(
        .foreignDatabase,
        "\(path) is a SQLite database of another program (application ID "
          + "\(application), unchanged); choose another file for the cache", path: path)
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
      "\(path) was created by a newer gqlrun (schema \(version), this one supports "
        + "\(SQLiteSchema.version); unchanged); update gqlrun or choose another file for the "
        + "cache", path: path)
  }

  /// Whether the file is this user's, and every user of the machine can read it.
  ///
  /// Its permissions are its owner's decision and are kept; `-wal` and `-shm` take them over.
  static func isShared(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_uid == geteuid() && status.st_mode & 0o004 != 0
  }

  /// Creates an empty file that only its owner can read, if the file does not exist.
  static func make(_ path: String) throws {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let code = errno
      throw CacheError(
        [EACCES, EPERM, EROFS].contains(code) ? .readOnly : .storage,
        "cannot create the cache \(path): \(String(cString: strerror(code)))", path: path)
    }
    close(descriptor)
  }

  /// Waits until a file and its directory entry are on disk. Does nothing if the file does not
  /// exist.
  ///
  /// Must not be used on database files: closing one releases the locks that SQLite holds on it.
  /// https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
  static func sync(_ path: String) throws {
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    for (name, flags) in [
      (path, O_RDONLY), (folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY),
    ] {
      let descriptor = open(name, flags | O_CLOEXEC)
      if descriptor < 0, errno == ENOENT { return }
      defer { if descriptor >= 0 { close(descriptor) } }
      guard descriptor >= 0, fsync(descriptor) == 0 else {
        throw CacheError(
          .storage, "cannot synchronize \(name) to disk: \(String(cString: strerror(errno)))",
          path: path)
      }
    }
  }

  /// Maps an error of GRDB to a ``CacheError``.
  static func describe(_ error: any Error, _ action: String, _ path: String) -> CacheError {
    if let error = error as? CacheError { return error }
    if error is CancellationError {
      return CacheError(
        .cancelled, "cannot \(action) \(path): the task was cancelled", path: path)
    }
    guard let database = error as? DatabaseError else {
      return CacheError(.storage, "cannot \(action) \(path): \(error)", path: path)
    }
    let message = database.message ?? "SQLite error \(database.extendedResultCode.rawValue)"
    let (code, advice): (CacheError.Code, String) =
      switch database.resultCode {
      case .SQLITE_BUSY, .SQLITE_LOCKED:
        (.busy, "another program has locked the database; try again, or use another file")
      case .SQLITE_CORRUPT, .SQLITE_NOTADB:
        (
          .damagedDatabase,
          "the database is damaged (\(message)); it is checked when it is opened next, or remove the "
            + "file to start with an empty cache"
        )
      case .SQLITE_FULL:
        (.storage, "the disk is full (\(message)); the cache is unchanged")
      case .SQLITE_IOERR:
        (
          .storage,
          "the file system failed or a size limit was reached (\(message)); the cache is unchanged"
        )
      case .SQLITE_READONLY, .SQLITE_PERM:
        (.readOnly, "the file or its directory can only be read (\(message))")
      default: (.storage, message)
      }
    return CacheError(code, "cannot \(action) \(path): \(advice)", path: path)
  }
}
