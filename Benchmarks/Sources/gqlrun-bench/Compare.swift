import Foundation

/// Two result files side by side: what got faster, what slower, what is within the spread.
struct Compare {
  private let before: Results
  private let after: Results

  init(_ before: Results, _ after: Results) {
    self.before = before
    self.after = after
  }

  /// A difference below this is never called one, however small the spread is.
  private static let tolerance = 0.02

  func print() throws {
    Swift.print("A: \(before.commit) \(before.date), \(before.rounds) rounds, \(before.machine)")
    Swift.print("B: \(after.commit) \(after.date), \(after.rounds) rounds, \(after.machine)")
    var count = 0
    for old in before.workloads {
      guard let new = after.workloads.first(where: { $0.name == old.name }) else {
        Swift.print("\n\(old.name): only in A")
        continue
      }
      Swift.print("\n\(old.name)")
      for row in old.rows {
        guard let other = new.rows.first(where: { $0.id == row.id }) else {
          Swift.print("  \(row.title.padded(44)) only in A")
          continue
        }
        count += 1
        line(row, other)
      }
      for row in new.rows where !old.rows.contains(where: { $0.id == row.id }) {
        Swift.print("  \(row.title.padded(44)) only in B")
      }
    }
    for new in after.workloads where !before.workloads.contains(where: { $0.name == new.name }) {
      Swift.print("\n\(new.name): only in B")
    }
    guard count > 0 else { throw BenchError("the two files have no row in common") }
  }

  private func line(_ old: RowResult, _ new: RowResult) {
    if let a = old.latency, let b = new.latency {
      show(old.title, a.operationsPerSecond, b.operationsPerSecond, "ops/s", isTime: false)
      show("  p99", a.p99, b.p99, "µs", isTime: true)
    } else if let a = old.ratio, let b = new.ratio {
      show(old.title, a, b, "x", isTime: true)
    }
    let growth = new.peakMiB.median / old.peakMiB.median
    if new.peakMiB.low > old.peakMiB.high && growth > 1.1 {
      Swift.print(
        "  \("  peak memory".padded(44)) \(old.peakMiB.median.text(1)) -> "
          + "\(new.peakMiB.median.text(1)) MiB  MORE")
    }
    if let a = old.allocations, let b = new.allocations, Double(b) > Double(a) * 1.1 + 10 {
      Swift.print("  \("  allocations".padded(44)) \(a) -> \(b)  MORE")
    }
  }

  private func show(_ title: String, _ a: Spread, _ b: Spread, _ unit: String, isTime: Bool) {
    let change = b.median / a.median - 1
    let isApart = b.low > a.high || b.high < a.low
    let isWorse = isTime ? change > 0 : change < 0
    let verdict =
      !isApart || abs(change) < Self.tolerance ? "same" : isWorse ? "SLOWER" : "faster"
    let digits = unit == "x" ? 2 : 0
    Swift.print(
      "  \(title.padded(44)) \(a.median.text(digits)) -> \(b.median.text(digits)) \(unit)  "
        + "\(change < 0 ? "" : "+")\((change * 100).text(1)) %  \(verdict)")
  }
}

extension String {
  func padded(_ width: Int) -> String {
    count >= width ? self : self + String(repeating: " ", count: width - count)
  }

  func leftPadded(_ width: Int) -> String {
    count >= width ? self : String(repeating: " ", count: width - count) + self
  }
}

extension Double {
  func text(_ digits: Int) -> String { String(format: "%.\(digits)f", self) }
}
