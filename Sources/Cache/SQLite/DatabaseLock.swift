import GQLRunSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Locks between processes, and between stores of one process, that share a database file.
///
/// The locks are byte ranges of a small file beside the database, `<path>-lock`, which also names
/// the current writer. They are open file description locks (`fcntl(2)`): the kernel releases them
/// when the process ends, and they also exclude each other within a process. The database file
/// itself must not be locked, opened or closed, because that would release SQLite's locks on it
/// (https://sqlite.org/howtocorrupt.html, 2.2).
final class DatabaseLock: Sendable {
  enum Region: off_t, Sendable {
    /// Held while writing and during a checkpoint.
    case writing = 0
    /// Shared by every store that has the database open; exclusive while it is checked or replaced.
    case presence = 1
  }

  let path: String
  private let descriptor: Int32
  /// Whether regions can be locked exclusively; false in a read-only directory.
  let isWritable: Bool

  /// The lock of the database at `database`; `nil` if the file does not exist and may not be
  /// created.
  ///
  /// - Throws: `storage` if the system fails. A cache that cannot be locked now is not a read-only one.
  init?(of database: String) throws(CacheError) {
    path = database + "-lock"
    var descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    isWritable = descriptor >= 0
    if descriptor < 0, ![EACCES, EPERM, EROFS, ENOENT, ENOTDIR, ELOOP].contains(errno) {
      self.descriptor = -1
      throw CacheError.cannotLock(database, by: path, String(cString: strerror(errno)))
    }
    if descriptor < 0 { descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
    self.descriptor = descriptor
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  enum Outcome: Sendable {
    case locked, taken
    /// The file system does not support locks, or has no more.
    case impossible(String)
  }

  /// Locks a region if it is free. A lock that is already held changes its kind.
  func tryLock(_ region: Region, exclusively: Bool) -> Outcome {
    set(region, exclusively ? F_WRLCK : F_RDLCK)
  }

  func unlock(_ region: Region) {
    _ = set(region, F_UNLCK)
  }

  /// Locks a region, and waits until it is free.
  ///
  /// Blocks the thread: only for opening a store, when the region is normally free.
  func lock(_ region: Region, exclusively: Bool, maxWait: Duration) -> Outcome {
    var waited = Duration.zero
    while true {
      let outcome = tryLock(region, exclusively: exclusively)
      guard case .taken = outcome, waited < maxWait else { return outcome }
      usleep(5000)
      waited += .milliseconds(5)
    }
  }

  private func set(_ region: Region, _ kind: Int32) -> Outcome {
    var range = flock()
    range.l_type = Int16(kind)
    range.l_whence = Int16(SEEK_SET)
    range.l_start = region.rawValue
    range.l_len = 1
    while true {
      if fcntl(descriptor, Self.setLock, &range) == 0 { return .locked }
      switch errno {
      case EINTR: continue
      case EAGAIN, EACCES: return .taken
      default: return .impossible(String(cString: strerror(errno)))
      }
    }
  }

  /// `F_OFD_SETLK`, which Swift does not import on every platform.
  private static let setLock: Int32 = 37

  // MARK: Lock file contents

  /// Records this process as the writer.
  func noteHolder() { write("pid \(getpid())", at: Self.holderOffset) }

  func forgetHolder() { write("", at: Self.holderOffset) }

  /// The current writer, for error messages: `process 4711 (gqlrun)`.
  var holder: String {
    let words = words(at: Self.holderOffset)
    guard words.count == 2, words[0] == "pid", let id = Int32(words[1]) else {
      return "another program"
    }
    if id == getpid() { return "another store of this process" }
    guard let name = Self.name(of: id) else { return "process \(id)" }
    return "process \(id) (\(name))"
  }

  private static func name(of process: Int32) -> String? {
    let descriptor = open("/proc/\(process)/comm", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let name = text(of: descriptor, at: 0, maxBytes: 64)
    return name.isEmpty ? nil : name
  }

  /// Whether the database showed damage and must be checked when it is opened next.
  var isSuspect: Bool { words(at: Self.suspectOffset) == ["suspect"] }

  func setSuspect(_ flag: Bool) { write(flag ? "suspect" : "", at: Self.suspectOffset) }

  private static let holderOffset: off_t = 16
  private static let suspectOffset: off_t = 48
  private static let noteSize = 32

  private func write(_ text: String, at offset: off_t) {
    var bytes = Array(text.utf8.prefix(Self.noteSize - 1))
    bytes += [UInt8](repeating: UInt8(ascii: " "), count: Self.noteSize - 1 - bytes.count)
    bytes.append(UInt8(ascii: "\n"))
    // Only informational: without it, error messages are less specific.
    _ = pwrite(descriptor, bytes, bytes.count, offset)
  }

  private func words(at offset: off_t) -> [Substring] {
    Self.text(of: descriptor, at: offset, maxBytes: Self.noteSize).split(separator: " ")
  }

  /// The printable ASCII characters in a part of a file.
  private static func text(of descriptor: Int32, at offset: off_t, maxBytes: Int) -> String {
    var bytes = [UInt8](repeating: 0, count: maxBytes)
    let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, offset) }
    let text = bytes.prefix(max(count, 0)).filter { $0 >= 0x20 && $0 < 0x7f }
    return String(decoding: text, as: UTF8.self)
  }
}

/// The lock for writing to a database file: one transaction or checkpoint at a time, of all stores
/// and processes.
///
/// SQLite before 3.51.3 can damage its log if several connections write and checkpoint at the same
/// time (https://sqlite.org/wal.html#walresetbug), so its own locks are not sufficient. Tasks of
/// one store wait in order without a limit; the wait for other stores and processes is limited.
final class WriteLock: Sendable {
  private let file: DatabaseLock?
  private let isReadOnly: Bool
  private let path: String
  private let maxWait: Duration
  private let clock: any Clock<Duration>
  /// The turns of this store's tasks.
  private let turns = AsyncMutex()

