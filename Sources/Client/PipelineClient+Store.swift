public import GQLRunCache
import GQLRunPipeline
import GQLRunPlugins

extension PipelineClient {
  /// Edits the store: what `body` writes becomes visible when it returns, and nothing when it throws.
  ///
  /// ```swift
  /// try await client.transaction { transaction in
  ///   try await transaction.update(post) { $0["post"]?["title"] = "Edited" }
  /// }
  /// ```
  ///
  /// Other writers wait meanwhile, so `body` must not write in any other way, and must not shut the client
  /// down.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws, and `ChainError` when the client has no store.
  @discardableResult
  public func transaction<Result: Sendable>(
    _ body: (StoreTransaction) async throws -> Result
  ) async throws -> Result {
    let store = try store(to: "edit the cache")
    return try await operations.hold { try await store.transaction(body) }
  }

  /// Looks for what other processes have written to the store's file, and tells watchers of it.
  ///
  /// Costs some microseconds when nothing has changed. Does nothing for a store in memory.
  ///
  /// - Returns: Whether others have written.
  @discardableResult
  public func refresh() async throws -> Bool {
    let store = try store(to: "refresh the cache")
    return try await operations.hold { try await (store as? SQLiteStore)?.refresh() ?? false }
  }

  /// Removes all records, and what was shown optimistically. Responses to earlier requests are not
  /// stored any more.
  public func clear() async throws {
    let store = try store(to: "clear the cache")
    try await operations.hold { try await store.clear() }
  }

  /// Logs out: removes the tokens of the pipeline's plugins, those in files too, and all records.
  ///
  /// - Returns: What was removed, for a message.
  /// - Throws: When a file cannot be removed or the store cannot be cleared; the rest is removed all the
  ///   same.
  @discardableResult
  public func logOut() async throws -> [String] {
    try await operations.hold { try await runner.signOut() }
  }

  private func store(to action: String) throws -> any RecordStore {
    guard let store else {
      throw ChainError(
        .request, .invalidRequest,
        "cannot \(action): the client has no store; give the pipeline one, `store: { kind: memory }`"
      )
    }
    return store
  }
}
