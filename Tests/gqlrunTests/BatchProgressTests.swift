import GQLRunBatch
import Testing

@testable import gqlrun

@Suite("Progress of batch runs")
struct BatchProgressTests {
  private func standing(_ outage: Outage? = nil, done: Int = 50) -> RunStanding {
    var counters = RunCounters()
    counters.total = 100
    counters.done = done
    return RunStanding(counters: counters, inFlight: 3, limit: 4, outage: outage)
  }

  private func unreachable(_ seconds: Int, of patience: Int = 300) -> Outage {
    Outage(.unreachable, duration: .seconds(seconds), remaining: .seconds(patience - seconds))
  }

  @Test("a log has a line every 30 seconds")
  func interval() {
    var log = ProgressLog()
    let lines = (1...300).compactMap { tick -> Double? in
      log.next(standing(), seconds: Double(tick) / 2) == nil ? nil : Double(tick) / 2
    }
    #expect(lines == [30, 60, 90, 120, 150])
  }

  @Test("an outage is a line at once, part of the later lines, and a line when it ends")
  func outage() {
    var log = ProgressLog()
    #expect(log.next(standing(unreachable(0)), seconds: 1) == nil, "it may be short")
    #expect(
      log.next(standing(unreachable(28)), seconds: 2)
        == "server unreachable, retrying for 4m32s")
    #expect(log.next(standing(unreachable(40)), seconds: 14) == nil)
    #expect(
      log.next(standing(unreachable(58)), seconds: 32)?
        .hasPrefix("server unreachable, retrying for 4m2s  [####") == true)
    #expect(log.next(standing(), seconds: 34) == "server responds again after 58s")
    #expect(log.next(standing(), seconds: 35) == nil)
    // The next one is reported again.
    #expect(
      log.next(standing(unreachable(300)), seconds: 40) == "server unreachable, last attempts")
  }

  @Test("a short outage is not reported")
  func short() {
    var log = ProgressLog()
    let outage = Outage(.refusing, duration: .milliseconds(300), remaining: .seconds(299))
    #expect(log.next(standing(outage), seconds: 1) == nil)
    #expect(log.next(standing(), seconds: 2) == nil)
    #expect(!ProgressLog.line(standing(outage), seconds: 2).contains("server"))
  }

  @Test("a refusing server is not called unreachable")
  func refusing() {
    var log = ProgressLog()
    let outage = Outage(.refusing, duration: .seconds(2), remaining: .seconds(7_325))
    #expect(
      log.next(standing(outage), seconds: 3) == "server refuses requests, retrying for 2h2m")
    #expect(
      log.next(standing(unreachable(5)), seconds: 4) == "server unreachable, retrying for 4m55s")
  }

  @Test("a line shows the done and the total, the rate and the time left")
  func line() {
    #expect(
      ProgressLog.line(standing(), seconds: 10)
        == "[############------------] 50/100  10s left  5/s  3 of 4 in flight")
    var counters = RunCounters()
    counters.failed = 1
    let line = ProgressLog.line(
      RunStanding(counters: counters, inFlight: 0, limit: 4), seconds: 1)
    #expect(line == "1 task  1/s  1 failed  0 of 4 in flight")
    // The other tests compare what is printed without these lines.
    #expect(RunResult.withoutProgress("a\n\(line)\n\nb\n") == "a\n\nb\n")
  }

  @Test("while a bulk operation runs, its objects are in the line")
  func bulkOperation() {
    var standing = standing()
    standing.counters.bulkObjects = 1_234
    #expect(
      ProgressLog.line(standing, seconds: 1).contains("  bulk operation: 1,234 objects  "))
  }

  @Test("failed and unknown tasks are counted apart")
  func unknown() {
    var standing = standing()
    standing.counters.failed = 2
    standing.counters.unknown = 3
    #expect(ProgressLog.line(standing, seconds: 1).contains("  2 failed  3 unknown  "))
  }
}
