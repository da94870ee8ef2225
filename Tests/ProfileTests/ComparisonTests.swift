import Foundation
import Testing

@testable import GQLRunProfile

@Suite("Comparisons and budgets")
struct ComparisonTests {
  private func report(_ seconds: [Double], stage: [Double]? = nil, peak: Double = 1e6) throws
    -> ProfileReport
  {
    var report = ProfileReport(
      program: "gqlrun", madeAt: 0,
      machine: Machine(processor: "P", cores: 2, memoryBytes: 1, system: "S"),
      workload: .init(source: "f", operation: "query Q", bytes: 1_000_000), runs: seconds.count,
      warmUps: 0)
    let jobs = (stage ?? seconds).indices.map { index in
      var run = RunMeasurement(kind: .job, label: "memory")
      run.seconds = seconds[index]
      run.peakBytes = Int(peak)
      run.parts = [.feed: PartTime(wall: stage?[index] ?? seconds[index])]
      run.counts.bytes = 1_000_000
      return run
    }
    report.jobs = [try #require(JobReport(jobs: jobs, stages: [], floor: [], lapCost: 0))]
    return report
  }

  @Test("the median of an even number of values lies between the two in the middle")
  func medians() {
    #expect(Spread([4, 1, 3, 2])?.median == 2.5)
    #expect(Spread([5, 1, 3])?.median == 3)
    #expect(Spread([]) == nil)
    #expect(Spread([.nan, 2])?.count == 1)
  }

  @Test(
    "a ratio is computed from pairs of rounds, so that a slow period of the machine cancels out")
  func ratios() throws {
    // The machine was ten times slower in the third round, for both.
    let ratio = try #require(Ratio([2, 2, 20, 2, 2], to: [1, 1, 10, 1, 1]))
    #expect(ratio.value == 2)
    #expect(ratio.low == 2)
    #expect(ratio.high == 2)
    #expect(Ratio([1], to: [0]) == nil)
  }

  @Test("the range of a ratio holds the ratio, and the same runs give the same range")
  func ranges() throws {
    let values = (0..<20).map { 1 + Double($0 % 7) / 10 }
    let ratio = try #require(Ratio(values, to: values.map { _ in 1 }))
    #expect(ratio.low <= ratio.value && ratio.value <= ratio.high)
    #expect(ratio.low < ratio.high)
    #expect(Ratio(values, to: values.map { _ in 1 }) == ratio)
    // Of twenty, five on each side can be left out: P(Bin(20, 1/2) <= 5) is 2.07 %.
    let sorted = values.sorted()
    #expect((ratio.low, ratio.high) == (sorted[5], sorted[14]))
    #expect(abs(ratio.confidence - 0.9586) < 0.0001)
  }

  @Test(
    "few rounds lower the confidence of a range",
    arguments: [(1, 0.0), (3, 0.75), (5, 0.9375), (6, 0.96875)])
  func confidence(count: Int, confidence: Double) throws {
    let values = (1...count).map { Double($0) }
    let ratio = try #require(Ratio(values, to: values.map { _ in 1 }))
    #expect(ratio.confidence == confidence)
    #expect(ratio.low == 1)
    #expect(ratio.high == Double(count))
  }

  @Test("a difference within the spread is not reported")
  func noise() throws {
    let comparison = ReportComparison(
      before: try report([1.0, 1.2, 1.1]), after: try report([1.15, 1.25, 1.19]))
    #expect(comparison.rows.first { $0.name == "memory: total" }?.verdict == .same)
    #expect(comparison.regressions(above: 0).isEmpty)
  }

  @Test("a significant difference is reported and compared with the bound")
  func clearDifference() throws {
    let comparison = ReportComparison(
      before: try report([1.0, 1.01, 1.02]), after: try report([1.5, 1.51, 1.52]))
    let total = try #require(comparison.rows.first { $0.name == "memory: total" })
    #expect(total.verdict == .slower)
    #expect(comparison.regressions(above: 10).map(\.name).contains("memory: total"))
    #expect(comparison.regressions(above: 60).isEmpty)
    let back = ReportComparison(
      before: try report([1.5, 1.51, 1.52]), after: try report([1.0, 1.01, 1.02]))
    #expect(back.rows.first?.verdict == .faster)
  }

  @Test("reports from different machines or responses produce a warning")
  func differentMachines() throws {
    var other = try report([1])
    other.machine.processor = "Q"
    other.workload.bytes = 5
    let remarks = ReportComparison(before: try report([1]), after: other).remarks
    #expect(remarks.count == 2)
  }

  @Test("a report is equal after writing and reading")
  func roundTrip() throws {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("report-\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: path) }
    try report([1, 2, 3]).json().write(to: path)
    let read = try ProfileReport.load(path.path)
    #expect(read.jobs.first?.seconds.median == 2)
    #expect(read.jobs.first?.stages.map(\.name) == [.normalize])
  }

  @Test(
    "an invalid report is an error with its cause",
    arguments: [
      ("", "is not a profile report"), (#"{"version":99}"#, "has version 99"),
      (#"{"version":1}"#, "is damaged"),
    ])
  func notAReport(text: String, reason: String) throws {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("report-\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: path) }
    try Data(text.utf8).write(to: path)
    let error = #expect(throws: ProfileError.self) { try ProfileReport.load(path.path) }
    #expect(error?.message.contains(reason) == true)
    for (path, reason) in [
      (path.path + ".none", "No such file or directory"), ("/", "Is a directory"),
    ] {
      let error = #expect(throws: ProfileError.self) { try ProfileReport.load(path) }
      #expect(error?.message == "cannot read the report \(path): \(reason)")
    }
  }

  @Test(
    "budgets are read with their units",
    arguments: [
      ("total<=2s", 2, true), ("total <= 500ms", 0.5, true), ("peak<=64MiB", 67_108_864, true),
      ("parse>=300MB/s", 300, false), ("store-write<=10us", 1e-5, true), ("floor<=3x", 3, true),
      ("p99<=200ms", 0.2, true), ("p95<=1.5s", 1.5, true), ("failed<=1%", 0.01, true),
      ("graphql_errors <= 0", 0, true), ("failed<=12", 12, true), ("rate>=95.5/s", 95.5, false),
      ("peak<=10kB", 10_000, true),
    ])
  func budgets(text: String, limit: Double, isUpper: Bool) throws {
    let budget = try Budget(text)
    #expect(abs(budget.limit - limit) < 1e-9)
    #expect(budget.isUpperBound == isUpper)
  }

  @Test(
    "invalid budgets are rejected",
    arguments: [
      "total<2s", "total<=2", "totl<=2s", "peak<=2s", "floor<=2s", "p99<=3x", "total<=-1s",
      "total<=infs", "", "failed<=101%", "failed<=1s", "rate>=95", "graphql_errors<=1e3",
      "p99<=nan",
      "floor<=infx", "rate>=-1/s",
    ])
  func badBudgets(text: String) {
    #expect(throws: ProfileError.self) { try Budget(text) }
  }

  @Test("an unknown metric and a wrong unit are errors that show what would work")
  func messagesOfBudgets() throws {
    let unknown = try #require(#expect(throws: ProfileError.self) { try Budget("p98<=1s") })
    #expect(
      unknown.message == """
        the budget p98<=1s has no known metric; the metrics are total, peak, floor, start, plan, input, guard, parse, \
        normalize, store-write, sync, read-back, output, end, p50, p90, p95, p99, p999, rate, failed, graphql_errors, \
        events, lost, unopened, delay
        """)
    let wrong = try #require(#expect(throws: ProfileError.self) { try Budget("failed<=1s") })
    #expect(
      wrong.message
        == "the budget failed<=1s compares failed with the wrong unit; write for example failed<=0 or failed<=1%"
    )
  }

  @Test("an exceeded budget names the store, the bound and the figure")
  func violations() throws {
    let report = try report([2, 2, 2])
    #expect(
      try Budget("total<=1s").violations(in: report) == ["memory: total<=1s is not met: 2.00 s"])
    #expect(try Budget("total<=3s").violations(in: report).isEmpty)
    #expect(try Budget("normalize<=3s").violations(in: report).isEmpty)
    #expect(
      try Budget("sync<=3s").violations(in: report)
        == ["memory: sync<=3s cannot be checked: the report has no such figure"])
    #expect(
      try Budget("p99<=1s").violations(in: report).first?.contains("no requests were measured")
        == true)
  }
  /// A load in which 2 of 200 requests failed, one with a GraphQL error.
  private func load(requests: Int = 200, failures: Int = 2) throws -> ProfileReport {
    var report = try report([1])
    let latencies = Latencies(
      mean: 0.1, p50: 0.1, p75: 0.1, p90: 0.1, p99: 0.2, p999: 0.3, p9999: 0.3, highest: 0.3,
      count: requests, curve: [.init(percentile: 95, seconds: 0.15)])
    report.load = LoadReport(
      model: .open(rate: 100, inFlight: 1), seconds: 2, requests: requests, failures: failures,
      errors: failures > 0 ? [.init(message: "connection refused", count: failures)] : [],
      achievedRate: 100, corrected: latencies, uncorrected: latencies, phases: [],
      receivedBytes: 0, clientLoad: 0, warnings: [])
    report.load?.graphQLErrors = min(failures, 1)
    return report
  }

