import Foundation
import GQLRunPipeline
import GQLRunReport
import GQLRunSupport
import GQLRunTestSupport
import Testing

@testable import GQLRunProfile

@Suite("Many requests")
struct LoadTests {
  @Test("open-loop load starts requests on schedule, however long responses take")
  func openModel() async {
    let report = await LoadRun(.open(rate: 100, inFlight: 1)) {
      RequestOutcome(phases: [.firstByte: 0.001], receivedBytes: 10)
    }.run()
    #expect(report.requests == 100)
    #expect(report.failures == 0)
    #expect(report.receivedBytes == 1000)
    #expect(report.phases.first?.name == .firstByte)
    #expect(report.phases.first?.latencies.count == 100)
    #expect(report.corrected?.count == 100)
  }

  @Test("the rate of a short load is one of its whole schedule")
  func shortLoad() async {
    // At 0, 200, 400, 600 and 800 ms.
    let times = TimeSource(step: 0.4)
    var run = LoadRun(.open(rate: 5, inFlight: 1))
    run.processTime = { times.next() }
    let report = await run.run()
    #expect(report.requests == 5)
    #expect(report.seconds == 1)
    #expect(report.achievedRate == 5)
    #expect(abs(report.clientLoad - 0.5) < 0.01, "0.4 s of 0.8 s")
  }

  @Test("a stalled response adds to the latency of the requests behind it")
  func coordinatedOmission() async throws {
    let clock = TestClock.jumping()
    let number = Locked(0)
    // One at a time, ten per second; the third answer takes two seconds.
    let report = await LoadRun(.open(rate: 10, inFlight: 1), clock) {
      if number.increment() == 3 { clock.advance(by: .seconds(2)) }
      return RequestOutcome()
    }.run()
    let corrected = try #require(report.corrected)
    #expect(report.requests == 10)
    // Only one request was slow by itself, but most began late.
    #expect(report.uncorrected.p50 < 0.1)
    #expect(corrected.p50 > 0.5)
    #expect(report.warnings.contains { $0.contains("requests waited because") })
  }

  @Test("a completed request frees its slot for the next")
  func placesAreGivenBack() async throws {
    let free = Monitor(2)
    func take() -> Bool { free.withLock(LoadRun.takeSlot) }
    for _ in 0..<100 {
      #expect(take())
      free.update { $0 += 1 }
    }
    #expect(take())
    #expect(take())
    async let third: Void = free.wait(until: LoadRun.takeSlot)
    free.update { $0 += 1 }
    // Whether the third asks before or after the place is free, it gets it.
    try await third
  }

