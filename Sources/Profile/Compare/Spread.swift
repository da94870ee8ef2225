/// Several measurements of one thing: the median and how far they lie apart.
package struct Spread: Codable, Sendable, Hashable {
  package var median: Double
  package var lowest: Double
  package var highest: Double
  package var count: Int

  /// - Parameter values: At least one.
  package init?(_ values: [Double]) {
    let sorted = values.filter(\.isFinite).sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    lowest = first
    highest = last
    count = sorted.count
    median = Self.median(ofSorted: sorted)
  }

  /// The middle value, or the mean of the two in the middle.
  static func median(ofSorted values: [Double]) -> Double {
    let middle = values.count / 2
    if values.count % 2 == 1 { return values[middle] }
    return (values[middle - 1] + values[middle]) / 2
  }

  static func median(of values: [Double]) -> Double { median(ofSorted: values.sorted()) }
}

/// How many times larger one measurement is than another, with the range that holds the true ratio in 95 of 100 cases.
///
/// The runs are interleaved, so that the n-th of one and the n-th of the other met the same machine: their
/// ratios are taken pair by pair, and the range is a bootstrap of the median of those pairs
/// (https://doi.org/10.1214/aos/1176344552). With fewer than five pairs it is the lowest and highest pair.
package struct Ratio: Codable, Sendable, Hashable {
  package var value: Double
  package var low: Double
  package var high: Double

  package init?(_ values: [Double], to others: [Double]) {
    let pairs = zip(values, others).filter { $0.1 > 0 }.map { $0.0 / $0.1 }
    guard let spread = Spread(pairs) else { return nil }
    value = spread.median
    guard pairs.count >= 5 else {
      low = spread.lowest
      high = spread.highest
      return
    }
    var generator = SplitMix(state: 0x5EED)
    let medians = (0..<1000).map { _ in
      Spread.median(
        of: pairs.indices.map { _ in pairs[Int(generator.next() % UInt64(pairs.count))] })
    }.sorted()
    low = medians[25]
    high = medians[974]
  }
}

/// Pseudo-random numbers that are the same in every run, so that a report does not change when it is
/// made again from the same measurements.
private struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// Percentiles of many times, in seconds.
package struct Percentiles: Codable, Sendable, Hashable {
  package var p50: Double
  package var p90: Double
  package var p99: Double
  package var highest: Double
  package var count: Int

  /// - Parameter nanoseconds: At least one.
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
