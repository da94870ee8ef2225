import Foundation
import GQLRunSupport
package import GRDB

/// The database file outside of SQLite: validation, creation, and error messages.
enum SQLiteFile {
  /// Rejects a file of another program or a newer version, without changing it.
  ///
  /// Reads the header directly: https://www.sqlite.org/fileformat2.html#the_database_header
  ///
  /// - Returns: The schema version; 0 for an empty file.
  static func check(_ path: String) throws(CacheError) -> Int32 {
    let foreign = CacheError(
      .foreignDatabase,
      "\(path) is not a SQLite database (unchanged); choose another file for the cache", path: path)
    // Opening a pipe would wait for its writer.
    let kind = FilePath.status(of: path).map { $0.st_mode & S_IFMT }
    if let kind, ![S_IFREG, S_IFDIR].contains(kind) { throw foreign }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return 0 }
      throw CacheError(
        .storage, "cannot open the cache \(path): \(String(cString: strerror(errno)))", path: path)
    }
    defer { close(descriptor) }
    var header: [UInt8] = []
    let code = SystemIO.forEachPiece(of: descriptor) { piece in
      header += piece
      return header.count < 100
    }
    guard code == 0 else {
      throw CacheError(
        .storage, "cannot read the cache \(path): \(String(cString: strerror(code)))", path: path)
    }
    if header.isEmpty { return 0 }
    guard header.count >= 100, header.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw foreign
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

  /// The URI by which SQLite reads a file without its log; `nil` if the log exists or can be created.
  ///
  /// - Parameter name: The path without symbolic links.
  static func immutableURI(of name: String) -> String? {
    guard access(name + "-wal", F_OK) != 0 || access(name + "-shm", F_OK) != 0 else { return nil }
    guard access(FilePath.folder(of: name), W_OK) != 0 else { return nil }
    return uriWithoutLog(of: name)
  }

  /// The URI by which SQLite reads a file without its log; `nil` if there is something in the log.
  ///
  /// - Parameter name: The path without symbolic links.
  static func uriWithoutLog(of name: String) -> String? {
    if FilePath.size(of: name + "-wal") > 0 { return nil }
    var allowed = CharacterSet.urlPathAllowed
    allowed.remove(charactersIn: "?#%")
    let escaped = name.addingPercentEncoding(withAllowedCharacters: allowed) ?? name
    return "file:\(escaped)?immutable=1"
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
    FilePath.status(of: path).map { $0.st_uid == geteuid() && $0.st_mode & 0o004 != 0 } ?? false
  }

  /// Creates an empty file that only its owner can read, if the file does not exist.
  static func make(_ path: String) throws {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let error = SystemError("write", path: path)
      throw CacheError(
        [EACCES, EPERM, EROFS].contains(error.code) ? .readOnly : .storage,
        "cannot create the cache \(path): \(error.reason)", path: path)
    }
    close(descriptor)
  }

  /// Creates an empty file for a database that is to replace the one at `path`.
  ///
  /// - Returns: Its path; `nil` if it would have another owner or other permissions, or hard links lead to
  ///   the database.
  static func makeReplacement(of path: String) -> String? {
    guard let status = FilePath.status(of: path), status.st_nlink == 1,
      status.st_uid == geteuid(), status.st_mode & 0o7777 == 0o600
    else { return nil }
    let fresh = replacement(of: path)
    removeReplacement(fresh)
    let descriptor = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    close(descriptor)
    return fresh
  }

  /// The path of a database that is to replace the one at `path`.
  static func replacement(of path: String) -> String { path + "-incomplete" }

  static func removeReplacement(_ fresh: String) {
    for suffix in ["", "-wal", "-shm", "-journal"] { unlink(fresh + suffix) }
  }

  /// Waits until a file, if it exists, and the directory entries beside it are on disk.
  ///
  /// Must not be used on database files: closing one releases the locks that SQLite holds on it.
  /// https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
  static func sync(_ path: String) throws {
    try syncFile(path)
    try syncFolder(of: path)
  }

  /// Waits until the content of a file is on disk, if it exists; see ``sync(_:)``.
  static func syncFile(_ path: String) throws { try sync(path, flags: O_RDONLY) }

  /// Waits until the directory entries beside `path` are on disk.
  static func syncFolder(of path: String) throws {
    try sync(FilePath.folder(of: path), flags: O_RDONLY | O_DIRECTORY)
  }

  private static func sync(_ name: String, flags: Int32) throws {
    let descriptor = open(name, flags | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT { return }
    defer { if descriptor >= 0 { close(descriptor) } }
    guard descriptor >= 0, fsync(descriptor) == 0 else {
      throw CacheError(
        .storage, "cannot synchronize \(name) to disk: \(String(cString: strerror(errno)))",
        path: name)
    }
  }

  /// Maps an error of GRDB to a ``CacheError``.
  ///
  /// - Parameter state: What the action has left after an error of the disk.
  static func describe(
    _ error: any Error, action: String, path: String, state: String = "the cache is unchanged"
  ) -> CacheError {
    if let error = error as? CacheError { return error }
    // GRDB interrupts the statement of a task that is cancelled.
    if error is CancellationError || (error as? DatabaseError)?.resultCode == .SQLITE_INTERRUPT {
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
        (.storage, "the disk is full (\(message)); \(state)")
      case .SQLITE_IOERR:
        (
          .storage,
          "the file system failed or a size limit was reached (\(message)); \(state)"
        )
      case .SQLITE_READONLY, .SQLITE_PERM:
        (.readOnly, "the file or its directory can only be read (\(message))")
      default: (.storage, message)
      }
    return CacheError(code, "cannot \(action) \(path): \(advice)", path: path)
  }
}

