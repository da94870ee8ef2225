import Foundation

/// A recorded response, read in chunks of the size that a socket delivers.
package final class ResponseFile {
  package static let chunkSize = 256 << 10
  private let descriptor: Int32
  private let path: String
  private let buffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: ResponseFile.chunkSize, alignment: 64)
  /// The size in bytes when the file was opened.
  package let size: Int

  /// - Throws: ``ProfileError`` if the file cannot be opened or is not a regular file, which is
  ///   required because it is read several times.
  package init(_ path: String) throws(ProfileError) {
    self.path = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ProfileError("cannot open the response \(path): \(String(cString: strerror(errno)))")
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw ProfileError(
        status.st_mode & S_IFMT == S_IFDIR
          ? "cannot read the response \(path): it is a directory; name a file in it"
          : "cannot profile the response \(path): it is not a regular file, and every run "
            + "reads it; save it to a file first")
    }
    size = Int(status.st_size)
    var first: [UInt8] = [0, 0]
    guard pread(descriptor, &first, 2, 0) < 2 || first != [0x1f, 0x8b] else {
      // The deinitializer closes the file.
      throw ProfileError(
        "the response \(path) is compressed with gzip; unpack it first: "
          + "gunzip -c \(path) > response.json")
    }
  }

  deinit {
    close(descriptor)
    buffer.deallocate()
  }

  /// The next chunk, valid until the next call; `nil` at the end.
  package func next() throws(ProfileError) -> UnsafeRawBufferPointer? {
    while true {
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else {
        throw ProfileError("cannot read the response \(path): \(String(cString: strerror(errno)))")
      }
      return count == 0 ? nil : UnsafeRawBufferPointer(rebasing: buffer[..<count])
    }
  }
}

/// Why a profile could not be made.
package struct ProfileError: Error, Sendable, Hashable, CustomStringConvertible {
  package var message: String
  package var description: String { message }

  package init(_ message: String) { self.message = message }
}