  @Test("failures are counted by their message")
  func failures() async {
    let number = Locked(0)
    let report = await LoadRun(.open(rate: 4, inFlight: 1)) {
      RequestOutcome(failure: number.increment() == 1 ? "once" : "often")
    }.run()
    #expect(report.failures == 4)
    #expect(
      report.errors == [.init(message: "often", count: 3), .init(message: "once", count: 1)])
  }

  @Test("closed-loop load keeps a fixed number of requests in flight until the duration ends")
  func closedModel() async {
    let clock = TestClock.jumping()
    let report = await LoadRun(.closed(concurrency: 1), clock) {
      clock.advance(by: .milliseconds(100))
      return RequestOutcome()
    }.run()
    #expect(report.requests == 10)
    #expect(report.corrected == nil)
    #expect(abs(report.achievedRate - 10) < 0.01)
    #expect(abs(report.uncorrected.p50 - 0.1) < 0.001)
  }

  @Test("think time is a delay after each response")
  func thinkTime() async {
    let clock = TestClock.jumping()
    var run = LoadRun(.closed(concurrency: 1), clock) {
      clock.advance(by: .milliseconds(50))
      return RequestOutcome()
    }
    run.thinkTime = .milliseconds(200)
    let report = await run.run()
    // At 0, 250, 500 and 750 ms.
    #expect(report.requests == 4)
    #expect(abs(report.achievedRate - 4) < 0.01)
    #expect(report.thinkSeconds == 0.2)
    #expect(report.section.title.contains("4 requests, 1 at a time, 200.0 ms apart"))
  }

  @Test("a run does not last longer than its duration because of its think time")
  func longThinkTime() async {
    var run = LoadRun(.closed(concurrency: 1))
    run.thinkTime = .seconds(8)
    let report = await run.run()
    #expect(report.requests == 1)
    #expect(abs(report.seconds - 1) < 0.01)
  }

  @Test("an interrupted run has the steps until then, and no warning of its rate")
  func interrupted() async throws {
    let number = Locked(0)
    let answer = TestClock()
    let run = LoadRun(.open(rate: 2, inFlight: 1), for: 100) {
      // The fifth request, which starts at 2 s, is not answered.
      if number.increment() == 5 { try? await answer.sleep(for: .seconds(1)) }
      return RequestOutcome()
    }
    let task = Task { await run.run() }
    await answer.sleepers(1)
    task.cancel()
    let report = await task.value
    #expect(report.isInterrupted == true && report.requests == 4)
    #expect(report.steps?.map(\.requests) == [2, 2, 0])
    #expect(
      report.warnings.first == "interrupted: the figures are those of the requests until then")
    #expect(!report.warnings.contains { $0.contains("the rate is too high") })
  }

  @Test("errors with more than a hundred texts are counted together")
  func manyErrors() {
    var tally = ErrorTally()
    for number in 0..<150 { tally.add("\(number)") }
    tally.add("0")
    #expect(
      Array(tally.list.prefix(2)) == [
        .init(message: "other errors", count: 50), .init(message: "0", count: 2),
      ])
  }

  @Test("a stall is visible in the steps of the requests that it delays, by its known time")
  func stallOverTime() async throws {
    let clock = TestClock.jumping()
    let number = Locked(0)
    // Ten per second for eight seconds, one at a time. The request that starts at 3.0 s takes two seconds.
    let report = await LoadRun(.open(rate: 10, inFlight: 1), for: 8, clock) {
      if number.increment() == 31 { clock.advance(by: .seconds(2)) }
      return RequestOutcome()
    }.run()
    let steps = try #require(report.steps)
    #expect(report.stepSeconds == 1)
    #expect(steps.map(\.start) == [0, 1, 2, 3, 4, 5, 6, 7])
    #expect(steps.map(\.requests) == [10, 10, 10, 10, 10, 10, 10, 10])
    // Nothing is completed in the two seconds, but perhaps the request before them.
    #expect(steps[3].completed <= 1 && steps[4].completed == 0)
    #expect(steps[5].completed >= 20)
    #expect(steps.reduce(0) { $0 + $1.completed } == 80)
    for (index, range) in [(2, 0.0...0.2), (3, 1.9...2.2), (4, 0.9...1.2), (6, 0.0...0.2)] {
      #expect(range.contains(try #require(steps[index].highest)), "step \(index)")
    }
    #expect(report.section.lines.contains { $0.contains("slowest second: from 3 s") })
  }

  @Test("an error of the server is one line of the report")
  func oneLine() {
    var errors = ErrorTally()
    errors.add("GraphQL error: no\nbudgets  met")
    #expect(errors.list.map(\.message) == ["GraphQL error: no\u{FFFD}budgets  met"])
  }

  @Test("a long error is shortened, also one of a single character")
  func longError() {
    for unit in ["a", "\u{301}"] {
      var errors = ErrorTally()
      errors.add(String(repeating: unit, count: 100_000))
      #expect(errors.list.map(\.message) == [String(repeating: unit, count: 500) + "…"])
    }
  }

  @Test("an outage is visible as failures in the steps of its time, with codes of GraphQL errors")
  func outageOverTime() async throws {
    let clock = TestClock.jumping()
    let number = Locked(0)
    // Those that are to start from 2 s to 4 s are refused; the one at 5 s has a GraphQL error.
    let report = await LoadRun(.open(rate: 4, inFlight: 1), for: 6, clock) {
      clock.advance(by: .milliseconds(1))
      let request = number.increment()
      if (9...16).contains(request) { return RequestOutcome(failure: "refused") }
      guard request == 21 else { return RequestOutcome() }
      var outcome = RequestOutcome(failure: "GraphQL error: no")
      outcome.errorCodes = ["NOT_FOUND", "NOT_FOUND"]
      return outcome
    }.run()
    let steps = try #require(report.steps)
    #expect(steps.map(\.failures) == [0, 0, 4, 4, 0, 1])
    #expect(steps.map(\.graphQLErrors) == [0, 0, 0, 0, 0, 1])
    #expect(report.graphQLErrors == 1)
    #expect(report.errorCodes == [.init(message: "NOT_FOUND", count: 2)])
    #expect(
      report.section.lines.contains(
        "  responses with GraphQL errors: 1, with the codes 2 x NOT_FOUND"))
    var whole = ProfileReport.empty(operation: "query Q")
    whole.load = report
    let page = try whole.html
    #expect(page.contains("Requests per second, over time"))
    #expect(page.contains("Latency by the start of requests, over time"))
    let copy = try JSONDecoder().decode(ProfileReport.self, from: whole.json())
    #expect(copy.load?.steps == steps)
  }

  @Test("a report of an older version, without figures over time, is read and shown")
  func olderReport() async throws {
    let report = await LoadRun(.open(rate: 4, inFlight: 1)).run()
    var object = try #require(
      try JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any])
    for key in ["graphQLErrors", "errorCodes", "steps", "stepSeconds"] {
      #expect(object.removeValue(forKey: key) != nil, "\(key)")
    }
    let old = try JSONDecoder().decode(
      LoadReport.self, from: JSONSerialization.data(withJSONObject: object))
    #expect(old.requests == 4 && old.steps == nil)
    #expect(!old.section.lines.contains { $0.contains("slowest second") })
  }

  @Test("a long run has steps of more than a second, and what comes late is in the last one")
  func longRuns() {
    var steps = TimeSteps(start: 100, seconds: 6_000, of: 0)
    #expect(steps.width == 10)
    for time in [125, 1e12] { steps.change(at: time) { $0 += 1 } }
    #expect(steps.list()[2].value == 1 && steps.list()[2].start == 20)
    #expect(steps.list().count == 2 * TimeSteps<Int>.maxSteps + 1)
    #expect(steps.list().last?.value == 1)
    // A time before the start is no crash.
    steps.change(at: 90) { $0 += 1 }
    #expect(steps.list()[0].value == 1)
  }

  @Test("the requests of several operations are reported one by one")
  func operations() async throws {
    let number = Locked(0)
    var run = LoadRun(.open(rate: 4, inFlight: 1)) {
      let isFirst = number.increment() == 1
      var outcome = RequestOutcome(failure: isFirst ? "no" : nil)
      outcome.operation = isFirst ? 1 : 0
      return outcome
    }
    run.operations = ["Country", "Feed"]
    let report = await run.run()
    let operations = try #require(report.operations)
    #expect(operations.map(\.name) == ["Country", "Feed"])
    #expect(operations.map(\.requests) == [3, 1] && operations.map(\.failures) == [0, 1])
  }

  @Test("only a machine that is busy with other processes produces a warning")
  func busyMachine() async {
    for (busy, isBusy) in [(95.0, true), (50, false)] {
      let times = TimeSource(step: 1)
      var run = LoadRun(.open(rate: 10, inFlight: 1))
      run.machineTime = {
        let time = times.next()
        return MachineTime(busy: time * busy, all: time * 100)
      }
      let report = await run.run()
      #expect(report.machineLoad == busy / 100)
      #expect(report.warnings.contains { $0.contains("of this machine were busy 95 %") } == isBusy)
    }
  }

  @Test("a saturated client warns that it may limit the figures")
  func clientBound() async {
    let times = TimeSource()
    var run = LoadRun(.open(rate: 10, inFlight: 1))
    run.processTime = { times.next() }
    let report = await run.run()
    #expect(report.warnings.contains { $0.contains("the client may limit the figures") })
  }
}

extension LoadRun {
  /// A load without processor time of its own, on a clock that moves when a task sleeps.
  init(
    _ model: LoadReport.Model, for seconds: Int = 1, _ clock: TestClock = .jumping(),
    perform: @escaping @Sendable () async -> RequestOutcome = { RequestOutcome() }
  ) {
    self.init(
      model: model, duration: .seconds(seconds), clock: ServiceClock(clock), processTime: { 0 },
      perform: perform)
  }
}

/// A thousand seconds of processor time between two readings, or another step.
///
/// `@unchecked Sendable`: read by one task, one time after the other.
private final class TimeSource: @unchecked Sendable {
  private var time = 0.0
  private let step: Double

  init(step: Double = 1000) { self.step = step }

  func next() -> Double {
    time += step
    return time
  }
}
