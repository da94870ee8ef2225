#if GQLRUN_THREAD_SANITIZER
  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif
#else
  public import Synchronization
#endif

/// A value that is only accessible while a lock is held.
///
/// The only lock of this package. Hold it for a few instructions, never across an `await`, and
/// resume continuations after it was released.
///
/// It is `Mutex` of the standard library, whose lock the thread sanitizer cannot instrument: on
/// Linux it reports each use as a race. Builds with `-DGQLRUN_THREAD_SANITIZER` use
/// `pthread_mutex_t`, which it supports.
///
/// It is `public`, although no product contains its module, so that other modules inline it
/// (`docs/decisions/0019-the-path-of-a-request.md`).
public struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
  #if GQLRUN_THREAD_SANITIZER
    private let storage: PThreadStorage<Value>

    /// Creates a lock that guards `value`.
    public init(_ value: consuming sending Value) { storage = PThreadStorage(value) }

    /// Calls `body` with the value while the lock is held.
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      try storage.withLock(body)
    }
  #else
    @usableFromInline let mutex: Mutex<Value>

    /// Creates a lock that guards `value`.
    @inlinable
    public init(_ value: consuming sending Value) { mutex = Mutex(value) }

    /// Calls `body` with the value while the lock is held.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      try mutex.withLock(body)
    }
  #endif
}

#if GQLRUN_THREAD_SANITIZER
  /// `@unchecked Sendable`: the value is only accessed while the mutex is held.
  private final class PThreadStorage<Value: ~Copyable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    // The sanitizer takes a stored property without a size, as that of `Locked(())`, for the beginning of the object.
    private let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)

    init(_ value: consuming sending Value) {
      self.value.initialize(to: value)
      mutex.initialize(to: pthread_mutex_t())
      pthread_mutex_init(mutex, nil)
    }

    deinit {
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
      value.deinitialize(count: 1)
      value.deallocate()
    }

    func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value.pointee)
    }
  }
#endif
