import GQLRunPipeline
import GQLRunSupport
import GQLRunTestSupport
import Testing

@testable import GQLRunPlugins

@Suite(.timeLimit(.minutes(10))) struct ConnectionAlarmTests {
  private final class Owner: Sendable {}

  @Test func `the time that was set last counts`() async {
    let test = TestClock()
    let clock = ServiceClock(test)
    let alarm = ConnectionAlarm(DeadlineTimer(clock), clock: clock)
    let calls = Locked(0)
    alarm.start { calls.withLock { $0 += 1 } }
    alarm.set(.seconds(5))
    alarm.set(nil)
    alarm.set(.seconds(9))
    while await test.nextWaking() > .seconds(9) { await Task.yield() }
    for time in [5, 4] {
      #expect(calls.withLock { $0 } == 0)
      test.advance(by: .seconds(time))
      await test.sleepers(1)
    }
    while calls.withLock({ $0 }) == 0 { await Task.yield() }
    #expect(calls.withLock { $0 } == 1)
    alarm.stop()
  }

  @Test func `a time that is set while the connection is checked counts`() async {
    let test = TestClock()
    let clock = ServiceClock(test)
    let alarm = ConnectionAlarm(DeadlineTimer(clock), clock: clock)
    let calls = Locked(0)
    // As the event loop of a connection does if it is faster than the timer: the ping is sent, and a pong is due.
    alarm.start { [weak alarm] in
      let isFirst = calls.withLock { calls in
        calls += 1
        return calls == 1
      }
      if isFirst { alarm?.set(.seconds(15)) }
    }
    alarm.set(.seconds(5))
    while await test.nextWaking() > .seconds(5) { await Task.yield() }
    test.advance(by: .seconds(5))
    await test.sleepers(1)
    #expect(calls.withLock { $0 } == 1)
    #expect(await test.nextWaking() == .seconds(15))
    alarm.stop()
  }

  @Test func `a connection that ends before it is opened is released`() async {
    let clock = ServiceClock(TestClock())
    let timer = DeadlineTimer(clock)
    let alarm = ConnectionAlarm(timer, clock: clock)
    weak var released: Owner?
    do {
      let owner = Owner()
      released = owner
      alarm.stop()
      alarm.start { withExtendedLifetime(owner) {} }
    }
    while released != nil { await Task.yield() }
    withExtendedLifetime((timer, alarm)) {}
  }
}
