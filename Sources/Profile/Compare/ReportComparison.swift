package import Foundation
import GQLRunSupport

/// The differences between two reports, figure by figure.
package struct ReportComparison: Sendable, Hashable {
  package enum Verdict: String, Sendable, Hashable {
    case faster, slower
    case same = "no difference shown"
    /// For sizes.
    case smaller, larger
    /// For rates, shares and counts.
    case lower, higher
  }

  package struct Row: Sendable, Hashable {
    /// `memory: parse`, `sqlite:cache.db: total`, `requests: p99`.
    package var name: String
    package var before: Double
    package var after: Double
    package var unit: Budget.Unit
    /// `after` divided by `before`; `nil` if `before` is 0.
    package var ratio: Double?
    package var verdict: Verdict
    /// How much worse the figure became, divided by `before`: 0.5 for a time that rose, or a rate that fell, by half.
    /// Negative if it became better; infinite if it rose from 0.
    package var worsening: Double

    /// - Parameters:
    ///   - isHigherBetter: Whether more of the figure is better, as of a rate.
    ///   - isApart: Whether the difference counts if it exceeds ``ReportComparison/tolerance``.
    init(
      _ name: String, before: Double, after: Double, unit: Budget.Unit,
      isHigherBetter: Bool = false, isApart: Bool = true
    ) {
      (self.name, self.before, self.after, self.unit) = (name, before, after, unit)
      ratio = before > 0 ? after / before : nil
      let change = ratio.map { $0 - 1 } ?? (after > 0 ? .infinity : 0)
      worsening = isHigherBetter ? -change : change
      let isClear = isApart && abs(change) > ReportComparison.tolerance
      verdict = isClear ? unit.verdict(isMore: change > 0) : .same
    }

    /// The message of a figure that became worse.
    package var regression: String {
      guard worsening.isFinite else {
        return "\(name) became worse: \(unit.shown(before)) before, \(unit.shown(after)) now"
      }
      return "\(name) became worse by " + String(format: "%.0f %%", worsening * 100)
    }
  }

  package var rows: [Row] = []
  /// Reasons to read the comparison with caution.
  package var remarks: [String] = []
  /// The figures that cannot be compared, with the reasons.
  package var missing: [String] = []

  /// The relative difference of medians that is not reported, because a shared machine causes as
  /// much.
  static let tolerance = 0.03

  package init(before: ProfileReport, after: ProfileReport) {
    if before.machine != after.machine {
      remarks.append(
        "made on different machines (\(before.machine.processor) and \(after.machine.processor)): "
          + "only ratios to bare yajl are comparable")
    }
    if before.workload.bytes != after.workload.bytes
      || before.workload.operation != after.workload.operation
    {
      remarks.append("made with different responses or operations")
    }
    for new in after.jobs {
      guard let old = before.jobs.first(where: { $0.label == new.label }) else {
        missing.append("\(new.label) is not in the earlier report")
        continue
      }
      add("\(new.label): total", old: old.seconds, new: new.seconds, unit: .seconds)
      for stage in new.stages {
        guard let earlier = old.stages.first(where: { $0.name == stage.name }) else { continue }
        add(
          "\(new.label): \(stage.name.rawValue)", old: earlier.seconds, new: stage.seconds,
          unit: .seconds)
      }
      add("\(new.label): peak memory", old: old.peakBytes, new: new.peakBytes, unit: .bytes)
    }
    for new in after.network {
      guard let old = before.network.first(where: { $0.label == new.label }) else {
        missing.append("\(new.label): fetch is not in the earlier report")
        continue
      }
      add("\(new.label): fetch", old: old.seconds, new: new.seconds, unit: .seconds)
    }
    // Leaving something out may be meant.
    for name in before.measured where !after.measured.contains(name) {
      remarks.append("only the earlier report has \(name)")
    }
    if let new = after.load { compare(before.load, with: new) }
    if let new = after.subscription { compare(before.subscription, with: new) }
    if after.load != nil || after.subscription != nil, !rows.isEmpty {
      remarks.append(
        "a load is one run: its differences include those between two runs of the same server")
    }
    if rows.isEmpty, missing.isEmpty { missing.append("the reports have no figure in common") }
  }

  private mutating func compare(_ earlier: LoadReport?, with new: LoadReport) {
    guard let old = earlier, old.requests > 0 else {
      return missing.append("the earlier report has no requests")
    }
    if old.model != new.model || old.thinkSeconds != new.thinkSeconds || old.notes != new.notes {
      remarks.append("made with different loads")
    }
    add(
      "requests:", old: old.corrected ?? old.uncorrected, new: new.corrected ?? new.uncorrected)
    rows += [
      Row(
        "requests: rate", before: old.achievedRate, after: new.achievedRate, unit: .perSecond,
        isHigherBetter: true),
      Row("requests: failed", before: old.failedShare, after: new.failedShare, unit: .share),
    ]
  }

  private mutating func compare(_ earlier: SubscriptionReport?, with new: SubscriptionReport) {
    guard let old = earlier else {
      return missing.append("the earlier report has no subscriptions")
    }
    if old.subscriptions != new.subscriptions {
      remarks.append("made with different numbers of subscriptions")
    }
    add("events: delivery", old: old.delivery, new: new.delivery)
    rows += [
      Row(
        "events: per second", before: old.eventsPerSecond, after: new.eventsPerSecond,
        unit: .perSecond, isHigherBetter: true),
      Row(
        "events: lost", before: Double(old.lost ?? old.reconnects),
        after: Double(new.lost ?? new.reconnects), unit: .count),
      Row(
        "events: unopened", before: Double(old.failed ?? 0), after: Double(new.failed ?? 0),
        unit: .count),
    ]
    add("events: delay", old: old.delay, new: new.delay)
  }

  /// Adds the percentiles of one run, if there are any.
  private mutating func add(_ name: String, old: Latencies?, new: Latencies?) {
    guard let old, let new else {
      if old != nil { missing.append("\(name) is not in this report") }
      if new != nil { missing.append("\(name) is not in the earlier report") }
      return
    }
    for percentile in [Budget.Percentile.p50, .p90, .p99] {
      rows.append(
        Row(
          "\(name) \(percentile.rawValue)", before: old.value(percentile),
          after: new.value(percentile), unit: .seconds))
    }
  }

  private mutating func add(_ name: String, old: Spread, new: Spread, unit: Budget.Unit) {
    guard old.median > 0 else { return }
    // A difference counts if it exceeds the tolerance and the two ranges are disjoint.
    let isApart = new.lowest > old.highest || new.highest < old.lowest
    rows.append(
      Row(
        name, before: old.median, after: new.median, unit: unit, isApart: isApart || old.count < 3))
  }

  /// The rows that are worse by more than `percent`.
  package func regressions(above percent: Double) -> [Row] {
    rows.filter { $0.verdict != .same && $0.worsening > percent / 100 }
  }
}

