import CGQLRunZlib
import Foundation
import GQLRunPipeline
import GQLRunSupport

/// A sink that appends to a file.
///
/// The file is named `NAME.part` during the run, and renamed when the run has finished. Bytes after
/// the recorded position were never acknowledged; reopening the file truncates them.
final class FileSink {
  let path: String
  /// The name in the journal: relative to the manifest's folder.
  private let name: String
  private let format: FileFormat
  private var partPath: String { path + ".part" }
  private var descriptor: Int32 = -1
  private var held: [UInt8] = []
  private var compressor: GzipWriter?
  private(set) var position = 0
  private(set) var records = 0
  private var checksum = Checksum()
  private var isPublished = false
  private let isStandardOutput: Bool
  private var isDirty = false
  /// Whether the file has bytes of an earlier run that were not acknowledged, or its end.
  private var mustTruncate = false

  /// Opens the file. One of an earlier run is unchanged before ``begin()``.
  ///
  /// - Parameter recorded: The position recorded in the journal; `nil` creates a new file.
  /// - Throws: ``StoppedByStorage`` if the file cannot be opened or differs from what the journal
  ///   recorded.
  init(path: String, format: FileFormat, recorded: SinkPosition?, base: OutputPath) throws {
    self.path = path
    self.format = format
    name = base.relative(path)
    isStandardOutput = path == "-"
    if format.isCompressed { compressor = GzipWriter() }
    guard !isStandardOutput else {
      descriptor = 1
      escaper = isatty(1) == 1 && !format.isCompressed ? TerminalEscaper() : nil
      try continueStandardOutput(recorded)
      return
    }
    try Self.makeFolder(of: path)
    guard (try? base.resolve(name)) != nil else {
      throw StoppedByStorage(message: "\(path) lies outside of the manifest's folder")
    }
    if let recorded {
      try reopen(recorded)
    } else {
      descriptor = Foundation.open(partPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
      guard descriptor >= 0 else { throw Errno.last("cannot make \(partPath)") }
      try lock(partPath)
      guard ftruncate(descriptor, 0) == 0 else { throw Errno.last("cannot begin \(partPath)") }
      if !format.header.isEmpty { try write(format.header) }
    }
  }

  /// A file that could not be opened completely is closed, too, which releases its lock.
  deinit { abandon() }

  /// Throws if another run is writing the unfinished file.
  static func checkUnlocked(_ path: String) throws {
    // Opening a pipe would wait for its writer.
    let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return }
    defer { Foundation.close(descriptor) }
    guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { throw isWritten(path) }
  }

  private static func isWritten(_ name: String) -> StoppedByStorage {
    StoppedByStorage(
      message: "another run is writing \(name); wait for it, or give this run outputs of its own",
      isInUse: true)
  }

  /// Excludes a second run with the same output, whose journal is another one. Held until the file
  /// is closed.
  private func lock(_ name: String) throws {
    let isLocked = try StoppedByStorage.wrapping { () throws(SystemError) in
      try FileLock.tryLock(descriptor, path: name)
    }
    guard isLocked else { throw Self.isWritten(name) }
  }

  /// Truncates what an earlier run has written behind the recorded position, once all outputs can be continued.
  func begin() throws {
    guard mustTruncate else { return }
    guard ftruncate(descriptor, off_t(position)) == 0, lseek(descriptor, 0, SEEK_END) >= 0 else {
      throw Errno.last("cannot continue \(path)")
    }
    mustTruncate = false
  }

