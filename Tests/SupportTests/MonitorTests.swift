import GQLRunSupport
import Testing

@Suite("The monitor")
struct MonitorTests {
  /// Suspends until `count` tasks wait.
  private func wait<State>(for count: Int, in monitor: Monitor<State>) async {
    while monitor.waiterCount < count { await Task.yield() }
  }

  @Test("an update resumes each task whose condition it meets, and no other")
  func conditions() async throws {
    let count = Monitor(0)
    let two = Task { try await count.wait { $0 >= 2 } }
    let four = Task { try await count.wait { $0 >= 4 } }
    await wait(for: 2, in: count)
    count.update { $0 = 1 }
    #expect(count.waiterCount == 2)
    count.update { $0 = 3 }
    try await two.value
    #expect(count.waiterCount == 1)
    count.update { $0 = 4 }
    try await four.value
  }

  @Test("a change without an update resumes no task")
  func silent() async throws {
    let isOpen = Monitor(false)
    let waiting = Task { try await isOpen.wait { $0 } }
    await wait(for: 1, in: isOpen)
    isOpen.withLock { $0 = true }
    #expect(isOpen.waiterCount == 1)
    isOpen.update { _ in }
    try await waiting.value
  }

  @Test("values are taken in the order in which the tasks came")
  func order() async throws {
    let values = Monitor([Int]())
    var tasks: [Task<Int, any Error>] = []
    for number in 0..<20 {
      tasks.append(Task { try await values.take { $0.isEmpty ? nil : $0.removeFirst() } })
      await wait(for: number + 1, in: values)
    }
    values.update { $0 = Array(0..<20) }
    for (number, task) in tasks.enumerated() { #expect(try await task.value == number) }
  }

  @Test("what a task takes lets another one continue", arguments: [false, true])
  func chained(readsFirst: Bool) async throws {
    let slot = Monitor<Int?>(readsFirst ? nil : 1)
    let read: @Sendable () async throws -> Int = { try await slot.take { $0.take() } }
    let write: @Sendable () async throws -> Int = {
      try await slot.wait { slot in
        guard slot == nil else { return false }
        slot = 2
        return true
      }
      return 2
    }
    let first = Task(operation: readsFirst ? read : write)
    await wait(for: 1, in: slot)
    let second = try await (readsFirst ? write : read)()
    let firstValue = try await first.value
    #expect(second == (readsFirst ? 2 : 1))
    #expect(firstValue == 2)
  }

  @Test("the error of a condition ends the wait")
  func failing() async throws {
    struct Closed: Error {}
    let isClosed = Monitor(false)
    let waiting = Task {
      try await isClosed.take { isClosed -> Int? in
        if isClosed { throw Closed() }
        return nil
      }
    }
    await wait(for: 1, in: isClosed)
    isClosed.update { $0 = true }
    await #expect(throws: Closed.self) { try await waiting.value }
  }

  @Test("a cancelled task stops waiting, and gets what needs no wait")
  func cancelled() async throws {
    let free = Monitor(0)
    let waiting = Task { try await free.wait { $0 > 0 } }
    await wait(for: 1, in: free)
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(free.waiterCount == 0)
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await #expect(throws: CancellationError.self) { try await free.wait { $0 > 0 } }
      free.update { $0 = 1 }
      try await free.wait { $0 > 0 }
    }
    try await late.value
  }
}