/// The database files that stores of this process have open.
///
/// Closing any descriptor of a file releases all locks that the process holds on it, including
/// SQLite's (https://sqlite.org/howtocorrupt.html, 2.2). The header of a file is therefore read
/// only while no store has the file open and none can open it.
final class OpenDatabases: Sendable {
  static let shared = OpenDatabases()

  private let counts = Locked<[String: Int]>([:])

  /// Registers a store that is about to open the file at `path`; calls `look` first if it is the
  /// only one.
  ///
  /// - Returns: The canonical path of the file, for ``leave(_:)``.
  func enter(_ path: String, _ look: () throws -> Void) throws -> String {
    try counts.withLock { counts in
      let name = Self.canonical(path)
      if counts[name, default: 0] == 0 { try look() }
      // The canonical name of a new file may differ: it may be the target of a link.
      let made = Self.canonical(path)
      counts[made, default: 0] += 1
      return made
    }
  }

  func leave(_ name: String) {
    counts.withLock { counts in
      let left = counts[name, default: 1] - 1
      counts[name] = left > 0 ? left : nil
    }
  }

  /// The path without symbolic links; also for a file that does not exist yet.
  static func canonical(_ path: String) -> String {
    if let resolved = FilePath.withoutLinks(path) { return resolved }
    let url = URL(fileURLWithPath: path)
    let folder = FilePath.withoutLinks(url.deletingLastPathComponent().path)
    return folder.map { $0 + "/" + url.lastPathComponent } ?? path
  }
}

/// A file, whatever its name.
struct FileIdentity: Hashable, Sendable {
  private let device: UInt64
  private let number: UInt64

