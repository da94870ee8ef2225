import GQLRunCache

/// An interceptor that stores credentials, which signing out removes.
///
/// A plugin takes part in `gqlrun logout` and ``PipelineRunner/signOut()`` when one of its
/// interceptors conforms.
public protocol CredentialHolder: Sendable {
  /// Removes the credentials, in memory and in files.
  ///
  /// - Returns: A description of what was removed, for a message: "the tokens of api".
  /// - Throws: An error if credentials may remain.
  func forgetCredentials(_ services: Services) async throws -> String
}

extension PipelineRunner {
  /// Signs out: removes the credentials of the pipeline's plugins, those in files too, and clears
  /// the store.
  ///
  /// Operations in flight may still add records; end them first.
  ///
  /// - Returns: Descriptions of what was removed, for a message.
  /// - Throws: The first failure to remove credentials or to clear the store. Everything else is
  ///   removed nevertheless.
  @discardableResult
  public func signOut() async throws -> [String] {
    var removed: [String] = []
    var failure: (any Error)?
    for holder in pipeline.entries.flatMap(\.parts).compactMap(\.credentials) {
      do {
        removed.append(try await holder.forgetCredentials(services))
      } catch {
        failure = failure ?? error
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
