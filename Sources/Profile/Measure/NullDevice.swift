import Foundation

/// `/dev/null`: the destination of output that is only measured.
struct NullDevice: ~Copyable {
  private let descriptor: Int32

  init() throws(ProfileError) {
    descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ProfileError("cannot open /dev/null: \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }

  func write(_ bytes: UnsafeRawBufferPointer) throws(ProfileError) {
    guard Foundation.write(descriptor, bytes.baseAddress, bytes.count) == bytes.count else {
      throw ProfileError("cannot write to /dev/null: \(String(cString: strerror(errno)))")
    }
  }
}
