import Foundation
import GQLRunSupport

/// A bound for a figure of a profile: `total<=2s`, `peak<=64MiB`, `parse>=300MB/s`, `floor<=3x`.
package struct Budget: Sendable, Hashable {
  package enum Figure: Sendable, Hashable {
    case total
    case peak
    /// The time until the commit, divided by that of bare yajl.
    case floor
    case stage(StageReport.Name)
    /// A percentile of request latencies: `p99<=200ms`.
    case latency(Percentile)
  }

  package enum Percentile: String, Sendable, Hashable, CaseIterable {
    case p50, p90, p99, p999
  }

  package enum Unit: Sendable, Hashable {
    case seconds, bytes, megabytesPerSecond, times
  }

  package var text: String
  package var quantity: Figure
  package var isUpperBound: Bool
  package var limit: Double
  package var unit: Unit

  /// Parses a budget in the form of the command line.
  ///
  /// - Throws: ``ProfileError`` if the text is not a budget.
  package init(_ text: String) throws(ProfileError) {
    self.text = text
    let compact = text.filter { $0 != " " }
    let isUpper = compact.contains("<=")
    let parts = compact.components(separatedBy: isUpper ? "<=" : ">=")
    guard parts.count == 2, let quantity = Self.quantity(parts[0]) else {
      throw Self.unreadable(text)
    }
    self.quantity = quantity
    isUpperBound = isUpper
    guard let (limit, unit) = Self.amount(parts[1]) else { throw Self.unreadable(text) }
    self.limit = limit
    self.unit = unit
    guard fits else {
      throw ProfileError(
        "the budget \(text) compares \(parts[0]) with the wrong unit; write for example "
          + (quantity == .peak
            ? "peak<=64MiB" : quantity == .floor ? "floor<=3x" : "\(parts[0])<=500ms"))
    }
  }

  private var fits: Bool {
    switch (quantity, unit) {
    case (.peak, .bytes), (.floor, .times), (.total, .seconds), (.latency, .seconds),
      (.stage, .seconds), (.stage, .megabytesPerSecond), (.total, .megabytesPerSecond):
      true
    default: false
    }
  }

  private static func quantity(_ text: String) -> Figure? {
    switch text {
    case "total": return .total
    case "peak": return .peak
    case "floor": return .floor
    default:
      if let percentile = Percentile(rawValue: text) { return .latency(percentile) }
      return StageReport.Name.allCases
        .first { $0.rawValue.replacingOccurrences(of: " ", with: "-") == text }.map { .stage($0) }
    }
  }

  private static func amount(_ text: String) -> (Double, Unit)? {
    let units: [(String, Double, Unit)] = [
      ("MB/s", 1, .megabytesPerSecond), ("GiB", 1_073_741_824, .bytes), ("MiB", 1_048_576, .bytes),
      ("KiB", 1024, .bytes), ("GB", 1e9, .bytes), ("MB", 1e6, .bytes), ("kB", 1e3, .bytes),
      ("us", 1e-6, .seconds), ("ms", 1e-3, .seconds),
      ("s", 1, .seconds), ("x", 1, .times),
    ]
    for (suffix, factor, unit) in units where text.hasSuffix(suffix) {
      guard let number = Double(text.dropLast(suffix.count)), number >= 0, number.isFinite else {
        return nil
      }
      return (number * factor, unit)
    }
    return nil
  }

  private static func unreadable(_ text: String) -> ProfileError {
    let stages = StageReport.Name.allCases
      .map { $0.rawValue.replacingOccurrences(of: " ", with: "-") }.joined(separator: ", ")
    return ProfileError(
      "cannot read the budget \(text); write a quantity, <= or >=, and an amount with its unit: "
        + "total<=2s, peak<=64MiB, floor<=3x, parse>=300MB/s, p99<=200ms; the stages are \(stages)")
  }

  /// The violations of the budget, one line per job, or why it cannot be checked.
  package func violations(in report: ProfileReport) -> [String] {
    if case .latency(let percentile) = quantity {
      if let events = report.subscription {
        guard let delivery = events.delivery else {
          return ["\(text) cannot be checked: no event arrived"]
        }
        return violation(delivery.value(percentile)).map { ["events: \($0)"] } ?? []
      }
      guard let load = report.load else {
        return ["\(text) cannot be checked: no requests were measured (--rate or --concurrency)"]
      }
      return violation((load.corrected ?? load.uncorrected).value(percentile))
        .map { ["requests: \($0)"] } ?? []
    }
    guard !report.jobs.isEmpty else {
      return ["\(text) cannot be checked: no response was measured"]
    }
    return report.jobs.compactMap { job in
      guard let value = value(of: job, bytes: report.workload.bytes) else {
        return "\(job.label): \(text) cannot be checked: the report has no such figure"
      }
      return violation(value).map { "\(job.label): \($0)" }
    }
  }

  private func value(of job: JobReport, bytes: Int) -> Double? {
    switch quantity {
    case .total:
      unit == .seconds ? job.seconds.median : Double(bytes) / 1e6 / job.seconds.median
    case .peak: job.peakBytes.highest
    case .floor: job.toFloor?.value
    case .stage(let name):
      job.stages.first { $0.name == name }.flatMap {
        unit == .seconds ? $0.seconds.median : $0.megabytesPerSecond
      }
    case .latency: nil
    }
  }

  private func violation(_ value: Double) -> String? {
    guard isUpperBound ? value > limit : value < limit else { return nil }
    return "\(text) is not met: \(Self.shown(value, unit))"
  }

  private static func shown(_ value: Double, _ unit: Unit) -> String {
    switch unit {
    case .seconds: Quantity.time(value)
    case .bytes: Quantity.size(value)
    case .megabytesPerSecond: Quantity.rate(value)
    case .times: String(format: "%.2f x", value)
    }
  }
}

extension Latencies {
  func value(_ percentile: Budget.Percentile) -> Double {
    switch percentile {
    case .p50: p50
    case .p90: p90
    case .p99: p99
    case .p999: p999
    }
  }
}
