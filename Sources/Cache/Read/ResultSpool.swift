import Foundation

/// Collects a ``ResultBody``.
struct ResultSpool: ~Copyable {
  /// How much stays in memory.
  static let memoryLimit = 4 << 20
  private var memory: [UInt8] = []
  private var file: FileSpool?
  private var fileCount = 0

  /// Takes what stands on a stack, and leaves the stack empty.
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

/// Writes text to a temporary file on a thread of its own, while the next text is made.
///
/// `@unchecked Sendable`: what both threads touch is behind the lock; a piece belongs to one of them at
/// a time.
private final class FileSpool: @unchecked Sendable {
  private final class Piece {
    var text = ByteStack()
  }

  private let file: TemporaryFile
  private let queue = DispatchQueue(label: "gqlrun.spool")
  /// Pieces that may still be handed over: memory does not grow when the disk is slow.
  private let room = DispatchSemaphore(value: 3)
  private let lock = NSLock()
  private var spare: [Piece] = []
  private var failure: CacheError?

  init() throws(CacheError) { file = try TemporaryFile() }

  /// Takes what stands on a stack, and leaves an empty one in its place.
  func write(_ text: inout ByteStack) throws(CacheError) {
    room.wait()
    let piece = lock.withLock { spare.popLast() } ?? Piece()
    swap(&piece.text, &text)
    let handed = Handed(piece: piece)
    queue.async { self.write(handed.piece) }
    try check()
  }

  /// A piece on its way to the other thread. Sendable: the sender has forgotten it.
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
