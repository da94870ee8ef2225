import Foundation
import GQLRunPipeline
import GQLRunSupport

/// A sink that appends to a file.
///
/// While a run is under way the file is called `NAME.part`; it gets its name when the run has ended. What
/// is behind the position that the journal recorded was never acknowledged, and is cut off when the file
/// is opened again.
final class FileSink {
  enum Format: Sendable, Equatable {
    case lines
    case gzip
    case csv(header: String)
    case json
  }

  let path: String
  private let format: Format
  private var partPath: String { path + ".part" }
  private var descriptor: Int32 = -1
  private var held: [UInt8] = []
  private var compressor: GzipWriter?
  private(set) var position = 0
  private(set) var records = 0
  private var isPublished = false
  private let isStandardOutput: Bool
  private var isDirty = false

  /// - Parameter recorded: Where the journal says the sink is; `nil` begins a new file.
  init(path: String, format: Format, recorded: SinkPosition?, base: OutputPath) throws {
    self.path = path
    self.format = format
    isStandardOutput = path == "-"
    if format == .gzip { compressor = GzipWriter() }
    guard !isStandardOutput else {
      descriptor = 1
      escaper = isatty(1) == 1 && format != .gzip ? TerminalEscaper() : nil
      return
    }
    try Self.makeFolder(of: path)
    guard (try? base.resolve(Self.relative(path, to: base.folder))) != nil else {
      throw StoppedByStorage(message: "\(path) lies outside of the manifest's folder")
    }
    if let recorded {
      position = recorded.position
      records = recorded.records
      try reopen(mayBePublished: recorded.isPublished)
    } else {
      descriptor = Foundation.open(partPath, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
      guard descriptor >= 0 else { throw Errno.last("cannot make \(partPath)") }
      try lock(partPath)
      guard ftruncate(descriptor, 0) == 0 else { throw Errno.last("cannot begin \(partPath)") }
      switch format {
      case .csv(let header): try write(Array(header.utf8))
      case .json: try write(Array("[".utf8))
      default: break
      }
    }
  }

  /// Keeps out a second run that writes the same file: each has a journal of its own, and they would
  /// write over each other. Held until the file is closed.
  private func lock(_ name: String) throws {
    let isLocked: Bool
    do throws(SystemError) {
      isLocked = try FileLock.tryLock(descriptor, path: name)
    } catch {
      throw StoppedByStorage(message: "\(error)")
    }
    guard isLocked else {
      throw StoppedByStorage(
        message: "another run is writing \(name); wait for it, or give this run outputs of its own")
    }
  }

  /// Opens what an earlier run left, and cuts off what was not acknowledged.
  ///
  /// A file that has its name already is continued under it, but only when the journal says so: it could
  /// be that of an earlier run.
  private func reopen(mayBePublished: Bool) throws {
    var status = stat()
    isPublished = mayBePublished && lstat(partPath, &status) != 0
    let name = isPublished ? path : partPath
    descriptor = Foundation.open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      throw StoppedByStorage(
        message:
          "cannot continue \(name): \(String(cString: strerror(errno))); the journal says that "
          + "\(position) bytes of it are written: put it back, or start without --resume")
    }
    try lock(name)
    guard fstat(descriptor, &status) == 0, Int(status.st_size) >= position else {
      throw StoppedByStorage(
        message:
          "\(name) is shorter than the \(position) bytes that the journal recorded; put it back, "
          + "or start without --resume")
    }
    guard ftruncate(descriptor, off_t(position)) == 0, lseek(descriptor, 0, SEEK_END) >= 0 else {
      throw Errno.last("cannot continue \(name)")
    }
  }

  func append(_ bytes: [UInt8], records count: Int) throws {
    isDirty = true
    if format == .json, records == 0, count > 0 {
      // The first element has no comma before it.
      try write(Array(bytes.dropFirst()))
    } else {
      try write(bytes)
    }
    records += count
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

  /// Set while standard output is a terminal.
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
    held.removeAll(keepingCapacity: true)
  }

  /// Makes everything appended durable. Returns the new position when there is one.
  func sync() throws -> SinkPosition? {
    guard isDirty else { return nil }
    if let compressor { held += compressor.finishMember() }
    try flush()
    if !isStandardOutput, fdatasync(descriptor) != 0 {
      throw Errno.last("cannot make \(path) durable")
    }
    isDirty = false
    return SinkPosition(
      path: path, position: position, records: records, header: nil, isPublished: isPublished)
  }

  /// Where the file stands when it gets its name; recorded before that happens.
  func positionWhenPublished() -> SinkPosition? {
    isStandardOutput
      ? nil
      : SinkPosition(
        path: path, position: position, records: records, header: nil, isPublished: true)
  }

  /// Ends the file; gives it its name when `isComplete`.
  func finish(isComplete: Bool) throws {
    guard !isStandardOutput else { return }
    defer { Foundation.close(descriptor) }
    if format == .json {
      let end = position
      held += Array("\n]\n".utf8)
      try flush()
      position = end
    }
    if let compressor, position == 0 {
      held += compressor.add([]) + compressor.finishMember()
      try flush()
      position = 0
    }
    guard fsync(descriptor) == 0 else { throw Errno.last("cannot make \(path) durable") }
    guard isComplete, !isPublished else { return }
    guard rename(partPath, path) == 0 else { throw Errno.last("cannot rename \(partPath)") }
    AtomicFile.syncFolder(of: path)
  }

  /// Leaves the file as it is.
  func abandon() { if !isStandardOutput { Foundation.close(descriptor) } }

  static func makeFolder(of path: String) throws {
    do {
      try FileManager.default.createDirectory(
        atPath: FilePath.folder(of: path), withIntermediateDirectories: true)
    } catch {
      throw StoppedByStorage(message: "cannot make the folder \(FilePath.folder(of: path))")
    }
  }

  static func relative(_ path: String, to folder: String) -> String {
    path.hasPrefix(folder + "/") ? String(path.dropFirst(folder.count + 1)) : path
  }
}
