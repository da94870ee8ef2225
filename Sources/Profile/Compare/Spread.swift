import Foundation

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
