/// Prints the figures of one workload.
struct Table {
  private let result: WorkloadResult

  init(_ result: WorkloadResult) { self.result = result }

  func print() {
    let megabytes = Double(result.bytes) / 1e6
    if result.rows.contains(where: { $0.latency != nil }) {
      printLatencies()
      return
    }
    Swift.print(
      "\n\(result.name): \(megabytes.text(1)) MB; json_verify "
        + "\((result.verify.median * 1e3).text(0)) ms "
        + "(\((megabytes / result.verify.median).text(0)) MB/s)")
    Swift.print(
      "  " + "".padded(42) + "x verify" + "spread".leftPadded(14) + "goal".leftPadded(6)
        + "x yajl".leftPadded(8) + "cpu".leftPadded(7) + "ms".leftPadded(9)
        + "peak MiB".leftPadded(10) + "goal".leftPadded(5) + "allocations".leftPadded(13))
    for row in result.rows { line(row) }
  }

  private func line(_ row: RowResult) {
    guard let ratio = row.ratio, let seconds = row.seconds else { return }
    func text(_ value: Double?, _ digits: Int) -> String { value.map { $0.text(digits) } ?? "" }
    var missed: [String] = []
    if let goal = row.goals.ratio, ratio.median > goal { missed.append("time") }
    if let goal = row.goals.peakMiB, row.peakMiB.median > goal { missed.append("memory") }
    if let goal = row.goals.allocations, row.allocations ?? 0 >= goal {
      missed.append("allocations")
    }
    Swift.print(
      "  " + row.title.padded(42) + ratio.median.text(2).leftPadded(8)
        + "\(ratio.low.text(2))…\(ratio.high.text(2))".leftPadded(14)
        + text(row.goals.ratio, 1).leftPadded(6) + text(row.yajlRatio?.median, 2).leftPadded(8)
        + text(row.cpuRatio?.median, 2).leftPadded(7)
        + (seconds.median * 1e3).text(0).leftPadded(9) + row.peakMiB.median.text(1).leftPadded(10)
        + text(row.goals.peakMiB, 0).leftPadded(5)
        + (row.allocations.map(String.init) ?? "").leftPadded(13)
        + (missed.isEmpty ? "" : "  misses: \(missed.joined(separator: ", "))"))
  }

  private func printLatencies() {
    Swift.print(
      "\n\(result.name): 20 objects a response, one after the other unless several tasks write; times in µs"
    )
    Swift.print(
      "  " + "".padded(42) + "ops/s".leftPadded(8) + "p50".leftPadded(9) + "p90".leftPadded(9)
        + "p99".leftPadded(9) + "p99.9".leftPadded(9) + "cpu".leftPadded(9)
        + "peak MiB".leftPadded(10)
        + "allocations".leftPadded(13))
    for row in result.rows {
      guard let latency = row.latency else { continue }
      let times = [latency.p50, latency.p90, latency.p99, latency.p999]
      Swift.print(
        "  " + row.title.padded(42) + latency.operationsPerSecond.median.text(0).leftPadded(8)
          + times.map { $0.median.text(1).leftPadded(9) }.joined()
          + (latency.cpu?.median.text(1) ?? "").leftPadded(9)
          + row.peakMiB.median.text(1).leftPadded(10)
          + (row.allocations.map(String.init) ?? "").leftPadded(13))
    }
  }
}
