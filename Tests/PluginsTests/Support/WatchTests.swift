import GQLRunPipeline
import GQLRunTestSupport
import Testing

@testable import GQLRunPlugins

/// One sleeping task for everything that must not take too long.
@Suite(.timeLimit(.minutes(10))) struct WatchTests {
  private func check(
    _ name: String, at due: Duration, _ clock: ServiceClock,
    _ ended: AsyncStream<String>.Continuation
  ) -> DeadlineTimer.Check {
    let start = clock.now()
    return {
      let rest = start + due - clock.now()
      guard rest <= .zero else { return rest }
      ended.yield(name)
      return nil
    }
  }

  @Test func `what is over its time is ended at its time, whatever came first`() async {
    let manual = TestClock()
    let clock = ServiceClock(manual)
    let watch = DeadlineTimer(clock)
    let (names, ended) = AsyncStream.makeStream(of: String.self)
    _ = watch.add(check("late", at: .seconds(30), clock, ended))
    _ = watch.add(check("early", at: .seconds(10), clock, ended))
    let removed = watch.add(check("removed", at: .seconds(5), clock, ended))
    watch.remove(removed)
    let mover = Task {
      while !Task.isCancelled {
        await manual.sleepers(1)
        manual.advance(by: .seconds(1))
      }
    }
    var iterator = names.makeAsyncIterator()
    for name in ["early", "late"] {
      let next = await iterator.next()
      #expect(next == name)
      guard next == name else { break }
    }
    mover.cancel()
  }

  @Test func `something that came while nothing was left is looked after, too`() async {
    let manual = TestClock()
    let clock = ServiceClock(manual)
    let watch = DeadlineTimer(clock)
    let (names, ended) = AsyncStream.makeStream(of: String.self)
    var iterator = names.makeAsyncIterator()
    for name in ["first", "second"] {
      _ = watch.add(check(name, at: .seconds(1), clock, ended))
      let mover = Task {
        await manual.sleepers(1)
        manual.advance(by: .seconds(2))
      }
      let next = await iterator.next()
      #expect(next == name)
      mover.cancel()
    }
  }
}
