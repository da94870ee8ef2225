public import GQLRunCache

/// The records of a response that are not yet visible to other readers.
///
/// The chain ends each one exactly once: with `commit` after all interceptors have received the
/// result and before it is delivered, or with `rollback` if an interceptor failed, suppressed or
/// replaced the result. If the caller stops reading, neither is called: an implementation must roll
/// back when it is deallocated.
public protocol PendingCacheWrite: Sendable {
  /// Makes the records visible.
  ///
  /// - Returns: The changes in the store.
  func commit() async throws -> WriteSummary
  /// Discards the records.
  func rollback() async
}

extension PendingWrite: PendingCacheWrite {}

/// The target for the records of a response, as the chain's cache write configures it.
public struct CacheWriteTarget: Sendable {
  /// The store that the records go to.
  public var store: CacheStore
  /// What is stored of a response with errors.
  public var errorPolicy: ErrorPolicy
  /// Whether root fields are stored, or only the objects in them.
  public var writesRoots: Bool
  /// Whether a result that cannot be stored is an error. Otherwise it is delivered, with a warning.
  public var isRequired = false

  /// Creates a target.
  ///
  /// - Parameters:
  ///   - store: The store that the records go to.
  ///   - errorPolicy: What is stored of a response with errors.
  ///   - writesRoots: Whether root fields are stored, or only the objects in them.
  public init(
    store: CacheStore, errorPolicy: ErrorPolicy = .skipErrored, writesRoots: Bool = true
  ) {
    self.store = store
    self.errorPolicy = errorPolicy
    self.writesRoots = writesRoots
  }
}