extension Budget.Unit {
  /// - Parameter isMore: Whether the later value is higher.
  fileprivate func verdict(isMore: Bool) -> ReportComparison.Verdict {
    switch self {
    case .seconds: isMore ? .slower : .faster
    case .bytes: isMore ? .larger : .smaller
    case .megabytesPerSecond, .times, .perSecond, .count, .share: isMore ? .higher : .lower
    }
  }
}

extension LoadReport {
  /// The share of the requests that failed.
  fileprivate var failedShare: Double { Double(failures) / Double(max(requests, 1)) }
}

extension ProfileReport {
  /// The names of what was measured.
  fileprivate var measured: [String] {
    jobs.map(\.label) + network.map { "\($0.label): fetch" }
      + (load == nil ? [] : ["requests"]) + (subscription == nil ? [] : ["events"])
  }

  /// Reads a report from its JSON file.
  ///
  /// - Throws: ``ProfileError`` if the file cannot be read or is not a report of this version.
  package static func load(_ path: String) throws(ProfileError) -> ProfileReport {
    let data: Data
    do throws(SystemError) { data = Data(try SystemIO.readFile(path, limit: 64 << 20)) } catch {
      throw ProfileError("cannot read the report \(path): \(error.reason)")
    }
    struct Header: Decodable { var version: Int }
    guard let header = try? JSONDecoder().decode(Header.self, from: data) else {
      throw ProfileError(
        "\(path) is not a profile report; create one with gqlrun profile … --json FILE")
    }
    guard header.version == currentVersion else {
      throw ProfileError(
        "the report \(path) has version \(header.version), and this gqlrun reads version "
          + "\(currentVersion); create it again")
    }
    do { return try JSONDecoder().decode(ProfileReport.self, from: data) } catch {
      throw ProfileError(
        "the report \(path) is damaged; create it again with gqlrun profile … --json FILE")
    }
  }

