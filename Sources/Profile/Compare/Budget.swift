import Foundation
import GQLRunPipeline
package import GQLRunReport
import GQLRunSupport

/// A bound for a figure of a profile: `total<=2s`, `peak<=64MiB`, `parse>=300MB/s`, `floor<=3x`, `failed<=1%`.
package struct Budget: Sendable, Hashable {
  package enum Figure: Sendable, Hashable {
    case total
    case peak
    /// The time until the commit, divided by that of bare yajl.
    case floor
    case stage(StageReport.Name)
    /// A percentile of request latencies: `p99<=200ms`.
    case latency(Percentile)
    /// Completed requests per second, including failed ones.
    case rate
    /// The requests that failed: their number, or their share.
    case failed
    /// The responses with GraphQL errors: their number, or their share.
    case graphQLErrors
    /// The events of subscriptions: their number, or that per second.
    case events
    /// How often subscriptions have lost their connection.
    case lost
    /// How often subscriptions could not be opened.
    case unopened
    /// The 99th percentile of the delays of events.
    case delay
  }

  package enum Percentile: String, Sendable, Hashable, CaseIterable {
    case p50, p90, p95, p99, p999
  }

  package enum Unit: Sendable, Hashable {
    case seconds, bytes, megabytesPerSecond, times, perSecond, count
    /// A percentage; the value is from 0 to 1.
    case share
  }

  package var text: String
  package var quantity: Figure
  package var isUpperBound: Bool
  package var limit: Double
  package var unit: Unit

  /// The metrics by their names, with the units of each.
  private static let metrics: [(name: String, figure: Figure, units: [Unit])] =
    [
      ("total", .total, [.seconds, .megabytesPerSecond]), ("peak", .peak, [.bytes]),
      ("floor", .floor, [.times]),
    ]
    + StageReport.Name.allCases.map { stage in
      (
        stage.rawValue.replacingOccurrences(of: " ", with: "-"), .stage(stage),
        [.seconds, .megabytesPerSecond]
      )
    }
    + Percentile.allCases.map { ($0.rawValue, .latency($0), [.seconds]) }
    + [
      ("rate", .rate, [.perSecond]), ("failed", .failed, [.count, .share]),
      ("graphql_errors", .graphQLErrors, [.count, .share]),
      ("events", .events, [.perSecond, .count]),
      ("lost", .lost, [.count]), ("unopened", .unopened, [.count]), ("delay", .delay, [.seconds]),
    ]

  /// Parses a budget in the form of the command line: a metric, `<=` or `>=`, and a value with its unit.
  ///
  /// - Throws: ``ProfileError`` if the text is not a budget.
  package init(_ text: String) throws(ProfileError) {
    self.text = text
    let compact = text.filter { $0 != " " }
    isUpperBound = compact.contains("<=")
    let parts = compact.components(separatedBy: isUpperBound ? "<=" : ">=")
    guard parts.count == 2, let (limit, unit) = Self.amount(parts[1]) else {
      throw Self.unreadable(text)
    }
    guard let metric = Self.metrics.first(where: { $0.name == parts[0] }) else {
      throw ProfileError(
        "the budget \(text) has no known metric; the metrics are \(Self.metricNames)")
    }
    guard metric.units.contains(unit) else {
      let example = metric.units.map { "\(metric.name)\($0.example)" }.joined(separator: " or ")
      throw ProfileError(
        "the budget \(text) compares \(metric.name) with the wrong unit; write for example \(example)"
      )
    }
    quantity = metric.figure
    self.limit = limit
    self.unit = unit
  }

  private static var metricNames: String { metrics.map(\.name).joined(separator: ", ") }

  /// A value with its unit: of time, size and share as in pipeline files.
  private static func amount(_ text: String) -> (Double, Unit)? {
    if let count = Double(plain: text) { return (count, .count) }
    if let share = try? Percentage(optionText: text) { return (share.fraction, .share) }
    if text.hasSuffix("x") { return Double(plain: text.dropLast()).map { ($0, .times) } }
    if text.hasSuffix("/s") {
      let amount = String(text.dropLast(2))
      if let size = try? ByteSize(optionText: amount) {
        return (Double(size.bytes) / 1e6, .megabytesPerSecond)
      }
      return Double(plain: amount).map { ($0, .perSecond) }
    }
    // Pipeline files have no microseconds, and write KB.
    if text.hasSuffix("us") {
      return Double(plain: text.dropLast(2)).map { ($0 * 1e-6, .seconds) }
    }
    if let time = try? Duration(optionText: text) { return (time.seconds, .seconds) }
    let size = try? ByteSize(optionText: text.replacingOccurrences(of: "kB", with: "KB"))
    return size.map { (Double($0.bytes), .bytes) }
  }

  private static func unreadable(_ text: String) -> ProfileError {
    ProfileError(
      "cannot read the budget \(text); write a metric, <= or >=, and a value with its unit, such as total<=2s, "
        + "peak<=64MiB, floor<=3x, parse>=300MB/s, p99<=250ms, failed<=1%, graphql_errors<=0, rate>=95/s or lost<=0; the metrics "
        + "are \(metricNames)")
  }

  /// What the report has for the budget: one result per job, or one for all requests or events.
  package func results(in report: ProfileReport) -> [BudgetResult] {
    switch quantity {
    case .total:
      jobResults(report) {
        unit == .seconds
          ? $0.seconds.median : Double(report.workload.bytes) / 1e6 / $0.seconds.median
      }
    case .peak: jobResults(report) { $0.peakBytes.highest }
    case .floor: jobResults(report) { $0.toFloor?.value }
    case .stage(let name):
      jobResults(report) { job in
        job.stages.first { $0.name == name }.flatMap {
          unit == .seconds ? $0.seconds.median : $0.megabytesPerSecond
        }
      }
    case .latency(let percentile): [latencyResult(percentile, report)]
    case .rate: [loadResult(report) { $0.achievedRate }]
    case .failed: [loadResult(report) { amount($0.failures, of: $0) }]
    case .graphQLErrors: [loadResult(report) { amount($0.graphQLErrors ?? 0, of: $0) }]
    case .events:
      [eventResult(report) { unit == .count ? Double($0.events) : $0.eventsPerSecond }]
    case .lost: [eventResult(report) { Double($0.lost ?? $0.reconnects) }]
    case .unopened: [eventResult(report) { Double($0.failed ?? 0) }]
    case .delay:
      [eventResult(report, without: "no event has a time (--event-time)") { $0.delay?.p99 }]
    }
  }

  private func jobResults(
    _ report: ProfileReport, _ value: (JobReport) -> Double?
  ) -> [BudgetResult] {
    guard !report.jobs.isEmpty else { return [unknown("no response was measured")] }
    return report.jobs.map { job in
      value(job).map { result($0, of: job.label) }
        ?? unknown("the report has no such figure", subject: job.label)
    }
  }

  private func latencyResult(_ percentile: Percentile, _ report: ProfileReport) -> BudgetResult {
    // Beside requests, the percentiles are theirs.
    guard report.load == nil, report.subscription != nil else {
      return loadResult(report) { ($0.corrected ?? $0.uncorrected).value(percentile) }
    }
    return eventResult(report, without: "no event arrived") { $0.delivery?.value(percentile) }
  }

  /// - Parameter reason: Why there is no value.
  private func eventResult(
    _ report: ProfileReport, without reason: String = "", _ value: (SubscriptionReport) -> Double?
  ) -> BudgetResult {
    guard let events = report.subscription else {
      return unknown("no subscriptions were measured (--subscribe, or those of --manifest)")
    }
    return value(events).map { result($0, of: "events") } ?? unknown(reason)
  }

  private func loadResult(
    _ report: ProfileReport, _ value: (LoadReport) -> Double
  ) -> BudgetResult {
    guard let load = report.load else {
      return unknown("no requests were measured (--rate, --stages or --concurrency)")
    }
    return result(value(load), of: "requests")
  }

  private func amount(_ count: Int, of load: LoadReport) -> Double {
    unit == .share ? Double(count) / Double(max(load.requests, 1)) : Double(count)
  }

  private func result(_ value: Double, of subject: String) -> BudgetResult {
    BudgetResult(
      budget: text, subject: subject, found: unit.shown(value),
      isMet: isUpperBound ? value <= limit : value >= limit)
  }

  private func unknown(_ reason: String, subject: String? = nil) -> BudgetResult {
    BudgetResult(
      budget: text, subject: subject, isMet: false, problem: "cannot be checked: \(reason)")
  }
}

