import GQLRunCache
import GQLRunSupport
import Synchronization

/// The state that the attempts of one execution share.
///
/// Guarded by locks and not by actors: entering and leaving an actor enqueues a job each time,
/// several dozen of them per request.
final class ExecutionState: Sendable {
  private let hasConsultedCache = Atomic(false)
  private let connection = Locked<Connection?>(nil)
  private let writes = Locked<[TrackedWrite]>([])

  /// `true` for the first call only: `cache-and-network` reads the cache once, however many retries
  /// there are.
  func consultCacheOnce() -> Bool {
    !hasConsultedCache.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// A response that has begun, and its failure.
  struct Connection: Sendable {
    /// The time of its beginning, on the services' clock.
    let begin: Duration
    /// The time of its failure on the services' clock, and in seconds since 1970; `nil` before.
    var loss: (time: Duration, date: Double)?
  }

  /// Notes that a response has begun.
  func hasConnected(at time: Duration) { connection.withLock { $0 = Connection(begin: time) } }

  /// Notes that the response has failed, which may be long before the next attempt.
  func hasLost(at time: Duration, date: Double) {
    connection.withLock { if $0?.loss == nil { $0?.loss = (time, date) } }
  }

  /// Whether a response has begun since the last call of ``takeConnection()``.
  var isConnected: Bool { connection.withLock { $0 != nil } }

  /// The response that has begun since the last call.
  func takeConnection() -> Connection? { connection.withLock { $0.take() } }

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
