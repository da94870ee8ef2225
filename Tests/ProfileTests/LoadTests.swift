import Foundation
import GQLRunPipeline
import GQLRunTestSupport
import Testing

@testable import GQLRunProfile

@Suite("Many requests")
struct LoadTests {
  @Test("open-loop load starts requests on schedule, however long responses take")
  func openModel() async {
    let clock = TestClock.jumping()
    let report = await LoadRun(
      model: .open(rate: 100, inFlight: 1), duration: .seconds(1), clock: ServiceClock(clock),
      processTime: { 0 }
    ) {
      RequestOutcome(phases: [.firstByte: 0.001], receivedBytes: 10)
    }.run()
    #expect(report.requests == 100)
    #expect(report.failures == 0)
    #expect(report.receivedBytes == 1000)
    #expect(report.phases.first?.name == .firstByte)
    #expect(report.phases.first?.latencies.count == 100)
    #expect(report.corrected?.count == 100)
  }

  @Test("a stalled response adds to the latency of the requests behind it")
  func coordinatedOmission() async throws {
    let clock = TestClock.jumping()
    let number = Counter()
    // One at a time, ten per second; the third answer takes two seconds.
    let report = await LoadRun(
      model: .open(rate: 10, inFlight: 1), duration: .seconds(1), clock: ServiceClock(clock),
      processTime: { 0 }
    ) {
      if await number.next() == 3 { clock.advance(by: .seconds(2)) }
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
    let slots = RequestSlots(2)
    for _ in 0..<100 {
      #expect(try await !slots.acquire())
      slots.release()
    }
    #expect(try await !slots.acquire())
    #expect(try await !slots.acquire())
    async let third = slots.acquire()
    slots.release()
    // Whether the third asks before or after the place is free, it gets it.
    _ = try await third
  }

  @Test("failures are counted by their message")
  func failures() async {
    let clock = TestClock.jumping()
    let number = Counter()
    let report = await LoadRun(
      model: .open(rate: 4, inFlight: 1), duration: .seconds(1), clock: ServiceClock(clock),
      processTime: { 0 }
    ) {
      RequestOutcome(failure: await number.next() == 1 ? "once" : "often")
    }.run()
    #expect(report.failures == 4)
    #expect(
      report.errors == [.init(message: "often", count: 3), .init(message: "once", count: 1)])
  }

  @Test("closed-loop load keeps a fixed number of requests in flight until the duration ends")
  func closedModel() async {
    let clock = TestClock.jumping()
    let report = await LoadRun(
      model: .closed(concurrency: 1), duration: .seconds(1), clock: ServiceClock(clock),
      processTime: { 0 }
    ) {
      clock.advance(by: .milliseconds(100))
      return RequestOutcome()
    }.run()
    #expect(report.requests == 10)
    #expect(report.corrected == nil)
    #expect(abs(report.achievedRate - 10) < 0.01)
    #expect(abs(report.uncorrected.p50 - 0.1) < 0.001)
  }

  @Test("only a machine that is busy with other processes produces a warning")
  func busyMachine() async {
    for (busy, isBusy) in [(95.0, true), (50, false)] {
      let times = TimeSource(step: 1)
      let report = await LoadRun(
        model: .open(rate: 10, inFlight: 1), duration: .seconds(1),
        clock: ServiceClock(TestClock.jumping()), processTime: { 0 },
        machineTime: {
          let time = times.next()
          return MachineTime(busy: time * busy, all: time * 100)
        }
      ) { RequestOutcome() }.run()
      #expect(report.machineLoad == busy / 100)
      #expect(report.warnings.contains { $0.contains("of this machine were busy 95 %") } == isBusy)
    }
  }

  @Test("a saturated client warns that it may limit the figures")
  func clientBound() async {
    let clock = TestClock.jumping()
    let times = TimeSource()
    let report = await LoadRun(
      model: .open(rate: 10, inFlight: 1), duration: .seconds(1), clock: ServiceClock(clock),
      processTime: { times.next() }
    ) { RequestOutcome() }.run()
    #expect(report.warnings.contains { $0.contains("the client may limit the figures") })
  }
}

private actor Counter {
  private var count = 0

  func next() -> Int {
    count += 1
    return count
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