  @Test(
    "budgets of requests are met or not, at the exact limit, and show what was found",
    arguments: [
      ("failed<=1%", true, "1.00 %"), ("failed<=0.9%", false, "1.00 %"), ("failed<=2", true, "2"),
      ("failed<=1", false, "2"), ("graphql_errors<=0", false, "1"),
      ("graphql_errors<=0.5%", true, "0.50 %"), ("rate>=100/s", true, "100.0/s"),
      ("rate>=101/s", false, "100.0/s"), ("p95<=151ms", true, "150.0 ms"),
      ("p95<=149ms", false, "150.0 ms"), ("p99<=250ms", true, "200.0 ms"),
    ])
  func loadBudgets(text: String, isMet: Bool, found: String) throws {
    let results = try Budget(text).results(in: load())
    #expect(results.map(\.isMet) == [isMet])
    #expect(results.first?.found == found)
    #expect(results.first?.subject == "requests")
    #expect(
      results.first?.violation == (isMet ? nil : "requests: \(text) is not met: \(found)"))
  }

  @Test(
    "a load of which nothing succeeded fails without a budget, and names the most frequent error")
  func nothingSucceeded() throws {
    #expect(
      BudgetResult.ofSuccess(try load()) == [
        BudgetResult(
          budget: "at least one request succeeds", subject: "requests", found: "198 of 200",
          isMet: true)
      ])
    #expect(BudgetResult.ofSuccess(try report([1])) == [])
    let message = "requests: at least one request succeeds is not met: "
    #expect(
      BudgetResult.ofSuccess(try load(requests: 122, failures: 122)).first?.violation
        == message + "all 122 failed; the most frequent error: connection refused (122 x)")
    #expect(
      BudgetResult.ofSuccess(try load(requests: 0, failures: 0)).first?.violation
        == message + "none was sent")
  }

  @Test("loads are compared: latencies, the rate, where more is better, and the failed share")
  func comparedLoads() throws {
    var slow = try load(failures: 20)
    slow.jobs = []
    slow.load?.achievedRate = 50
    slow.load?.corrected?.p99 = 0.3
    var fast = try load(failures: 0)
    fast.jobs = []
    let worse = ReportComparison(before: fast, after: slow)
    #expect(
      worse.rows.map(\.name) == [
        "requests: p50", "requests: p90", "requests: p99", "requests: rate", "requests: failed",
      ])
    #expect(worse.rows.map(\.verdict) == [.same, .same, .slower, .lower, .higher])
    #expect(worse.missing.isEmpty)
    #expect(
      worse.remarks == [
        "a load is one run: its differences include those between two runs of the same server"
      ])
    #expect(
      worse.regressions(above: 10).map(\.regression) == [
        "requests: p99 became worse by 50 %", "requests: rate became worse by 50 %",
        "requests: failed became worse: 0.00 % before, 10.00 % now",
      ])
    // A figure that was 0 has no percentage, and is worse by more than any.
    #expect(worse.regressions(above: 100).map(\.name) == ["requests: failed"])
    let better = ReportComparison(before: slow, after: fast)
    #expect(better.rows.map(\.verdict) == [.same, .same, .faster, .higher, .lower])
    #expect(better.regressions(above: 0).isEmpty)
    #expect(
      ReportComparison(before: try load(), after: try load()).regressions(above: 0).isEmpty)
  }

  @Test("events are compared: delivery, their rate, lost and unopened subscriptions")
  func comparedEvents() throws {
    func events(perSecond: Double, lost: Int, delivery: Latencies?) throws -> ProfileReport {
      var report = try report([1])
      report.jobs = []
      report.subscription = SubscriptionReport(
        subscriptions: 1, seconds: 1, events: 1, eventsPerSecond: perSecond, delivery: delivery,
        reconnects: 0, dropped: 0, eventsWithErrors: 0, failures: [], receivedBytes: 0,
        clientLoad: 0)
      report.subscription?.lost = lost
      return report
    }
    let delivery = try load().load?.uncorrected
    let good = try events(perSecond: 100, lost: 0, delivery: delivery)
    let bad = try events(perSecond: 80, lost: 2, delivery: nil)
    let comparison = ReportComparison(before: good, after: bad)
    #expect(
      comparison.regressions(above: 10).map(\.regression) == [
        "events: per second became worse by 20 %", "events: lost became worse: 0 before, 2 now",
      ])
    #expect(comparison.missing == ["events: delivery is not in this report"])
    #expect(
      ReportComparison(before: good, after: good).rows.map(\.name) == [
        "events: delivery p50", "events: delivery p90", "events: delivery p99",
        "events: per second", "events: lost", "events: unopened",
      ])
  }

  @Test("what is not in the earlier report cannot be compared")
  func notInEarlierReport() throws {
    var requests = try load()
    let jobs = try report([1])
    #expect(
      ReportComparison(before: jobs, after: requests).missing
        == ["the earlier report has no requests"])
    requests.jobs = []
    let other = ReportComparison(before: requests, after: jobs)
    #expect(other.missing == ["memory is not in the earlier report"])
    #expect(other.remarks == ["only the earlier report has requests"])
    var nothing = jobs
    nothing.jobs = []
    let comparison = ReportComparison(before: jobs, after: nothing)
    #expect(comparison.missing == ["the reports have no figure in common"])
    #expect(comparison.remarks == ["only the earlier report has memory"])
  }

  @Test("the report has every budget with its value, and the page whether all are met")
  func budgetsInReports() throws {
    var report = try load()
    report.budgets = try ["failed<=1%", "p99<=100ms"].flatMap {
      try Budget($0).results(in: report)
    }
    let rows = report.text.split(separator: "\n").map {
      $0.split(separator: " ").joined(separator: " ")
    }
    #expect(rows.contains("failed<=1% requests 1.00 % met"))
    #expect(rows.contains("p99<=100ms requests 200.0 ms not met"))
    #expect(try report.html.contains("<span class=\"badge bad\">failed</span>"))
    let copy = try JSONDecoder().decode(ProfileReport.self, from: report.json())
    #expect(copy.budgets == report.budgets)
    report.budgets = try Budget("failed<=1%").results(in: report)
    #expect(try report.html.contains("<span class=\"badge ok\">passed</span>"))
  }
}

extension Budget {
  /// The messages of the results that do not meet the budget.
  func violations(in report: ProfileReport) -> [String] {
    results(in: report).compactMap(\.violation)
  }
}
