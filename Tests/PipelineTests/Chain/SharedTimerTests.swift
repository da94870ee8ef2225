import Testing

@testable import Pipeline

@Suite("The timer that tasks share", .timeLimit(.minutes(1)))
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

  @Test("sleeps end in the order of their ends, and none too early")
  func order() async throws {
    let timer = SharedTimer()
    let clock = ContinuousClock()
    let start = clock.now
    let ended = try await withThrowingTaskGroup(of: Int.self) { group in
      for milliseconds in [60, 5, 30] {
        group.addTask {
          try await timer.sleep(for: .milliseconds(milliseconds))
          #expect(clock.now - start >= .milliseconds(milliseconds))
          return milliseconds
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(ended == [5, 30, 60])
    #expect(timer.count == 0)
    try await timer.sleep(for: .zero)
  }
}
