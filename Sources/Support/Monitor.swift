/// A locked state, and the tasks that wait until it lets them continue.
///
/// ```swift
/// let free = Monitor(4)
/// try await free.wait { count in
///   guard count > 0 else { return false }
///   count -= 1
///   return true
/// }
/// free.update { $0 += 1 }
/// ```
///
/// Each update asks the waiting tasks, and each wait needs several allocations. A place where thousands wait for
/// different things, or that most chunks of a response pass, has continuations of its own.
///
/// It is `public` for the same reason as ``Locked``.
public final class Monitor<State: Sendable>: Sendable {
  @usableFromInline struct Waiter: Sendable {
    @usableFromInline let id: UInt64
    /// Takes what the task waits for. Returns what resumes the task, or `nil` if it has to wait longer.
    @usableFromInline let attempt: @Sendable (inout State) -> (@Sendable () -> Void)?
    @usableFromInline let cancel: @Sendable () -> Void
  }

  @usableFromInline struct Contents: Sendable {
    @usableFromInline var state: State
    @usableFromInline var waiters: [Waiter] = []
    @usableFromInline var lastID: UInt64 = 0
    @usableFromInline let isInOrder: Bool

    @usableFromInline init(_ state: State, isInOrder: Bool) {
      self.state = state
      self.isInOrder = isInOrder
    }

    /// Removes the waiters that can continue, and returns what resumes them, in their order.
    @usableFromInline mutating func takeReady() -> [@Sendable () -> Void] {
      var ready: [@Sendable () -> Void] = []
      if isInOrder {
        var count = 0
        while count < waiters.count, let resume = waiters[count].attempt(&state) {
          // Released outside the lock, which a deinitializer may need.
          ready.append { [waiter = waiters[count]] in withExtendedLifetime(waiter, resume) }
          count += 1
        }
        waiters.removeFirst(count)
        return ready
      }
      var isRepeated = true
      while isRepeated, !waiters.isEmpty {
        isRepeated = false
        var waiting: [Waiter] = []
        for waiter in waiters {
          if let resume = waiter.attempt(&state) {
            ready.append { withExtendedLifetime(waiter, resume) }
            // What it has taken may let one before it continue.
            isRepeated = !waiting.isEmpty
          } else {
            waiting.append(waiter)
          }
        }
        waiters = waiting
      }
      return ready
    }
  }

  @usableFromInline let contents: Locked<Contents>

  /// Creates a monitor for which no task waits.
  ///
  /// - Parameter isInOrder: Whether no task is asked while one that came before it has to wait. All tasks wait for the
  ///   same then.
  @inlinable
  public init(_ state: State, isInOrder: Bool = false) {
    contents = Locked(Contents(state, isInOrder: isInOrder))
  }

  /// The number of waiting tasks.
  public var waiterCount: Int { contents.withLock { $0.waiters.count } }

  /// Calls `body` with the state, and resumes no task.
  @inlinable
  public func withLock<Result: Sendable, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try contents.withLock { contents throws(Failure) in try body(&contents.state) }
  }

  /// Changes the state, and resumes the tasks that it lets continue, in the order in which they came.
  ///
  /// - Throws: The error of `change`, after which no task is resumed.
  @inlinable
  public func update<Result: Sendable, Failure: Error>(
    _ change: (inout State) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let (result, ready) = try contents.withLock {
      contents throws(Failure) -> (Result, [@Sendable () -> Void]) in
      let result = try change(&contents.state)
      return (result, contents.waiters.isEmpty ? [] : contents.takeReady())
    }
    for resume in ready { resume() }
    return result
  }

  /// Suspends until a condition is met.
  ///
  /// - Parameter isMet: The condition, which may change the state if it is met. It is called as that of ``take(_:)``.
  /// - Throws: `CancellationError` if the condition is not met and the task is cancelled.
  public func wait(
    until isMet: @escaping @Sendable (inout State) -> Bool
  ) async throws(CancellationError) {
    do {
      try await take { isMet(&$0) ? () : nil }
    } catch {
      throw CancellationError()
    }
  }

  /// Suspends until `take` returns a value.
  ///
  /// - Parameter take: Takes what the task waits for out of the state, or returns `nil`. It is called at once and after each
  ///   ``update(_:)``, until it returns a value or throws. It is called with the lock held.
  /// - Throws: The error of `take`; `CancellationError` if it has returned `nil` and the task is cancelled.
  public func take<Value: Sendable>(
    _ take: @escaping @Sendable (inout State) throws -> Value?
  ) async throws -> Value {
    let (value, id, ready) = try contents.withLock {
      contents -> (Value?, UInt64, [@Sendable () -> Void]) in
      if let value = try take(&contents.state) { return (value, 0, contents.takeReady()) }
      contents.lastID += 1
      return (nil, contents.lastID, [])
    }
    for resume in ready { resume() }
    if let value { return value }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        add(
          Waiter(id: id) { state in
            do {
              guard let value = try take(&state) else { return nil }
              return { continuation.resume(returning: value) }
            } catch {
              return { continuation.resume(throwing: error) }
            }
          } cancel: {
            continuation.resume(throwing: CancellationError())
          })
      }
    } onCancel: {
      cancel(id)
    }
  }

  private func add(_ waiter: Waiter) {
    let ready = contents.withLock { contents -> [@Sendable () -> Void] in
      // The state may have changed meanwhile.
      if let resume = waiter.attempt(&contents.state) { return [resume] + contents.takeReady() }
      // The cancellation handler may have run before there was anything to remove.
      if Task.isCancelled { return [waiter.cancel] }
      contents.waiters.append(waiter)
      return []
    }
    for resume in ready { resume() }
  }

  private func cancel(_ id: UInt64) {
    let waiter = contents.withLock { contents in
      contents.waiters.firstIndex { $0.id == id }.map { contents.waiters.remove(at: $0) }
    }
    waiter?.cancel()
  }
}
