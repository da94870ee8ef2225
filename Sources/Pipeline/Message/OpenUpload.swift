import Foundation
import GQLRunSupport

/// Size and time of change of a file; a file with another version is another file.
struct FileVersion: Sendable, Hashable {
  var size: Int
  var seconds: Int
  var nanoseconds: Int

  init(_ status: stat) {
    size = Int(status.st_size)
    seconds = Int(status.st_mtim.tv_sec)
    nanoseconds = Int(status.st_mtim.tv_nsec)
  }
}

/// An open file whose contents are sent.
final class OpenUpload: Sendable {
  private let descriptor: Int32
  private let label: String
  let version: FileVersion

  /// Opens a regular file.
  convenience init(path: String) throws(ChainError) {
    // A FIFO without a writer would block.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.failure("cannot open \(path)", errno) }
    try self.init(descriptor, path)
  }

  fileprivate init(_ descriptor: Int32, _ label: String) throws(ChainError) {
    self.descriptor = descriptor
    self.label = label
    var status = stat()
    let result = fstat(descriptor, &status)
    version = FileVersion(status)
    guard result == 0 else { throw Self.failure("cannot read \(label)", errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw ChainError(
        .request, .uploadFailed,
        "cannot send \(label): it is not a regular file; send a pipe as standard input (@-)",
        delivery: .notSent)
    }
    // Files of /proc and /sys have contents, but no size.
    if version.size == 0, try !read(1, at: 0).isEmpty {
      throw ChainError(
        .request, .uploadFailed,
        "cannot send \(label): the system does not tell its size; copy it to a file first",
        delivery: .notSent)
    }
  }

  deinit { close(descriptor) }

  /// Throws if the file is no longer the one that was inspected.
  func check(
    against expected: FileVersion, delivery: ChainError.Delivery
  ) throws(ChainError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.failure("cannot read \(label)", errno) }
    let found = FileVersion(status)
    guard found != expected else { return }
    throw ChainError(
      .request, .uploadFailed,
      "\(label) changed while it was sent"
        + (found.size == expected.size
          ? "" : ": it had \(Quantity.count(expected.size, "byte")), now it has \(found.size)")
        + "; run the operation again when it is complete", delivery: delivery)
  }

  /// Reads at most `count` bytes at an offset; fewer only at the end of the file.
  func read(_ count: Int, at offset: Int) throws(ChainError) -> [UInt8] {
    var code: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let result = pread(
          descriptor, buffer.baseAddress.map { $0 + filled }, count - filled,
          off_t(offset + filled))
        if result < 0, errno == EINTR { continue }
        if result < 0 { code = errno }
        guard result > 0 else { return }
        filled += result
      }
    }
    guard code == 0 else { throw Self.failure("cannot read \(label)", code, .unknown) }
    return bytes
  }

  fileprivate static func failure(
    _ what: String, _ code: Int32, _ delivery: ChainError.Delivery = .notSent
  ) -> ChainError {
    ChainError(
      .request, .uploadFailed, "\(what): \(String(cString: strerror(code)))", delivery: delivery)
  }
}

/// The contents of a pipe in an unnamed temporary file, deleted when it is released.
final class UploadSpool: Sendable, Hashable {
  let file: OpenUpload

  var count: Int { file.version.size }

  /// Copies everything up to the end of the pipe.
  init(copying source: Int32) throws(ChainError) {
    let target: Int32
    do throws(SystemError) {
      target = try UnnamedFile.create()
    } catch {
      throw OpenUpload.failure("cannot spool standard input in \(error.path)", error.code)
    }
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(source, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      var code: Int32 = count < 0 ? errno : 0
      if count > 0 {
        code = buffer.withUnsafeBytes {
          SystemIO.writeAll(UnsafeRawBufferPointer(rebasing: $0[..<count]), to: target)
        }
      }
      if code != 0 {
        close(target)
        throw OpenUpload.failure("cannot spool standard input", code)
      }
      if count == 0 { break }
    }
    file = try OpenUpload(target, "the copy of standard input")
  }

  static func == (left: UploadSpool, right: UploadSpool) -> Bool { left === right }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Upload {
  /// Opens the source for one attempt; `nil` for bytes in memory.
  func opened() throws(ChainError) -> (file: OpenUpload, version: FileVersion)? {
    switch source {
    case .bytes: return nil
    case .spool(let spool): return (spool.file, spool.file.version)
    case .file(let path, let version): return (try OpenUpload(path: path), version)
    }
  }
}
