public import GQLRunCache
import GQLRunPipeline
import GQLRunPlugins

extension PipelineClient {
  /// Edits the store. The changes become visible when `body` returns; none do if it throws.
  ///
  /// ```swift
  /// try await client.transaction { transaction in
  ///   try await transaction.update(post) { $0["post"]?["title"] = "Edited" }
  /// }
  /// ```
  ///
  /// Other writers wait meanwhile, so `body` must neither write to the store in another way nor
  /// shut the client down.
  ///
  /// - Returns: The result of `body`.
  /// - Throws: The errors of `body`, and `ChainError` if the client has no store.
  @discardableResult
  public func transaction<Result: Sendable>(
    _ body: (StoreTransaction) async throws -> Result
  ) async throws -> Result {
    let store = try store(to: "edit the cache")
    return try await operations.hold { try await store.transaction(body) }
  }

  /// Checks for changes by other processes in the store's file, and notifies watchers.
  ///
  /// ``Configuration/refreshInterval`` does this regularly while a query is watched.
  /// Costs some microseconds without changes. Does nothing for a store in memory.
  ///
  /// - Returns: Whether other processes have written.
  @discardableResult
  public func refresh() async throws -> Bool {
    let store = try store(to: "refresh the cache")
    return try await operations.hold { try await store.refresh() }
  }

  /// Removes all records and optimistic layers. Responses to requests in flight are not stored.
  public func clear() async throws {
    let store = try store(to: "clear the cache")
    try await operations.hold { try await store.clear() }
  }

  /// Logs out: removes the tokens of the pipeline's plugins, including those in files, and all
  /// records.
  ///
  /// - Returns: Descriptions of what was removed, for a message.
  /// - Throws: An error if a file cannot be removed or the store cannot be cleared; everything else
  ///   is removed nevertheless.
  @discardableResult
  public func logOut() async throws -> [String] {
    try await operations.hold { try await runner.signOut() }
  }

  private func store(to action: String) throws -> CacheStore {
    guard let store else {
      throw ChainError(
        .request, .invalidRequest,
        "cannot \(action): the client has no store; give the pipeline one, `store: { kind: memory }`"
      )
    }
    return store
  }
}
