import Histogram

/// A histogram of latencies with a relative error of one percent, in a few kilobytes.
struct LatencyHistogram: Sendable {
  /// In units of 0.01 ms.
  private var histogram = Histogram<UInt32>(numberOfSignificantValueDigits: .two)

  var count: Int { Int(histogram.totalCount) }
  var mean: Double { count == 0 ? 0 : histogram.mean / 100 }
  /// The highest latency, in milliseconds.
  private(set) var maximum = 0.0

  mutating func add(milliseconds: Double) {
    // Latencies above one day count as one day, except in `maximum`.
    histogram.record(UInt64(min(max(milliseconds, 0), 86_400_000) * 100))
    maximum = max(maximum, milliseconds)
  }

  /// The latency in milliseconds that the given share of samples, from 0 to 1, does not exceed.
  func quantile(_ share: Double) -> Double {
    count == 0 ? 0 : min(Double(histogram.valueAtPercentile(share * 100)) / 100, maximum)
  }

  /// The non-empty buckets: upper bounds in milliseconds, and counts.
  var buckets: [(bound: Double, count: Int)] {
    histogram.recordedValues().map { (Double($0.value) / 100, Int($0.count)) }
  }
}