  init(
    _ file: DatabaseLock?, path: String, isReadOnly: Bool, maxWait: Duration,
    clock: any Clock<Duration>
  ) {
    self.file = file
    self.isReadOnly = isReadOnly
    self.path = path
    self.maxWait = maxWait
    self.clock = clock
  }

  /// Waits until this task may write.
  ///
  /// - Throws: `readOnly` if the store cannot write, `busy` if another store or process writes for
  ///   longer than the maximum wait, `cancelled` if the task is cancelled, `storage` if the file
  ///   cannot be locked.
  func acquire() async throws(CacheError) {
    if isReadOnly { throw .readOnly(path) }
    try await turns.acquire(toWriteTo: path, path: path)
    do throws(CacheError) {
      try await lockFile()
    } catch {
      turns.release()
      throw error
    }
  }

  /// Acquires the lock if neither this store nor another one holds it.
  func acquireIfFree() async -> Bool {
    if isReadOnly { return false }
    do { try await turns.acquire() } catch { return false }
    guard let file else { return true }
    if case .locked = file.tryLock(.writing, exclusively: true) {
      file.noteHolder()
      return true
    }
    turns.release()
    return false
  }

  func release() {
    file?.forgetHolder()
    file?.unlock(.writing)
    turns.release()
  }

  // MARK: Between stores and processes

  private func lockFile() async throws(CacheError) {
    guard let file else { return }
    var waited = Duration.zero
    var pause = Duration.milliseconds(1)
    while true {
      if Task.isCancelled { throw .cancelled(writingTo: path, path: path) }
      switch file.tryLock(.writing, exclusively: true) {
      case .locked: return file.noteHolder()
      case .impossible(let reason):
        throw CacheError.cannotLock(path, by: file.path, reason)
      case .taken: break
      }
      guard waited < maxWait else {
        throw CacheError.busy(path, file.holder, after: maxWait)
      }
      do { try await clock.sleep(for: pause) } catch {
        throw .cancelled(writingTo: path, path: path)
      }
      waited += pause
      pause = min(pause * 2, .milliseconds(20))
    }
  }
}

extension CacheError {
  static func readOnly(_ path: String) -> CacheError {
    CacheError(
      .readOnly,
      "cannot write to the cache \(path): it was opened for reading, the file or its directory is read-only, or the "
        + "disk was full when it was opened; choose another file, change its permissions, or free space",
      path: path)
  }

  static func cannotLock(_ path: String, by file: String, _ reason: String) -> CacheError {
    CacheError(.storage, "cannot lock the cache \(path) by its file \(file): \(reason)", path: path)
  }

  static func busy(_ path: String, _ holder: String, after wait: Duration) -> CacheError {
    CacheError(
      .busy,
      "cannot write to the cache \(path): \(holder) has been writing to it for \(wait.inWords); try "
        + "again when it is done, or use another file", path: path)
  }
}

extension Duration {
  /// `10 seconds`, `250 ms`.
  fileprivate var inWords: String {
    let (seconds, attoseconds) = components
    if attoseconds == 0, seconds > 0 { return seconds == 1 ? "1 second" : "\(seconds) seconds" }
    return "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms"
  }
}
