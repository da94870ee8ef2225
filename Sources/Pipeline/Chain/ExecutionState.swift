import Cache

/// What the attempts of one execution share.
actor ExecutionState {
  private var hasConsultedCache = false
  private var writes: [TrackedWrite] = []

  /// `true` for the first caller only: under `cache-and-network` the cache is consulted once,
  /// whatever is retried.
  func consultCacheOnce() -> Bool {
    defer { hasConsultedCache = true }
    return !hasConsultedCache
  }

  func add(_ write: TrackedWrite) {
    writes.append(write)
  }

  /// Ends every write that was neither committed nor rolled back.
  func rollBackOpenWrites() async {
    let open = writes
    writes = []
    for write in open { await write.rollback() }
  }
}

/// A pending write that is ended once, whoever asks how often.
actor TrackedWrite: PendingCacheWrite {
  /// The request as it went to the network.
  let request: GraphQLRequest
  private var base: (any PendingCacheWrite)?
  /// What the commit changed; `nil` unless there was one.
  private(set) var summary: WriteSummary?

  init(_ base: any PendingCacheWrite, request: GraphQLRequest) {
    self.base = base
    self.request = request
  }

  func commit() async throws -> WriteSummary {
    guard let write = base.take() else { return summary ?? WriteSummary() }
    do {
      let summary = try await commit(write)
      self.summary = summary
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
    await base.take()?.rollback()
  }
}
