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
