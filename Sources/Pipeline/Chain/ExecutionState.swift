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

  init(_ base: any PendingCacheWrite, request: GraphQLRequest) {
    self.base = base
    self.request = request
  }

  func commit() async throws {
    guard let write = base.take() else { return }
    do {
      try await write.commit()
    } catch {
      await write.rollback()
      throw error
    }
  }

  func rollback() async {
    await base.take()?.rollback()
  }
}
