import GQLRunPipeline
import GQLRunTestSupport
import Testing

@testable import GQLRunPlugins

@Suite(.timeLimit(.minutes(10))) struct DeadlineScopeTests {
  private final class Payload: Sendable {}

  private let scope = DeadlineScope(
    deadline: .seconds(30), clock: ServiceClock(TestClock()),
    error: ChainError(.transport, code: .timedOut, message: "the work took too long"))

  @Test func `the caller has the only reference to the value`() async throws {
    for _ in 0..<100 {
      var payload = try await scope.run {
        await Task.yield()
        return Payload()
      }
      #expect(isKnownUniquelyReferenced(&payload))
    }
  }

  @Test func `an error of the work is thrown`() async throws {
    await #expect(throws: CancellationError.self) {
      try await scope.run { throw CancellationError() }
    }
  }
}
