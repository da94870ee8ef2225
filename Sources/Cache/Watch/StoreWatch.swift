package import GQLRunJSON
import GQLRunSupport

/// The results of an operation from a store: the current one, and a new one after each change.
///
/// The first element is the current result: a hit or a miss. Another one follows when a field that
/// the result depends on has changed, and the result with it; after a removal that is a miss.
/// Several changes in one commit produce one element.
///
/// The store is read when an element is requested, in the requesting task. A slow consumer skips
/// intermediate states and receives the newest one; nothing is buffered. The sequence ends when the
/// task is cancelled or the iterator is released. An error of the store is thrown; the next element
/// can still be requested.
public struct StoreWatch: AsyncSequence, Sendable {
  /// What a read of the operation finds.
  public typealias Element = CacheReadResult

  let store: CacheStore
  let operation: PreparedOperation

  /// Creates an iterator, which watches the store until it is released.
  public func makeAsyncIterator() -> Iterator {
    Iterator(watched: WatchedOperation(store: store, operation: operation))
  }

  /// Reads a result whenever it has changed.
  public struct Iterator: AsyncIteratorProtocol {
    let watched: WatchedOperation

    /// Waits for the next result that differs from the previous one; `nil` if the task was
    /// cancelled.
    public mutating func next() async throws -> CacheReadResult? {
      try await watched.next()?.result
    }
  }
}

extension CacheStore {
  /// Watches the result of `operation`: the current one, and a new one after each change.
  ///
  /// Changes count from the first element on, by any store of this process on the same file. For
  /// changes of other processes, see ``CacheStore/refresh()``.
  public func watch(_ operation: PreparedOperation) -> StoreWatch {
    StoreWatch(store: self, operation: operation)
  }
}

/// One watcher, registered with its store until it is released.
package final class WatchedOperation: Sendable {
  private let store: CacheStore
  private let operation: PreparedOperation
  private let errors: ErrorReadPolicy
  let signal = WatchSignal()
  /// The latest result, to skip equal ones.
  private let last = Locked<ResultDigest?>(nil)

  /// - Parameter errors: What fields with stored errors are read as.
  package init(
    store: CacheStore, operation: PreparedOperation, errors: ErrorReadPolicy = .refuse
  ) {
    self.store = store
    self.operation = operation
    self.errors = errors
    store.records.activity.add(signal)
  }

  deinit { store.records.activity.remove(signal) }

  /// Waits for a change; returns `false` if the watch has ended or the task was cancelled.
  package func wait() async -> Bool { await signal.wait() }

  /// Makes the next ``wait()`` return immediately.
  package func wake() { signal.wake() }

  /// The number of changes of the store so far, except those of ``silently(_:)``.
  package var changes: Int { signal.changes }

  /// Discards a pending change. Later changes count, until the next read.
  package func skip() { signal.beginReading() }

  /// Runs `body`, whose commits do not notify this watcher.
  package func silently<Result: Sendable>(
    _ body: @Sendable () async throws -> Result
  ) async rethrows -> Result {
    try await StoreActivity.$silenced.withValue(signal, operation: body)
  }

  /// Ends the watch: a waiting ``next()`` returns `nil`.
  package func end() {
    store.records.activity.remove(signal)
    signal.end()
  }

  /// The next result that differs from the previous one; `nil` if the watch has ended.
  package func next() async throws -> StoreAnswer? {
    while await signal.wait() {
      if let answer = try await look() { return answer }
      if Task.isCancelled { break }
    }
    end()
    return nil
  }

  /// Notes a result from elsewhere, with which the next ``look()`` compares.
  ///
  /// - Parameters:
  ///   - count: The number of bytes.
  ///   - errors: The entries of its `errors`. Those without a path are ignored, since they are not stored.
  ///   - forEachChunk: Calls its argument with the bytes in order.
  package func note(
    count: Int, errors: [JSONValue],
    _ forEachChunk: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void
  ) async throws {
    let digest = try ResultDigest(
      count: count, errors: self.errors == .replay ? errors : [], forEachChunk)
    last.withLock { $0 = digest }
  }

  /// Reads the result if it may have changed; returns it if it has.
  package func look() async throws -> StoreAnswer? {
    signal.beginReading()
    do {
      let answer = try await store.read(
        operation, options: ReadOptions(tracking: .fingerprints, errors: errors))
      signal.endReading(answer.dependencies)
      let digest = try ResultDigest(answer)
      let isNew = last.withLock { last in
        defer { last = digest }
        return last != digest
      }
      return isNew ? answer : nil
    } catch {
      signal.endReading(nil)
      if Task.isCancelled { return nil }
      throw error
    }
  }
}

