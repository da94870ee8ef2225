import GQLRunCache
import GQLRunSupport
import Synchronization

/// The state that the attempts of one execution share.
///
/// Guarded by locks and not by actors: entering and leaving an actor enqueues a job each time,
/// several dozen of them per request.
final class ExecutionState: Sendable {
  private let hasConsultedCache = Atomic(false)
  /// The connections of a subscription; `nil` for other operations.
  let reconnection: Reconnection?
  private let writes = Locked<[TrackedWrite]>([])

  init(reconnection: Reconnection? = nil) { self.reconnection = reconnection }

  /// `true` for the first call only: `cache-and-network` reads the cache once, however many retries
  /// there are.
  func consultCacheOnce() -> Bool {
    !hasConsultedCache.exchange(true, ordering: .acquiringAndReleasing)
  }

  func add(_ write: TrackedWrite) {
    writes.withLock { writes in
      // A subscription has any number of writes, one after the other.
      writes.removeAll { $0.hasEnded }
      writes.append(write)
    }
  }

  /// Rolls back every write that was neither committed nor rolled back.
  func rollBackOpenWrites() async {
    let open = writes.withLock { writes in
      defer { writes = [] }
      return writes
    }
    for write in open { await write.rollback() }
  }
}

/// A pending write that ends once, however often `commit` and `rollback` are called.
final class TrackedWrite: PendingCacheWrite {
  private struct Content: Sendable {
    var base: (any PendingCacheWrite)?
    var summary: WriteSummary?
  }

  /// The request as it was sent.
  let request: GraphQLRequest
  private let content: Locked<Content>

  /// The changes of the commit; `nil` if there was none.
  var summary: WriteSummary? { content.withLock { $0.summary } }

  /// Whether it was committed or rolled back.
  var hasEnded: Bool { content.withLock { $0.base == nil } }

  init(_ base: any PendingCacheWrite, request: GraphQLRequest) {
    content = Locked(Content(base: base))
    self.request = request
  }

  func commit() async throws -> WriteSummary {
    guard let write = content.withLock({ $0.base.take() }) else {
      return summary ?? WriteSummary()
    }
    do {
      let summary = try await commit(write)
      content.withLock { $0.summary = summary }
      return summary
    } catch {
      await write.rollback()
      throw error
    }
  }

  /// Commits and removes the request's optimistic layer in one step.
  private func commit(_ write: any PendingCacheWrite) async throws -> WriteSummary {
    guard let layer = request.context[OptimisticLayerKey.self], let write = write as? PendingWrite
    else { return try await write.commit() }
    return try await write.commit(settling: layer)
  }

  func rollback() async {
    await content.withLock { $0.base.take() }?.rollback()
  }
}