  /// The file at `path`; `nil` if there is none.
  init?(of path: String) {
    guard let status = FilePath.status(of: path) else { return nil }
    (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
  }
}

/// The name of an open database, which the file may lose.
///
/// SQLite leaves the log of a file that has lost its name, and would apply it to the file that has the name then.
package final class DatabaseName: Sendable {
  /// What the name leads to: the open file, no file, or another one.
  package enum State: Sendable { case kept, removed, replaced }

  private let path: String
  private let file: FileIdentity?
  private let log = Locked<FileIdentity?>(nil)

  /// - Parameter path: The path of the open database.
  package init(_ path: String) {
    self.path = OpenDatabases.canonical(path)
    file = FileIdentity(of: self.path)
  }

  /// What the name leads to now. Notes the log, which exists after the first access.
  package func state() -> State {
    guard let named = FileIdentity(of: path) else { return .removed }
    guard named == file else { return .replaced }
    log.withLock { log in log = log ?? FileIdentity(of: path + "-wal") }
    return .kept
  }

  /// Closes the connection that writes, after all others. The file gets what was committed, under whatever name, and its log
  /// is removed from beside another file.
  package func close(_ writer: DatabaseQueue) throws {
    guard state() != .kept, let log = log.withLock({ $0 }), FileIdentity(of: path + "-wal") == log
    else { return try writer.close() }
    let isSaved: Void? = try? writer.inDatabase { db in
      if db.isInsideTransaction { try db.rollback() }
      _ = try db.checkpoint(.truncate)
    }
    try writer.close()
    guard isSaved != nil else { return }
    for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
  }
}

/// The activity of each database file that is open in this process, shared by the stores of one
/// file.
enum SharedActivities {
  private struct Entry {
    weak var activity: StoreActivity?
  }

  private static let entries = Locked<[FileIdentity: Entry]>([:])

  /// Makes an activity that of the file that has replaced its own.
  static func move(_ activity: StoreActivity, toFile path: String) {
    guard let file = FileIdentity(of: path) else { return }
    entries.withLock { entries in
      entries = entries.filter { $0.value.activity !== activity }
      entries[file] = Entry(activity: activity)
    }
  }

  static func activity(ofFile path: String) -> StoreActivity {
    guard let file = FileIdentity(of: path) else { return StoreActivity() }
    return entries.withLock { entries in
      if let known = entries[file]?.activity { return known }
      entries = entries.filter { $0.value.activity != nil }
      let activity = StoreActivity()
      entries[file] = Entry(activity: activity)
      return activity
    }
  }
}

/// Counts the damaged records that a store finds, and reports the first ones.
final class DamageLog: Sendable {
  /// The number of damaged records that are reported individually.
  static let limit = 5

  private let path: String
  private let lock: DatabaseLock?
  private let report: @Sendable (StoreNotice) -> Void
  private let state = Locked(State())

  private struct State {
    var keys: Set<[UInt8]> = []
    var total = 0
    /// Whether the lock file already requests a check of the database.
    var isSuspect = false
  }

  init(
    path: String = "", lock: DatabaseLock? = nil,
    report: @escaping @Sendable (StoreNotice) -> Void = { _ in }
  ) {
    self.path = path
    self.lock = lock
    self.report = report
  }

  /// The number of damaged records found.
  var count: Int { state.withLock { $0.total } }

  /// Reports a record that does not match its checksum. The database is checked when it is opened
  /// next, because data without a checksum, such as keys, may be damaged as well.
  func reportMismatch(_ key: Bytes) {
    record(key, "does not match its checksum; it is treated as missing until it is written again")
  }

  /// Reports that the page of a record cannot be read.
  func reportUnreadablePage(_ key: Bytes) {
    record(key, "cannot be read; the file is checked for damage when it is opened next")
  }

  /// Reports a record whose key is out of order, so that lookups are unreliable.
  func reportOrder(_ key: Bytes) {
    record(key, "is out of order; the file is checked for damage when it is opened next")
  }

  /// Requests a check of the database when it is opened next; also because a referenced record is missing although
  /// none was removed: its key may be damaged.
  func requestCheck() {
    let isFirst = state.withLock { state in
      defer { state.isSuspect = true }
      return !state.isSuspect
    }
    if isFirst { lock?.setSuspect(true) }
  }

  private func record(_ key: Bytes, _ problem: String) {
    requestCheck()
    let isReported = state.withLock { state in
      state.total += 1
      return state.keys.count < Self.limit && state.keys.insert(key.array).inserted
    }
    guard isReported else { return }
    let name = String(key.string.prefix(200))
    report(
      StoreNotice(
        .damagedRecord, "the record \(name) of the cache \(path) \(problem)", path: path))
  }
}
