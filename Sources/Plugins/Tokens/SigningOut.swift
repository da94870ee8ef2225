import GQLRunCache
public import GQLRunPipeline

/// What keeps credentials that signing out must remove.
protocol KeepsCredentials: Sendable {
  /// Forgets them, here and in files; says what was forgotten.
  func forgetCredentials(_ services: Services) async throws -> String
}

extension PipelineRunner {
  /// Signs out: forgets the tokens of the pipeline's plugins, those in files too, and everything in
  /// the store.
  ///
  /// Operations that are under way may still bring records; end them first.
  ///
  /// - Returns: What was removed, for people.
  /// - Throws: When a file cannot be removed, or the store cannot be cleared. Everything else is
  ///   removed all the same.
  @discardableResult
  public func signOut() async throws -> [String] {
    var removed: [String] = []
    var failure: (any Error)?
    for entry in pipeline.entries {
      for case .graphQL(let interceptor as any KeepsCredentials) in entry.instance.parts {
        do {
          removed.append(try await interceptor.forgetCredentials(services))
        } catch {
          failure = failure ?? error
        }
      }
    }
    if let store = services.store {
      let count = try await store.statistics().records
      try await store.clear()
      removed.append("\(count) \(count == 1 ? "record" : "records")")
    }
    if let failure { throw failure }
    return removed
  }
}
