/// How often which latency occurred, within one percent, in a few kilobytes.
///
/// Buckets grow by powers of two with 64 steps in each, as in HdrHistogram.
/// http://hdrhistogram.org
struct LatencyHistogram: Sendable {
  /// Counts by bucket; the unit is a hundredth of a millisecond.
  private var counts = [Int](repeating: 0, count: 64 * 32)
  private(set) var count = 0
  private(set) var maximum = 0.0
  private var sum = 0.0

  mutating func add(milliseconds: Double) {
    let value = min(max(Int(milliseconds * 100), 0), 1 << 36)
    counts[Self.bucket(value)] += 1
    count += 1
    sum += milliseconds
    maximum = max(maximum, milliseconds)
  }

  /// In milliseconds; `share` from 0 to 1.
  func quantile(_ share: Double) -> Double {
    guard count > 0 else { return 0 }
    let rank = max(1, Int((Double(count) * share).rounded(.up)))
    var seen = 0
    for (bucket, number) in counts.enumerated() where number > 0 {
      seen += number
      if seen >= rank { return min(Double(Self.upperBound(bucket)) / 100, maximum) }
    }
    return maximum
  }

  var mean: Double { count == 0 ? 0 : sum / Double(count) }

  /// The occupied buckets, as upper bounds in milliseconds and counts.
  var buckets: [(bound: Double, count: Int)] {
    counts.enumerated().filter { $0.element > 0 }
      .map { (Double(Self.upperBound($0.offset)) / 100, $0.element) }
  }

  private static func bucket(_ value: Int) -> Int {
    guard value >= 64 else { return value }
    let exponent = (Int.bitWidth - 1 - value.leadingZeroBitCount) - 6
    return min(64 * (exponent + 1) + (value >> exponent) - 64, 64 * 32 - 1)
  }

  private static func upperBound(_ bucket: Int) -> Int {
    guard bucket >= 64 else { return bucket + 1 }
    let exponent = bucket / 64 - 1
    return (bucket % 64 + 64 + 1) << exponent
  }
}
