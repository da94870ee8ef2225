import Foundation
import GQLRunPipeline
import GQLRunTestSupport
import Testing

@testable import GQLRunPlugins

/// One sleeping task for everything that must not take too long.
@Suite(.timeLimit(.minutes(10))) struct WatchTests {
  /// What was ended, in order, and what is still to come.
  private final class Journal: @unchecked Sendable {
    // Unchecked: what changes is only touched while `lock` is held.
    private let lock = NSLock()
    private var ended: [String] = []
    private let (news, told) = AsyncStream.makeStream(of: String.self)

    var names: [String] { lock.withLock { ended } }

    func end(_ name: String) {
      lock.withLock { ended.append(name) }
      told.yield(name)
    }

    func wait(for name: String) async {
      for await other in news where other == name { return }
    }
  }

  private func check(
    _ name: String, at due: Duration, _ clock: ServiceClock, _ journal: Journal
  ) -> DeadlineTimer.Check {
    let start = clock.now()
    return {
      let rest = start + due - clock.now()
      guard rest <= .zero else { return rest }
      journal.end(name)
      return nil
    }
  }

  @Test func `what is over its time is ended at its time, whatever came first`() async {
    let manual = TestClock()
    let clock = ServiceClock(manual)
    let watch = DeadlineTimer(clock)
    let journal = Journal()
    _ = watch.add(check("late", at: .seconds(30), clock, journal))
    _ = watch.add(check("early", at: .seconds(10), clock, journal))
    let removed = watch.add(check("removed", at: .seconds(5), clock, journal))
    watch.remove(removed)
    let mover = Task {
      while !Task.isCancelled {
        await manual.sleepers(1)
        manual.advance(by: .seconds(1))
      }
    }
    await journal.wait(for: "late")
    mover.cancel()
    #expect(journal.names == ["early", "late"])
  }

  @Test func `something that came while nothing was left is looked after, too`() async {
    let manual = TestClock()
    let clock = ServiceClock(manual)
    let watch = DeadlineTimer(clock)
    let journal = Journal()
    for name in ["first", "second"] {
      _ = watch.add(check(name, at: .seconds(1), clock, journal))
      let mover = Task {
        await manual.sleepers(1)
        manual.advance(by: .seconds(2))
      }
      await journal.wait(for: name)
      mover.cancel()
    }
    #expect(journal.names == ["first", "second"])
  }
}
