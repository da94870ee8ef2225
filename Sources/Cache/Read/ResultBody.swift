#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// JSON text of any size: in memory while it is small, in an unnamed temporary file when it grows.
///
/// A result can only be delivered when its response has ended well, and a response may be larger than
/// memory; so it waits here.
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

  /// Calls `body` with the text's pieces, in order.
  ///
  /// - Throws: What `body` throws, and ``CacheError`` when the temporary file cannot be read.
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

  /// The whole text. Only for results known to be small.
  public func bytes() throws -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count)
    try forEachChunk { result.append(contentsOf: $0) }
    return result
  }
}

/// Collects a ``ResultBody``.
struct ResultSpool: ~Copyable {
  /// How much stays in memory.
  static let memoryLimit = 4 << 20
  private var memory: [UInt8] = []
  private var file: TemporaryFile?
  private var fileCount = 0

  mutating func append(_ bytes: Bytes) throws(CacheError) {
    if bytes.count == 0 { return }
    if file == nil, memory.count + bytes.count <= Self.memoryLimit {
      memory.append(contentsOf: bytes.buffer)
      return
    }
    if file == nil {
      let file = try TemporaryFile()
      self.file = file
      try memory.withUnsafeBufferPointer { buffer throws(CacheError) in
        try file.write(Bytes(buffer))
      }
      fileCount = memory.count
      memory = []
    }
    try file?.write(bytes)
    fileCount += bytes.count
  }

  consuming func finish() -> ResultBody {
    if let file { return ResultBody(file: file, count: fileCount) }
    return ResultBody(memory: memory)
  }
}

/// A file without a name, readable by this process only, gone with its last user.
final class TemporaryFile: Sendable {
  private let descriptor: Int32

  init() throws(CacheError) {
    let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(directory)/gqlrun.XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else {
      throw CacheError(
        .storage,
        "cannot create a temporary file in \(directory): \(String(cString: strerror(errno))); "
          + "set TMPDIR to a directory with room", place: directory)
    }
    unlink(template)
  }

  deinit { close(descriptor) }

  func write(_ bytes: Bytes) throws(CacheError) {
    var offset = 0
    while offset < bytes.count {
      let written = Glibc.write(descriptor, bytes.start + offset, bytes.count - offset)
      if written < 0 && errno == EINTR { continue }
      guard written > 0 else {
        throw CacheError(
          .storage, "cannot write a temporary file: \(String(cString: strerror(errno)))")
      }
      offset += written
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
