/// Records that were taken from a response and are not yet visible to others.
///
/// The chain ends every one of them exactly once: with `commit` after all interceptors saw the
/// result and before it is delivered, or with `rollback` when an interceptor failed, suppressed or
/// replaced the result. A caller who stops reading can leave one behind; an implementation must
/// roll back when it is released unended.
public protocol PendingCacheWrite: Sendable {
  func commit() async throws
  func rollback() async
}

/// Where a parser puts the records of a response; made by the chain's cache write, and known to it
/// and the parser.
public protocol CacheWriteTarget: Sendable {}
