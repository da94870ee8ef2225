public import GQLRunCache

/// Records that were taken from a response and are not yet visible to others.
///
/// The chain ends every one of them exactly once: with `commit` after all interceptors saw the
/// result and before it is delivered, or with `rollback` when an interceptor failed, suppressed or
/// replaced the result. A caller who stops reading can leave one behind; an implementation must
/// roll back when it is released unended.
public protocol PendingCacheWrite: Sendable {
  func commit() async throws -> WriteSummary
  func rollback() async
}

extension PendingWrite: PendingCacheWrite {}

/// Where a parser puts the records of a response, as the chain's cache write wants it.
public struct CacheWriteTarget: Sendable {
  public var store: any RecordStore
  public var errorPolicy: ErrorPolicy
  /// Whether the answers to root fields are kept, or only the objects in them.
  public var writesRoots: Bool
  /// Whether a result that cannot be kept is an error. Otherwise it is delivered, with a warning.
  public var isRequired = false

  public init(
    store: any RecordStore, errorPolicy: ErrorPolicy = .skipErrored, writesRoots: Bool = true
  ) {
    self.store = store
    self.errorPolicy = errorPolicy
    self.writesRoots = writesRoots
  }
}
