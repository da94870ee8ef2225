import Dispatch
import GQLRunSupport

/// Passes pieces of memory to another thread, in their order, while the caller fills the next one.
///
/// A few pieces are in use at most, so the caller waits for slow work, and memory does not grow with what is passed.
final class PieceQueue: Sendable {
  /// Sendable: the caller fills it and no longer has it when the queue gets it; the queue gives it back through
  /// ``PieceQueue/spare``, which a lock guards.
  private final class Piece: @unchecked Sendable {
    var bytes: ByteStack

    init(capacity: Int) { bytes = ByteStack(capacity: capacity) }
  }

  /// The number of pieces that wait or are in use.
  private static let maxPieces = 3

  private let queue: DispatchQueue
  private let room = DispatchSemaphore(value: maxPieces)
  private let spare = Locked<[Piece]>([])
  private let capacity: Int

  /// - Parameters:
  ///   - label: The name of the thread.
  ///   - capacity: The first capacity of a piece, in bytes.
  init(_ label: String, capacity: Int) {
    queue = DispatchQueue(label: label)
    self.capacity = capacity
  }

  /// Calls `work` on the other thread with the content of a buffer, and replaces the buffer by an empty one.
  func send(_ bytes: inout ByteStack, _ work: @escaping @Sendable (Bytes) -> Void) {
    room.wait()
    let piece = spare.withLock { $0.popLast() } ?? Piece(capacity: capacity)
    swap(&piece.bytes, &bytes)
    queue.async { [self] in
      work(piece.bytes.all)
      piece.bytes.truncate(to: 0)
      spare.withLock { $0.append(piece) }
      room.signal()
    }
  }

  /// Waits until the work on all pieces has ended.
  func settle() { queue.sync {} }
}
