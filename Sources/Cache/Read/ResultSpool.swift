import Foundation

/// Collects a ``ResultBody``.
struct ResultSpool: ~Copyable {
  /// The maximum size in memory, in bytes.
  static let memoryLimit = 4 << 20
  private var memory: [UInt8] = []
  private var file: FileSpool?
  private var fileCount = 0

  /// Takes the content of a buffer, and empties the buffer.
  mutating func take(_ text: inout ByteStack) throws(CacheError) {
    if text.count == 0 { return }
    if file == nil, memory.count + text.count <= Self.memoryLimit {
      memory.append(contentsOf: text.all.buffer)
      return text.truncate(to: 0)
    }
    if file == nil {
      let file = try FileSpool()
      self.file = file
      var first = ByteStack(capacity: memory.count)
      memory.withUnsafeBufferPointer { first.append($0) }
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
///
/// `@unchecked Sendable`: shared state is guarded by the lock; a chunk belongs to one thread at a
/// time.
private final class FileSpool: @unchecked Sendable {
  private final class Piece {
    var text = ByteStack()
  }

  private let file: TemporaryFile
  private let queue = DispatchQueue(label: "gqlrun.spool")
  /// The number of chunks that may be queued, so that a slow disk does not increase memory.
  private let room = DispatchSemaphore(value: 3)
  private let lock = NSLock()
  private var spare: [Piece] = []
  private var failure: CacheError?

  init() throws(CacheError) { file = try TemporaryFile() }

  /// Takes the content of a buffer, and replaces the buffer by an empty one.
  func write(_ text: inout ByteStack) throws(CacheError) {
    room.wait()
    let piece = lock.withLock { spare.popLast() } ?? Piece()
    swap(&piece.text, &text)
    let handed = Handed(piece: piece)
    queue.async { self.write(handed.piece) }
    try check()
  }

  /// A chunk that is passed to the other thread. Sendable: the sender no longer uses it.
  private struct Handed: @unchecked Sendable {
    let piece: Piece
  }

  private func write(_ piece: Piece) {
    let failure = failureOfWriting(piece.text.all)
    piece.text.truncate(to: 0)
    lock.withLock {
      self.failure = self.failure ?? failure
      spare.append(piece)
    }
    room.signal()
  }

  private func failureOfWriting(_ text: Bytes) -> CacheError? {
    do throws(CacheError) {
      try file.write(text)
      return nil
    } catch {
      return error
    }
  }

  private func check() throws(CacheError) {
    if let failure = lock.withLock({ failure }) { throw failure }
  }

  /// Waits until everything is written.
  func finish() throws(CacheError) -> TemporaryFile {
    queue.sync {}
    try check()
    return file
  }
}
