import GQLRunSupport
import Testing

@Suite("The asynchronous mutex")
struct AsyncMutexTests {
  /// Suspends until `count` tasks wait for the mutex.
  private func wait(for count: Int, in mutex: AsyncMutex) async {
    while mutex.waiterCount < count { await Task.yield() }
  }

  @Test("tasks hold it one at a time, in the order in which they came")
  func order() async throws {
    let mutex = AsyncMutex()
    let order = Order()
    try await mutex.acquire()
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<50 {
      tasks.append(
        Task {
          try await mutex.acquire()
          order.begin(number)
          await Task.yield()
          order.end()
          mutex.release()
        })
      await wait(for: number + 1, in: mutex)
    }
    mutex.release()
    for task in tasks { try await task.value }
    #expect(order.numbers == Array(0..<50))
    #expect(order.most == 1)
    #expect(mutex.tryAcquire())
  }

  @Test("a task that is cancelled while it waits stops waiting")
  func cancelled() async throws {
    let mutex = AsyncMutex()
    try await mutex.acquire()
    let cancelled = Task { try await mutex.acquire() }
    await wait(for: 1, in: mutex)
    let next = Task { try await mutex.acquire() }
    await wait(for: 2, in: mutex)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(mutex.waiterCount == 1)
    mutex.release()
    try await next.value
    #expect(!mutex.tryAcquire())
  }

  @Test("a cancelled task does not get it, though it is free")
  func cancelledBefore() async throws {
    let mutex = AsyncMutex()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await mutex.acquire()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(mutex.tryAcquire())
  }

  @Test("cancelling and releasing at the same time loses no turn")
  func races() async throws {
    let mutex = AsyncMutex()
    for _ in 0..<2_000 {
      try await mutex.acquire()
      let waiting = Task {
        try await mutex.acquire()
        mutex.release()
      }
      let cancelling = Task { waiting.cancel() }
      mutex.release()
      await cancelling.value
      _ = await waiting.result
      #expect(mutex.tryAcquire())
      mutex.release()
    }
  }
}

private final class Order: Sendable {
  private struct State {
    var numbers: [Int] = []
    var current = 0
    var most = 0
  }

  private let state = Locked(State())

  var numbers: [Int] { state.withLock { $0.numbers } }
  var most: Int { state.withLock { $0.most } }

  func begin(_ number: Int) {
    state.withLock {
      $0.numbers.append(number)
      $0.current += 1
      $0.most = max($0.most, $0.current)
    }
  }

  func end() { state.withLock { $0.current -= 1 } }
}