  /// The report as JSON, with sorted keys.
  package func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self)
  }
}

/// Several measurements of one quantity: the median and the range.
package struct Spread: Codable, Sendable, Hashable {
  package var median: Double
  package var lowest: Double
  package var highest: Double
  package var count: Int

  /// - Parameter values: At least one value; otherwise the result is nil.
  package init?(_ values: [Double]) {
    let sorted = values.filter(\.isFinite).sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    lowest = first
    highest = last
    count = sorted.count
    median = Self.median(ofSorted: sorted)
  }

  /// The median: the middle value, or the mean of the two middle values.
  static func median(ofSorted values: [Double]) -> Double {
    let middle = values.count / 2
    if values.count % 2 == 1 { return values[middle] }
    return (values[middle - 1] + values[middle]) / 2
  }

  static func median(of values: [Double]) -> Double { median(ofSorted: values.sorted()) }
}

/// The ratio of two measurements, with a confidence interval.
///
/// The rounds are interleaved, so the n-th rounds of both ran under the same conditions. The ratios
/// are computed pair by pair, and the value is their median. The interval extends from the k-th
/// smallest to the k-th largest pair, for any distribution; its confidence follows from the sign
/// test (https://en.wikipedia.org/wiki/Sign_test): five pairs give 94 %, eleven without their
/// extremes more than 95 %.
package struct Ratio: Codable, Sendable, Hashable {
  package var value: Double
  package var low: Double
  package var high: Double
  /// The probability that the true ratio is between ``low`` and ``high``.
  package var confidence: Double

  package init?(_ values: [Double], to others: [Double]) {
    let pairs = zip(values, others).filter { $0.1 > 0 }.map { $0.0 / $0.1 }.filter(\.isFinite)
      .sorted()
    guard let lowest = pairs.first, let highest = pairs.last else { return nil }
    value = Spread.median(ofSorted: pairs)
    (low, high, confidence) = (lowest, highest, 1 - 2 * pow(0.5, Double(pairs.count)))
    // Excludes as many extremes on both sides as a confidence of 95 % permits.
    var outside = pow(0.5, Double(pairs.count))
    var tail = outside
    for left in 1..<max(pairs.count / 2, 1) {
      outside *= Double(pairs.count - left + 1) / Double(left)
      tail += outside
      guard 1 - 2 * tail >= 0.95 else { break }
      (low, high, confidence) = (pairs[left], pairs[pairs.count - 1 - left], 1 - 2 * tail)
    }
  }
}

/// Percentiles of many durations, in seconds.
package struct Percentiles: Codable, Sendable, Hashable {
  package var p50: Double
  package var p90: Double
  package var p99: Double
  package var highest: Double
  package var count: Int

  /// - Parameter nanoseconds: At least one value; otherwise the result is nil.
  package init?(nanoseconds: [UInt64]) {
    let sorted = nanoseconds.sorted()
    guard let last = sorted.last else { return nil }
    func at(_ share: Double) -> Double {
      Double(sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]) / 1e9
    }
    p50 = at(0.5)
    p90 = at(0.9)
    p99 = at(0.99)
    highest = Double(last) / 1e9
    count = sorted.count
  }
}
