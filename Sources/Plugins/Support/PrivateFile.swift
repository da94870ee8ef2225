import Foundation

/// Files that only their owner may read, and that appear under their name only when complete.
enum PrivateFile {
  /// Why a file could not be used: what was done to which file, and what the system says.
  struct Failure: Error, Sendable, CustomStringConvertible {
    var description: String

    init(_ what: String, _ path: String, _ code: Int32) {
      description = "cannot \(what) \(path): \(String(cString: strerror(code)))"
    }
  }

  /// The bytes of a file, or `nil` when there is none.
  ///
  /// - Parameter limit: A larger file is an error.
  static func read(_ path: String, limit: Int) throws -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw Failure("read", path, errno)
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = Foundation.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Failure("read", path, errno) }
      guard count > 0 else { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= limit else { throw Failure("read", path, EFBIG) }
    }
  }

  /// Puts a file in the place of the one there is, or nothing at all: written beside it, synced,
  /// renamed. Folders that are missing are made, for their owner only.
  static func write(_ bytes: [UInt8], to path: String) throws {
    try makeFolder(of: path)
    let part = "\(path).\(getpid())-\(UInt32.random(in: 0...UInt32.max)).part"
    let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Failure("write", path, errno) }
    var code = writeAll(bytes, to: descriptor)
    if code == 0, fsync(descriptor) != 0 { code = errno }
    if close(descriptor) != 0, code == 0 { code = errno }
    if code == 0, rename(part, path) != 0 { code = errno }
    guard code == 0 else {
      unlink(part)
      throw Failure("write", path, code)
    }
    syncFolder(of: path)
  }

  /// Adds bytes at the end of a file in one piece, so that those of several writers do not mix.
  static func append(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure("write", path, errno) }
    var code = writeAll(bytes, to: descriptor)
    if close(descriptor) != 0, code == 0 { code = errno }
    guard code == 0 else { throw Failure("write", path, code) }
  }

  /// Zero, or the number of the error.
  static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let count = Foundation.write(
          descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { return errno }
        rest = rest.dropFirst(count)
      }
      return 0
    }
  }

  /// Makes the folders that `path` stands in.
  static func makeFolder(of path: String) throws {
    let folder = folder(of: path)
    guard !FileManager.default.fileExists(atPath: folder) else { return }
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    } catch {
      throw Failure("make the folder", folder, errno)
    }
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes a rename last. Some file systems cannot, and need not.
  private static func syncFolder(of path: String) {
    let descriptor = open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
