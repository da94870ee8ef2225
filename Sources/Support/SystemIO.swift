package import Foundation

/// Complete reads and writes by file descriptor, and new folders.
package enum SystemIO {
  /// Creates a folder and missing folders above it. An existing one stays as it is.
  ///
  /// - Parameter permissions: The permissions of new folders, before the umask is applied.
  package static func createFolder(
    _ path: String, permissions: mode_t = 0o777
  ) throws(SystemError) {
    if let status = FilePath.status(of: path) {
      guard status.st_mode & S_IFMT == S_IFDIR else {
        throw SystemError("create the folder", path: path, code: ENOTDIR)
      }
      return
    }
    if mkdir(path, permissions) == 0 { return }
    // Another process may have created it.
    if errno == EEXIST { return }
    guard errno == ENOENT else { throw SystemError("create the folder", path: path) }
    let parent = FilePath.folder(of: path)
    guard parent != path, parent != "." else { throw SystemError("create the folder", path: path) }
    try createFolder(parent, permissions: permissions)
    guard mkdir(path, permissions) == 0 || errno == EEXIST else {
      throw SystemError("create the folder", path: path)
    }
  }

  /// Writes all bytes, waiting while a pipe is full.
  ///
  /// - Returns: Zero, or the error number.
  package static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var count = 0
    return writeAll(bytes, to: descriptor, written: &count)
  }

  /// Writes all bytes, waiting while a pipe is full.
  ///
  /// - Parameter offset: The number of bytes that were written, also after an error.
  /// - Returns: Zero, or the error number.
  package static func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, written offset: inout Int
  ) -> Int32 {
    while offset < bytes.count {
      let count = write(descriptor, bytes.baseAddress?.advanced(by: offset), bytes.count - offset)
      if count >= 0 {
        offset += count
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&waiting, 1, -1)
      case let code: return code
      }
    }
    return 0
  }

  /// Writes all bytes, waiting while a pipe is full.
  ///
  /// - Returns: Zero, or the error number.
  package static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { writeAll($0, to: descriptor) }
  }

  /// Writes bytes into a named pipe, and waits neither for a reader nor for space in the pipe.
  ///
  /// - Throws: An error with the code `ENXIO` or `EPIPE` if no program reads the pipe, and `EAGAIN` if it has too little
  ///   space for all bytes.
  package static func writeWithoutWaiting(
    _ bytes: [UInt8], toPipe path: String
  ) throws(SystemError) {
    let descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError("write", path: path) }
    defer { close(descriptor) }
    let count = write(descriptor, bytes, bytes.count)
    guard count >= 0 else { throw SystemError("write", path: path) }
    guard count == bytes.count else { throw SystemError("write", path: path, code: EAGAIN) }
  }

  /// The bytes of a file.
  ///
  /// - Parameter limit: The largest size; a larger file is an error.
  package static func readFile(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError("read", path: path) }
    defer { close(descriptor) }
    let (bytes, code) = pieces(of: descriptor, limit: limit)
    guard code == 0, bytes.count <= limit else {
      throw SystemError("read", path: path, code: code == 0 ? EFBIG : code)
    }
    return bytes
  }

  /// The bytes of a file, or `nil` if it does not exist.
  ///
  /// A file that cannot be read is an error: a caller that took it for a missing one could replace it.
  ///
  /// - Parameter limit: The largest size; a larger file is an error.
  package static func readExistingFile(
    _ path: String, limit: Int = .max
  ) throws(SystemError) -> [UInt8]? {
    do throws(SystemError) {
      return try readFile(path, limit: limit)
    } catch {
      // Below a file that is no folder, there is no file either.
      guard [ENOENT, ENOTDIR].contains(error.code) else { throw error }
      return nil
    }
  }

  /// The names in a folder, in no order; none if it does not exist.
  package static func names(in folder: String) throws(SystemError) -> [String] {
    guard let stream = opendir(folder) else {
      guard errno == ENOENT else { throw SystemError("read the folder", path: folder) }
      return []
    }
    defer { closedir(stream) }
    var names: [String] = []
    // An entry has only as many bytes as its name needs, and so must not be copied as a value.
    let offset = MemoryLayout.offset(of: \dirent.d_name) ?? 0
    // The end of the folder sets no error number.
    errno = 0
    while let entry = readdir(stream) {
      let bytes = UnsafeRawPointer(entry) + offset
      let name = String(cString: bytes.assumingMemoryBound(to: CChar.self))
      if name != ".", name != ".." { names.append(name) }
      errno = 0
    }
    guard errno == 0 else { throw SystemError("read the folder", path: folder) }
    return names
  }

  /// The first bytes of a regular file, at most `count`.
  package static func beginning(of path: String, count: Int) throws(SystemError) -> [UInt8] {
    // Opening a pipe would wait for its writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw SystemError("read", path: path) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw SystemError("read", path: path, code: EINVAL)
    }
    let (bytes, code) = pieces(of: descriptor, limit: count - 1)
    guard code == 0 else { throw SystemError("read", path: path, code: code) }
    return Array(bytes.prefix(count))
  }

  /// The bytes of a descriptor up to their end, or up to the piece with which they are more than `limit`; and the code
  /// of an error, or 0.
  package static func pieces(
    of descriptor: Int32, limit: Int
  ) -> (bytes: [UInt8], code: Int32) {
    var bytes: [UInt8] = []
    let code = forEachPiece(of: descriptor) { piece in
      bytes += piece
      return bytes.count <= limit
    }
    return (bytes, code)
  }

  /// Calls `body` with the bytes of a descriptor, piece by piece, up to their end or until `body` returns `false`.
  ///
  /// - Returns: The code of an error, or 0.
  package static func forEachPiece(
    of descriptor: Int32, _ body: (ArraySlice<UInt8>) -> Bool
  ) -> Int32 {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return errno }
      guard count > 0, body(buffer[..<count]) else { return 0 }
    }
  }
}

/// The error of a failed system call on a file.
package struct SystemError: Error, Sendable, CustomStringConvertible {
  /// The verb of the failed action: "read", "lock".
  package var action: String
  /// The path of the file.
  package var path: String
  /// The error number, `errno(3)`.
  package var code: Int32

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - action: The verb of the failed action.
  ///   - path: The path of the file.
  ///   - code: The error number; that of the last system call by default.
  package init(_ action: String, path: String, code: Int32 = errno) {
    self.action = action
    self.path = path
    self.code = code
  }

  /// The system's text for the error number, or for a file to write that its folder does not exist, or that it is a pipe
  /// without a reader.
  package var reason: String {
    switch code {
    case ENOENT where action == "write" && !FilePath.isFolder(FilePath.folder(of: path)):
      "its folder does not exist"
    case ENXIO where action == "write" && FilePath.isPipe(path): "no program reads it"
    default: String(cString: strerror(code))
    }
  }

  /// `cannot read tokens.json: Permission denied`
  package var description: String { "cannot \(action) \(path): \(reason)" }
}

/// The environment variables of this process.
package enum EnvironmentVariables {
  /// The value of a variable; `nil` if it is not set.
  ///
  /// `ProcessInfo` copies all variables for each one that is read.
  package static func value(of name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
