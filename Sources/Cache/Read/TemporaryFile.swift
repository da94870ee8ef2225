import Foundation
import GQLRunSupport

/// An unnamed temporary file, readable only by this process, deleted when it is released.
final class TemporaryFile: Sendable {
  private let descriptor: Int32

  init() throws(CacheError) {
    do throws(SystemError) {
      descriptor = try UnnamedFile.create()
    } catch {
      throw CacheError(
        .storage, "\(error); set TMPDIR to a directory with free space", path: error.path)
    }
  }

  deinit { close(descriptor) }

  func write(_ bytes: Bytes) throws(CacheError) {
    let code = SystemIO.writeAll(UnsafeRawBufferPointer(bytes.buffer), to: descriptor)
    guard code == 0 else {
      throw CacheError(
        .storage, "cannot write a temporary file: \(String(cString: strerror(code)))")
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(CacheError) -> Int {
    while true {
      let read = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
      if read < 0 && errno == EINTR { continue }
      guard read > 0 else {
        throw CacheError(
          .storage, "cannot read a temporary file: \(String(cString: strerror(errno)))")
      }
      return read
    }
  }
}
