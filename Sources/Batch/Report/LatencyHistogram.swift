import Histogram

/// How often which latency occurred, within one percent, in a few kilobytes.
struct LatencyHistogram: Sendable {
  /// In hundredths of a millisecond.
  private var histogram = Histogram<UInt32>(numberOfSignificantValueDigits: .two)

  var count: Int { Int(histogram.totalCount) }
  var mean: Double { count == 0 ? 0 : histogram.mean / 100 }
  /// In milliseconds.
  private(set) var maximum = 0.0

  mutating func add(milliseconds: Double) {
    // A day: what is longer is told as that, but for the maximum.
    histogram.record(UInt64(min(max(milliseconds, 0), 86_400_000) * 100))
    maximum = max(maximum, milliseconds)
  }

  /// In milliseconds; `share` from 0 to 1.
  func quantile(_ share: Double) -> Double {
    count == 0 ? 0 : min(Double(histogram.valueAtPercentile(share * 100)) / 100, maximum)
  }

  /// The occupied buckets, as upper bounds in milliseconds and counts.
  var buckets: [(bound: Double, count: Int)] {
    histogram.recordedValues().map { (Double($0.value) / 100, Int($0.count)) }
  }
}