/// A 128-bit digest of a result, so that a watcher does not keep the result.
private enum ResultDigest: Equatable {
  case miss
  case hit(count: Int, UInt64, UInt64)

  init(_ answer: StoreAnswer) throws {
    guard case .hit(let body) = answer.result else {
      self = .miss
      return
    }
    self = try ResultDigest(count: body.count, errors: answer.errors) {
      try body.forEachChunk($0)
    }
  }

  init(
    count: Int, errors: [JSONValue],
    _ forEachChunk: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void
  ) rethrows {
    var one = processSeed
    var other = ~processSeed
    try forEachChunk { chunk in
      let bytes = Bytes(chunk.bindMemory(to: UInt8.self))
      one = hashBytes(bytes.start, bytes.count, seed: one)
      other = hashBytes(bytes.start, bytes.count, seed: other)
    }
    // As they are stored: without locations, and in any order.
    let texts = errors.compactMap { error -> String? in
      guard let path = error["path"], path.arrayValue != nil else { return nil }
      return JSONValue.array([path, error["message"] ?? .null, error["extensions"] ?? .null])
        .canonicalText
    }
    for text in texts.sorted() {
      Array(text.utf8).withBytes { text in
        one = hashBytes(text.start, text.count, seed: one)
        other = hashBytes(text.start, text.count, seed: other)
      }
    }
    self = .hit(count: count, one, other)
  }
}

/// The notification state of one watcher.
final class WatchSignal: Sendable {
  private struct State: Sendable {
    var isDirty = true
    /// The number of notifications.
    var changes = 0
    var hasEnded = false
    /// What the latest result depends on; `nil` while a result is being read, so that every change
    /// counts.
    var dependencies: Dependencies?
    /// The number of calls of ``wait()``.
    var waits = 0
  }

  private let state = Monitor(State())

  /// Whether the watched result may have changed since it was read.
  var isPending: Bool { state.withLock { $0.isDirty } }

  /// The number of notifications about changes of the store so far.
  var changes: Int { state.withLock { $0.changes } }

  /// Notifies the watcher of changes of the store; `nil` if they are unknown.
  func post(_ changes: Fingerprints?) {
    notify(changes) { $0.changes += 1 }
  }

  /// Makes the next read due, although the store may not have changed.
  func wake() { notify(nil) { _ in } }

  private func notify(_ changes: Fingerprints?, _ note: (inout State) -> Void) {
    state.update { state in
      note(&state)
      guard !state.isDirty else { return }
      if let changes, let dependencies = state.dependencies, !dependencies.isTouched(by: changes) {
        return
      }
      state.isDirty = true
    }
  }

  /// Ends the watch and resumes a waiting task.
  func end() { state.update { $0.hasEnded = true } }

  /// Waits for a change; returns `false` if the watch has ended or the task was cancelled.
  func wait() async -> Bool {
    // An iterator has one consumer; a second one replaces the first.
    let number = state.update { state in
      state.waits += 1
      return state.waits
    }
    do {
      try Task.checkCancellation()
      return try await state.take { state in
        if state.hasEnded || state.waits != number { return false }
        return state.isDirty ? true : nil
      }
    } catch {
      end()
      return false
    }
  }

  /// Starts a read: it does not include later changes.
  func beginReading() {
    state.withLock { state in
      state.isDirty = false
      state.dependencies = nil
    }
  }

  /// Ends a read. `nil` means it failed, so that the next one is due immediately.
  func endReading(_ found: Dependencies?) {
    state.withLock { state in
      state.dependencies = found
      if found == nil { state.isDirty = true }
    }
  }
}
