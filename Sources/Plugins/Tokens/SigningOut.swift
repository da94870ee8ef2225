import GQLRunCache
public import GQLRunPipeline

/// Stores credentials that signing out must remove.
protocol KeepsCredentials: Sendable {
  /// Removes the credentials, in memory and in files. Returns a description of what was removed.
  func forgetCredentials(_ services: Services) async throws -> String
}

extension PipelineRunner {
  /// Signs out: removes the tokens of the pipeline's plugins, including those in files, and all
  /// records.
  ///
  /// Requests in flight may still write records; end them first.
  ///
  /// - Returns: Descriptions of what was removed, for people.
  /// - Throws: An error if a file cannot be removed or the store cannot be cleared. Everything else
  ///   is removed nevertheless.
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
