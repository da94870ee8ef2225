import GQLRunTestSupport
import Logging
import Synchronization
import Testing

@testable import GQLRun

@Suite("Checks for writes of other processes", .timeLimit(.minutes(10)))
struct StoreRefresherTests {
  /// Counts checks; a check of a number in `failing` fails.
  private actor Checks {
    private(set) var count = 0
    private let failing: Set<Int>
    private var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    init(failing: Set<Int> = []) { self.failing = failing }

    func check() throws {
      count += 1
      for waiter in waiting where waiter.count <= count { waiter.continuation.resume() }
      waiting.removeAll { $0.count <= count }
      if failing.contains(count) { throw CacheError(.busy, "the file is locked") }
    }

    func reach(_ count: Int) async {
      guard self.count < count else { return }
      await withCheckedContinuation { waiting.append((count, $0)) }
    }
  }

  @Test("there is one check per interval while there are watches, and none afterwards")
  func leases() async throws {
    let (clock, checks) = (TestClock(), Checks())
    let services = Services(clock: ServiceClock(clock))
    let refresher = StoreRefresher(every: .seconds(1), services) { try await checks.check() }
    var leases = [refresher.lease(), refresher.lease()]
    await clock.tick()
    await checks.reach(1)
    leases.removeLast()
    await clock.tick()
    await checks.reach(2)
    leases.removeLast()
    let again = refresher.lease()
    await clock.tick()
    await checks.reach(3)
    #expect(await checks.count == 3)
    withExtendedLifetime(again) {}
  }

  @Test("a check that fails is logged once, and the next ones continue")
  func failures() async throws {
    let (clock, checks, lines) = (TestClock(), Checks(failing: [1, 2, 4]), Lines())
    let services = Services(
      clock: ServiceClock(clock), logger: Logger(label: "test") { _ in LineLog(lines: lines) })
    let refresher = StoreRefresher(every: .seconds(1), services) { try await checks.check() }
    let lease = refresher.lease()
    for number in 1...5 {
      await clock.tick()
      await checks.reach(number)
    }
    #expect(lines.all.count == 2)
    #expect(lines.all.allSatisfy { $0.contains("the file is locked") })
    withExtendedLifetime(lease) {}
  }

  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
  }

  private struct LineLog: LogHandler {
    let lines: Lines
    var logLevel = Logger.Level.warning
    var metadata = Logger.Metadata()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.add("\(event.message)") }
  }
}

extension TestClock {
  /// Wakes the one task that sleeps.
  fileprivate func tick() async {
    await sleepers(1)
    advance(by: .seconds(1))
  }
}
