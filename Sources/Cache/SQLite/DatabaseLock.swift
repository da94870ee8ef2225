#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Locks between processes, and between stores of one process, that share a database file.
///
/// They are byte ranges of a small file beside the database, `<path>-lock`, which also says who writes.
/// The locks are those of open file descriptions (`fcntl(2)`): they go with the process, however it
/// ends, and exclude each other within a process as well. The database itself must not be locked, or
/// even opened and closed: that would drop SQLite's own locks on it
/// (https://sqlite.org/howtocorrupt.html, 2.2).
final class DatabaseLock: Sendable {
  enum Region: off_t, Sendable {
    /// Held while writing and while a checkpoint runs.
    case writing = 0
    /// Shared by all who have the database open; held alone while it is checked or set aside.
    case presence = 1
  }

  let path: String
  private let descriptor: Int32
  /// Whether regions can be locked exclusively; not so in a directory that can only be read.
  let isWritable: Bool

  /// The lock of the database at `database`; `nil` when there is none and none can be made.
  init?(of database: String) {
    path = database + "-lock"
    var descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    isWritable = descriptor >= 0
    if descriptor < 0 { descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
    self.descriptor = descriptor
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  enum Outcome: Sendable {
    case locked, taken
    /// The file system has no locks, or none are left.
    case impossible(String)
  }

  /// Locks a region if nobody is in the way. A lock that is held already changes its kind.
  func tryLock(_ region: Region, exclusively: Bool) -> Outcome {
    set(region, exclusively ? F_WRLCK : F_RDLCK)
  }

  func unlock(_ region: Region) {
    _ = set(region, F_UNLCK)
  }

  /// Takes a region, waiting for others.
  ///
  /// Blocks the thread: for opening a store only, where nobody is in the way as a rule.
  func lock(_ region: Region, exclusively: Bool, maximumWait: Duration) -> Outcome {
    var waited = Duration.zero
    while true {
      let outcome = tryLock(region, exclusively: exclusively)
      guard case .taken = outcome, waited < maximumWait else { return outcome }
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

  /// `F_OFD_SETLK`, which Swift does not import everywhere.
  private static let setLock: Int32 = 37

  // MARK: Notes

  /// Says in the file that this process writes.
  func noteHolder() { write("pid \(getpid())", at: Self.holderOffset) }

  func forgetHolder() { write("", at: Self.holderOffset) }

  /// Who writes, in words: `process 4711 (gqlrun)`.
  var holder: String {
    let words = read(at: Self.holderOffset).split(separator: " ")
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
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = Int(Self.read(descriptor, &bytes, at: 0))
    let name = bytes.prefix(max(count, 0)).filter { $0 >= 0x20 && $0 < 0x7f }
    return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
  }

  /// Whether the database showed damage, so that whoever opens it next shall check it.
  var isSuspect: Bool { read(at: Self.suspectOffset) == "suspect" }

  func setSuspect(_ flag: Bool) { write(flag ? "suspect" : "", at: Self.suspectOffset) }

  private static let holderOffset: off_t = 16
  private static let suspectOffset: off_t = 48
  private static let noteSize = 32

  private func write(_ text: String, at offset: off_t) {
    var bytes = Array(text.utf8.prefix(Self.noteSize - 1))
    bytes += [UInt8](repeating: UInt8(ascii: " "), count: Self.noteSize - 1 - bytes.count)
    bytes.append(UInt8(ascii: "\n"))
    // Only a note: without room for it, messages say less.
    _ = pwrite(descriptor, bytes, bytes.count, offset)
  }

  private func read(at offset: off_t) -> String {
    var bytes = [UInt8](repeating: 0, count: Self.noteSize)
    let count = Self.read(descriptor, &bytes, at: offset)
    let text = bytes.prefix(max(Int(count), 0)).filter { $0 > 0x20 && $0 < 0x7f || $0 == 0x20 }
    return String(decoding: text, as: UTF8.self).trimmed
  }

  private static func read(_ descriptor: Int32, _ bytes: inout [UInt8], at offset: off_t) -> Int {
    let size = bytes.count
    return bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, size, offset) }
  }
}

extension String {
  /// Without spaces at its ends.
  fileprivate var trimmed: String {
    var text = self[...]
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
