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
