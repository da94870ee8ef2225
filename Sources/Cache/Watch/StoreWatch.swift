/// The answer to an operation from a store, now and whenever it changes.
///
/// The first element is the answer as it is: a hit, or what is missing. Another one follows when a field
/// that the answer depends on has changed, and with it the answer; after deletes and clears that is a
/// miss. Several changes in one commit make one element.
///
/// The store is read when an element is asked for, in the task that asks. A slow reader misses what
/// was in between and sees the newest state; nothing is kept for it. Cancelling the task ends the
/// sequence, and so does dropping the iterator. An error of the store is thrown; the next element may
/// be asked for all the same.
public struct StoreWatch: AsyncSequence, Sendable {
  public typealias Element = CacheReadResult

  private let store: any RecordStore
  private let operation: PreparedOperation

  init(store: any RecordStore, operation: PreparedOperation) {
    self.store = store
    self.operation = operation
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(WatchedOperation(store: store, operation: operation))
  }

  public struct Iterator: AsyncIteratorProtocol {
    let watched: WatchedOperation

    init(_ watched: WatchedOperation) { self.watched = watched }

    public mutating func next() async throws -> CacheReadResult? { try await watched.next() }
  }
}

extension RecordStore {
  /// The answer to `operation`, now and whenever it changes.
  ///
  /// Changes count from the first element on, whoever makes them through this store, or through another
  /// store of this process on the same file. Those of other processes: ``SQLiteStore/refresh()``.
  public func watch(_ operation: PreparedOperation) -> StoreWatch {
    StoreWatch(store: self, operation: operation)
  }
}

/// One watcher: registered with its store as long as it exists.
package final class WatchedOperation: Sendable {
  private let store: any RecordStore
  private let operation: PreparedOperation
  let signal = WatchSignal()
  private let last = LastAnswer()

  package init(store: any RecordStore, operation: PreparedOperation) {
    self.store = store
    self.operation = operation
    store.activity.add(signal)
  }

  deinit { store.activity.remove(signal) }

  /// Waits for a change; `false` when the watch or the task has ended.
  package func wait() async -> Bool { await signal.wait() }

  /// Makes the next ``wait()`` return at once.
  package func wake() { signal.post(nil) }

  /// Forgets that there was a change. From here on every change counts, until the next look.
  package func skip() { signal.beginReading() }

  /// Runs `body`, whose own commits do not wake this watch.
  package func silently<Result: Sendable>(
    _ body: @Sendable () async throws -> Result
  ) async rethrows -> Result {
    try await StoreActivity.$silenced.withValue(signal, operation: body)
  }

  /// Ends the watch: whoever waits for the next answer gets `nil`.
  package func end() {
    store.activity.remove(signal)
    signal.end()
  }

  /// The next answer that differs from the one before; `nil` when the watch has ended.
  package func next() async throws -> CacheReadResult? {
    while await signal.wait() {
      if let answer = try await look() { return answer }
      if Task.isCancelled { break }
    }
    end()
    return nil
  }

  /// Reads the answer when it may have changed, and returns it when it has.
  package func look() async throws -> CacheReadResult? {
    signal.beginReading()
    do {
      let answer = try await store.read(operation, options: ReadOptions(tracking: .fingerprints))
      signal.endReading(answer.dependencies)
      return try await last.isReplaced(by: answer.result) ? answer.result : nil
    } catch {
      signal.endReading(nil)
      if Task.isCancelled { return nil }
      throw error
    }
  }
}

/// What was yielded last, so that an equal answer is not yielded again.
private actor LastAnswer {
  private var digest: Digest?

  private enum Digest: Equatable {
    case miss
    case hit(count: Int, UInt64, UInt64)
  }

  func isReplaced(by result: CacheReadResult) throws -> Bool {
    let new = try Self.digest(result)
    defer { digest = new }
    return new != digest
  }

  /// 128 bits of an answer: a watcher keeps no answer.
  private static func digest(_ result: CacheReadResult) throws -> Digest {
    guard case .hit(let body) = result else { return .miss }
    var one = processSeed
    var other = ~processSeed
    try body.forEachChunk { chunk in
      let bytes = Bytes(chunk.bindMemory(to: UInt8.self))
      one = hashBytes(bytes.start, bytes.count, seed: one)
      other = hashBytes(bytes.start, bytes.count, seed: other)
    }
    return .hit(count: body.count, one, other)
  }
}