  /// Opens the file of an earlier run.
  ///
  /// The file must begin with the recorded bytes. It is continued under its final name only if the
  /// journal recorded it as published, and as `NAME.part` if the run ended between that record and
  /// the renaming.
  private func reopen(_ recorded: SinkPosition) throws {
    position = recorded.position
    records = recorded.records
    var refusal: StoppedByStorage?
    for candidate in recorded.isPublished ? [partPath, path] : [partPath] {
      descriptor = Foundation.open(candidate, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
      guard descriptor >= 0 else {
        if errno != ENOENT { refusal = missing(candidate, errno) }
        continue
      }
      do {
        try lock(candidate)
        checksum = try Self.verified(descriptor, candidate: candidate, recorded: recorded)
        isPublished = candidate == path
        mustTruncate = true
        return
      } catch let problem as StoppedByStorage {
        abandon()
        refusal = problem
      }
    }
    throw refusal ?? missing(recorded.isPublished ? path : partPath, ENOENT)
  }

  private func missing(_ name: String, _ code: Int32) -> StoppedByStorage {
    StoppedByStorage(
      refusing: "cannot continue \(name): \(String(cString: strerror(code))); the journal recorded "
        + "\(position) bytes of it: restore the file, or start without --resume")
  }

  /// Compares a file with what a journal recorded, without changing it.
  static func verify(_ path: String, _ recorded: SinkPosition) throws {
    // Opening a pipe would wait for its writer.
    let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { throw Errno.last("cannot read \(path)") }
    defer { Foundation.close(descriptor) }
    _ = try verified(descriptor, candidate: path, recorded: recorded)
  }

  /// Computes the checksum of the file up to the recorded position.
  private static func verified(
    _ descriptor: Int32, candidate: String, recorded: SinkPosition
  ) throws -> Checksum {
    guard let status = FileStatus(descriptor: descriptor), status.isRegular else {
      throw StoppedByStorage(
        refusing:
          "cannot continue \(candidate): it is not a regular file; restore the file that the "
          + "earlier run wrote, or start without --resume")
    }
    guard status.size >= recorded.position else {
      throw StoppedByStorage(
        refusing: "\(candidate) is shorter than the \(recorded.position) bytes that the journal "
          + "recorded; restore the file, or start without --resume")
    }
    var found = Checksum()
    var left = recorded.position
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while left > 0 {
      let count = buffer.withUnsafeMutableBytes {
        Foundation.read(descriptor, $0.baseAddress, min($0.count, left))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Errno.last("cannot read \(candidate)") }
      buffer.withUnsafeBytes { found.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      left -= count
    }
    guard recorded.checksum == nil || recorded.checksum == found else {
      throw StoppedByStorage(
        refusing:
          "\(candidate) does not begin with the \(recorded.position) bytes that the journal "
          + "recorded: it was changed, or is another file; restore the file, or start without --resume"
      )
    }
    return found
  }

  /// Resumes standard output, which cannot be truncated: only missing results are written to it.
  /// Throws if its file was truncated since, as by the shell's `>`.
  private func continueStandardOutput(_ recorded: SinkPosition?) throws {
    guard let recorded else { return }
    position = recorded.position
    records = recorded.records
    guard let (file, end) = recorded.file.flatMap({ Self.parsed($0) }),
      let now = Self.standardOutputFile(), now.file == file, now.size < end
    else { return }
    throw StoppedByStorage(
      refusing:
        "standard output is a file with \(now.size) bytes, and the journal recorded results up to "
        + "byte \(end) of it: append with `>>` to the restored file, or start without --resume")
  }

  private static func standardOutputFile() -> (file: String, size: Int)? {
    guard let status = FileStatus(descriptor: 1), status.isRegular else { return nil }
    return ("\(status.device):\(status.inode)", status.size)
  }

  private static func parsed(_ text: String) -> (file: String, end: Int)? {
    guard let space = text.lastIndex(of: " "), let end = Int(text[text.index(after: space)...])
    else { return nil }
    return (String(text[..<space]), end)
  }

  func append(_ bytes: [UInt8], records count: Int) throws {
    let isFirst = records == 0 && count > 0
    try write(isFirst ? Array(bytes.dropFirst(format.separator.count)) : bytes)
    records += count
  }

  /// Appends the records of another file of the same format.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - start: The position of its first record, in bytes.
  ///   - end: The position behind its last record.
  ///   - count: The number of its records.
  func append(
    contentsOf path: String, from start: Int = 0, upTo end: Int, records count: Int
  ) throws {
    guard end > start else { return }
    guard let input = FileHandle(forReadingAtPath: path) else {
      throw JournalError("the output \(path) cannot be read")
    }
    defer { try? input.close() }
    try input.seek(toOffset: UInt64(start))
    var left = end - start
    // The first record of each file is without a separator.
    var prefix = format.separator
    var count = prefix.isEmpty ? count : max(count, 1)
    while left > 0, let data = try input.read(upToCount: min(left, 1 << 20)), !data.isEmpty {
      try append(prefix + data, records: count)
      (prefix, count) = ([], 0)
      left -= data.count
    }
  }

  private func write(_ bytes: [UInt8]) throws {
    isDirty = true
    if let compressor {
      held += compressor.add(bytes)
    } else {
      held += bytes
    }
    if held.count >= 256 << 10 { try flush() }
  }

  /// Set if standard output is a terminal.
  private var escaper: TerminalEscaper?

  private func flush() throws {
    guard !held.isEmpty else { return }
    let text = held.withUnsafeBytes { escaper?.escape($0) } ?? held
    let code = SystemIO.writeAll(text, to: descriptor)
    guard code == 0 else {
      errno = code
      var problem = Errno.last(
        isStandardOutput ? "cannot write to standard output" : "cannot write \(path)")
      problem.isClosedOutput = code == EPIPE
      throw problem
    }
    position += held.count
    held.withUnsafeBytes { checksum.add($0) }
    held.removeAll(keepingCapacity: true)
  }

  /// Syncs all appended bytes to disk. Returns the new position, or `nil` if nothing was appended.
  func sync() throws -> SinkPosition? {
    guard isDirty else { return nil }
    if let compressor { held += compressor.finishMember() }
    try flush()
    if !isStandardOutput, fdatasync(descriptor) != 0 {
      throw Errno.last("cannot make \(path) durable")
    }
    isDirty = false
    return recorded(isPublished: isPublished)
  }

  /// Removes what was appended after a position, because it was not acknowledged.
  ///
  /// - Parameter known: The acknowledged position; `nil` for the beginning of a file without a header.
  func rollBack(to known: SinkPosition?) throws {
    held.removeAll(keepingCapacity: true)
    if format.isCompressed { compressor = GzipWriter() }
    position = known?.position ?? 0
    records = known?.records ?? 0
    checksum = known?.checksum ?? Checksum()
    isDirty = false
    guard ftruncate(descriptor, off_t(position)) == 0, lseek(descriptor, 0, SEEK_END) >= 0 else {
      throw Errno.last("cannot shorten \(path)")
    }
  }

  /// The position of the file under its final name; recorded before it is renamed.
  func positionWhenPublished() -> SinkPosition? {
    isStandardOutput ? nil : recorded(isPublished: true)
  }

  private func recorded(isPublished: Bool) -> SinkPosition {
    var result = SinkPosition(
      path: name, position: position, records: records, isPublished: isPublished,
      checksum: checksum)
    if isStandardOutput, let file = Self.standardOutputFile() {
      result.file = "\(file.file) \(file.size)"
    }
    return result
  }

  /// The inode of the open file, which renaming preserves.
  var inode: UInt64? {
    isStandardOutput ? nil : FileStatus(descriptor: descriptor)?.inode
  }

  /// Closes the file; renames it to its final name if `isComplete`.
  func finish(isComplete: Bool) throws {
    guard !isStandardOutput else { return }
    defer { abandon() }
    if !format.footer.isEmpty {
      let (end, sum) = (position, checksum)
      held += format.footer
      try flush()
      (position, checksum) = (end, sum)
    }
    if let compressor, position == 0 {
      held += compressor.add([]) + compressor.finishMember()
      try flush()
      (position, checksum) = (0, Checksum())
    }
    guard fsync(descriptor) == 0 else { throw Errno.last("cannot make \(path) durable") }
    let name = isPublished ? path : partPath
    guard let open = FileStatus(descriptor: descriptor), let named = FileStatus(name),
      (open.device, open.inode) == (named.device, named.inode)
    else { throw StoppedByStorage.lost(name) }
    guard isComplete, !isPublished else { return }
    guard rename(partPath, path) == 0 else { throw Errno.last("cannot rename \(partPath)") }
    AtomicFile.syncFolder(of: path)
  }

  /// Closes the file as it is.
  func abandon() {
    guard !isStandardOutput, descriptor >= 0 else { return }
    Foundation.close(descriptor)
    descriptor = -1
  }

  static func makeFolder(of path: String) throws {
    try StoppedByStorage.wrapping { () throws(SystemError) in
      try SystemIO.createFolder(FilePath.folder(of: path))
    }
  }
}

/// Compresses appended bytes. Each durable step ends a gzip member, so that the file can be
/// continued there; readers concatenate the members.
///
/// https://www.rfc-editor.org/rfc/rfc1952#section-2.2
final class GzipWriter {
  private var stream = z_stream()
  private var isOpen = false

  func add(_ bytes: [UInt8]) -> [UInt8] {
    if !isOpen {
      stream = z_stream()
      guard gqlrun_gzip_begin(&stream, Z_DEFAULT_COMPRESSION) == Z_OK else { return [] }
      isOpen = true
    }
    return deflated(bytes, Z_NO_FLUSH)
  }

  /// Ends the member; empty if none was started.
  func finishMember() -> [UInt8] {
    guard isOpen else { return [] }
    let bytes = deflated([], Z_FINISH)
    deflateEnd(&stream)
    isOpen = false
    return bytes
  }

  private func deflated(_ bytes: [UInt8], _ mode: Int32) -> [UInt8] {
    var result: [UInt8] = []
    var input = bytes
    var output = [UInt8](repeating: 0, count: 64 << 10)
    input.withUnsafeMutableBufferPointer { input in
      stream.next_in = input.baseAddress
      stream.avail_in = UInt32(input.count)
      repeat {
        output.withUnsafeMutableBufferPointer { output in
          stream.next_out = output.baseAddress
          stream.avail_out = UInt32(output.count)
          _ = deflate(&stream, mode)
          result += output.prefix(output.count - Int(stream.avail_out))
        }
      } while stream.avail_out == 0
    }
    return result
  }

  deinit { if isOpen { deflateEnd(&stream) } }
}

/// A running CRC-32 of the bytes written to a file.
///
/// https://www.rfc-editor.org/rfc/rfc1952#section-8
struct Checksum: Sendable, Equatable {
  private(set) var value: UInt32 = 0

  init(_ value: UInt32 = 0) { self.value = value }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes
    while let base = rest.bindMemory(to: UInt8.self).baseAddress, !rest.isEmpty {
      let count = min(rest.count, 1 << 30)
      value = UInt32(truncatingIfNeeded: crc32(UInt(value), base, UInt32(count)))
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }
}
