import Foundation

/// A file read in pieces.
final class InputFile {
  private let descriptor: Int32
  private let path: String
  private let buffer: UnsafeMutableRawBufferPointer

  /// - Parameter size: That of the pieces in bytes.
  init(_ path: String, size: Int = 256 << 10) throws {
    self.path = path
    buffer = .allocate(byteCount: size, alignment: 64)
    descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else {
      throw BenchError("cannot open \(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    close(descriptor)
    buffer.deallocate()
  }

  func next() throws -> UnsafeRawBufferPointer? {
    let count = read(descriptor, buffer.baseAddress, buffer.count)
    guard count >= 0 else {
      throw BenchError("cannot read \(path): \(String(cString: strerror(errno)))")
    }
    return count == 0 ? nil : UnsafeRawBufferPointer(rebasing: buffer[..<count])
  }
}

/// Text written in large pieces.
struct OutputFile: ~Copyable {
  private let descriptor: Int32
  private let path: String
  private var buffer: [UInt8] = []
  private(set) var count = 0

  init(_ path: String) throws {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    guard descriptor >= 0 else {
      throw BenchError("cannot write \(path): \(String(cString: strerror(errno)))")
    }
    buffer.reserveCapacity(1 << 20)
  }

  deinit { close(descriptor) }

  mutating func append(_ text: String) throws { try append(bytes: text.utf8) }

  mutating func append(bytes: some Collection<UInt8>) throws {
    count += bytes.count
    buffer.append(contentsOf: bytes)
    if buffer.count > 900_000 { try flush() }
  }

  mutating func flush() throws {
    var offset = 0
    while offset < buffer.count {
      let written = buffer[offset...].withUnsafeBytes {
        write(descriptor, $0.baseAddress, $0.count)
      }
      guard written > 0 else {
        throw BenchError("cannot write \(path): \(String(cString: strerror(errno)))")
      }
      offset += written
    }
    buffer.removeAll(keepingCapacity: true)
  }
}
