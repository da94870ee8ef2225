import Foundation
import GQLRunSupport

/// Collects a ``ResultBody``.
struct ResultSpool: ~Copyable {
  /// The maximum size in memory, in bytes.
  static let memoryLimit = 4 << 20
  private var memory: [UInt8] = []
  private var file: FileSpool?
  private var fileCount = 0

  /// Takes the content of a buffer, and empties the buffer.
  ///
  /// - Parameter isLast: Whether nothing follows.
  mutating func take(_ text: inout ByteStack, isLast: Bool = false) throws(CacheError) {
    if text.count == 0 { return }
    if file == nil, memory.count + text.count <= Self.memoryLimit {
      // Growing would copy the text several times, to new pages; those that are not used take no memory.
      if memory.isEmpty, !isLast { memory.reserveCapacity(Self.memoryLimit) }
      memory.append(contentsOf: text.all.buffer)
      return text.truncate(to: 0)
    }
    if file == nil {
      let file = try FileSpool()
      self.file = file
      var first = ByteStack(capacity: memory.count)
      first.append(memory)
      memory = []
      fileCount = first.count
      try file.write(&first)
    }
    fileCount += text.count
    try file?.write(&text)
  }

  consuming func finish() throws(CacheError) -> ResultBody {
    guard let file else { return ResultBody(memory: memory) }
    return ResultBody(file: try file.finish(), count: fileCount)
  }
}

/// Writes text to a temporary file on a separate thread, while the next text is produced.
private final class FileSpool: Sendable {
  private let file: TemporaryFile
  private let pieces = PieceQueue("gqlrun.spool", capacity: 4096)
  private let failure = Locked<CacheError?>(nil)

  init() throws(CacheError) { file = try TemporaryFile() }

  /// Takes the content of a buffer, and replaces the buffer by an empty one.
  func write(_ text: inout ByteStack) throws(CacheError) {
    pieces.send(&text) { [self] text in
      do throws(CacheError) { try file.write(text) } catch {
        failure.withLock { $0 = $0 ?? error }
      }
    }
    try check()
  }

  private func check() throws(CacheError) {
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  /// Waits until everything is written.
  func finish() throws(CacheError) -> TemporaryFile {
    pieces.settle()
    try check()
    return file
  }
}

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

/// JSON text of any size: in memory if it is small, otherwise in an unnamed temporary file.
///
/// A result is delivered only after its response has ended without error, and a response may be
/// larger than memory.
public final class ResultBody: Sendable {
  /// The length in bytes.
  public let count: Int
  private let memory: [UInt8]
  private let file: TemporaryFile?

  init(memory: [UInt8]) {
    self.memory = memory
    file = nil
    count = memory.count
  }

  init(file: TemporaryFile, count: Int) {
    memory = []
    self.file = file
    self.count = count
  }

  /// Calls `body` with the chunks of the text, in order.
  ///
  /// - Throws: Errors of `body`, and ``CacheError`` if the temporary file cannot be read.
  public func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    guard let file else { return try memory.withUnsafeBytes(body) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var offset = 0
    while offset < count {
      let read = try file.read(into: buffer, at: offset)
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<read]))
      offset += read
    }
  }

  /// The whole text, only for results that fit into memory; not copied if it is in memory already.
  public func bytes() throws -> [UInt8] {
    if file == nil { return memory }
    var result: [UInt8] = []
    result.reserveCapacity(count)
    try forEachChunk { result.append(contentsOf: $0) }
    return result
  }
}