/// What was found for a budget.
package struct BudgetResult: Codable, Sendable, Hashable {
  /// The budget as the user wrote it.
  package var budget: String
  /// What was measured: `requests`, `events`, or a store; `nil` if nothing was.
  package var subject: String?
  /// The value with its unit; `nil` if there is none.
  package var found: String?
  package var isMet: Bool
  /// Why the budget is not met, if that is not the value.
  package var problem: String?

  /// The budget as a case of a JUnit report.
  package var testCase: (name: String, result: JUnit.Result) {
    let name = (subject.map { "\($0): " } ?? "") + budget
    guard let violation else { return (name, .passed) }
    // A value that could not be found is no failure of what was measured.
    return (name, found == nil ? .error(violation) : .failure(violation))
  }

  /// The message of a budget that is not met; `nil` for one that is.
  package var violation: String? {
    guard !isMet else { return nil }
    let reason = problem ?? "is not met: \(found ?? "nothing was found")"
    return (subject.map { "\($0): " } ?? "") + "\(budget) \(reason)"
  }

  /// The budgets that every load has, met or not: that a request succeeds, and that a subscription is opened.
  package static func ofSuccess(_ report: ProfileReport) -> [BudgetResult] {
    var results: [BudgetResult] = []
    if let load = report.load {
      let failed = load.requests == 0 ? "none was sent" : "all \(load.requests) failed"
      results.append(
        success(
          "request succeeds", subject: "requests", found: load.requests - load.failures,
          of: load.requests, problem: failed, error: load.errors.first))
    }
    if let events = report.subscription {
      results.append(
        success(
          // Events that are not from the network have no connection.
          "subscription is opened", subject: "events",
          found: max(events.opened ?? 0, min(events.events, 1)), of: events.subscriptions,
          problem: "none of \(events.subscriptions) was opened", error: events.failures.first))
    }
    return results
  }

  private static func success(
    _ what: String, subject: String, found: Int, of count: Int, problem: String,
    error: LoadReport.ErrorCount?
  ) -> BudgetResult {
    let reason = error.map { "; the most frequent error: \($0.message) (\($0.count) x)" }
    return BudgetResult(
      budget: "at least one \(what)", subject: subject, found: "\(found) of \(count)",
      isMet: found > 0, problem: found > 0 ? nil : "is not met: \(problem)\(reason ?? "")")
  }
}

extension Budget.Unit {
  /// A bound with the unit, for messages.
  fileprivate var example: String {
    switch self {
    case .seconds: "<=500ms"
    case .bytes: "<=64MiB"
    case .megabytesPerSecond: ">=300MB/s"
    case .times: "<=3x"
    case .perSecond: ">=95/s"
    case .count: "<=0"
    case .share: "<=1%"
    }
  }

  /// A value with the unit.
  func shown(_ value: Double) -> String {
    switch self {
    case .seconds: Quantity.time(value)
    case .bytes: Quantity.size(value)
    case .megabytesPerSecond: Quantity.rate(value)
    case .times: String(format: "%.2f x", value)
    case .perSecond: String(format: "%.1f/s", value)
    case .count: String(format: "%.0f", value)
    case .share: String(format: "%.2f %%", value * 100)
    }
  }
}

extension Latencies {
  func value(_ percentile: Budget.Percentile) -> Double {
    switch percentile {
    case .p50: p50
    case .p90: p90
    case .p95: curve.first { $0.percentile == 95 }?.seconds ?? p99
    case .p99: p99
    case .p999: p999
    }
  }
}
