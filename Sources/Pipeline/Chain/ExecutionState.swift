import GQLRunCache
import GQLRunSupport
import Synchronization

/// What the attempts of one execution share.
///
/// Behind locks and not actors, as everything that each request passes: to enter an actor and to leave it
/// is a place in the queue of the thread each time, several dozen of them for one request.
final class ExecutionState: Sendable {
  private let hasConsultedCache = Atomic(false)
  private let writes = Locked<[TrackedWrite]>([])

  /// `true` for the first caller only: under `cache-and-network` the cache is consulted once,
  /// whatever is retried.
  func consultCacheOnce() -> Bool {
    !hasConsultedCache.exchange(true, ordering: .acquiringAndReleasing)
  }

  func add(_ write: TrackedWrite) {
    writes.withLock { $0.append(write) }
  }

  /// Ends every write that was neither committed nor rolled back.
  func rollBackOpenWrites() async {
    let open = writes.withLock { writes in
      defer { writes = [] }
      return writes
    }
    for write in open { await write.rollback() }
  }
}

/// A pending write that is ended once, whoever asks how often.
final class TrackedWrite: PendingCacheWrite {
  private struct Content: Sendable {
    var base: (any PendingCacheWrite)?
    var summary: WriteSummary?
  }

  /// The request as it went to the network.
  let request: GraphQLRequest
  private let content: Locked<Content>

  /// What the commit changed; `nil` unless there was one.
  var summary: WriteSummary? { content.withLock { $0.summary } }

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

  /// Commits so that the request's optimistic layer goes at the same moment.
  private func commit(_ write: any PendingCacheWrite) async throws -> WriteSummary {
    guard let layer = request.context[OptimisticLayerKey.self], let write = write as? PendingWrite
    else { return try await write.commit() }
    return try await write.commit(settling: layer)
  }

  func rollback() async {
    await content.withLock { $0.base.take() }?.rollback()
  }
}
