import GQLRunSupport
import Testing

@Suite("The timer that tasks share", .timeLimit(.minutes(10)))
struct SharedTimerTests {
  @Test("a cancelled sleep ends at once, and leaves nothing behind")
  func cancelled() async {
    let timer = SharedTimer()
    let tasks = (0..<1_000).map { _ in Task { try await timer.sleep(for: .seconds(3_600)) } }
    // Some are cancelled before they sleep, most while they do.
    for task in tasks { task.cancel() }
    for task in tasks {
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    #expect(timer.count == 0)
  }

  @Test("a sleep ends without those that began before it and end later, and none too early")
  func order() async throws {
    let timer = SharedTimer()
    let clock = ContinuousClock()
    let hour = Task { try await timer.sleep(for: .seconds(3_600)) }
    while timer.count == 0, !Task.isCancelled { await Task.yield() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for milliseconds in [60, 5, 30] {
        group.addTask {
          let start = clock.now
          try await timer.sleep(for: .milliseconds(milliseconds))
          #expect(clock.now - start >= .milliseconds(milliseconds))
        }
      }
      try await group.waitForAll()
    }
    #expect(timer.count == 1, "the first still sleeps")
    hour.cancel()
    await #expect(throws: CancellationError.self) { try await hour.value }
    try await timer.sleep(for: .zero)
  }
}
