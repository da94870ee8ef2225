import Foundation

extension ProfileReport {
  /// The report as text for a terminal. Names from the response are not escaped.
  package var text: String {
    var lines: [String] = []
    lines.append(
      "\(workload.operation), \(workload.source)"
        + (workload.bytes > 0 ? ", \(Quantities.size(workload.bytes))" : ""))
    lines.append(
      "\(machine.processor), \(machine.cores) cores"
        + (repeats.isEmpty ? "" : "; \(repeats)"))
    for report in network { lines += networkLines(report) }
    for job in jobs { lines += jobLines(job) }
    lines += baselineLines
    if let load { lines += LoadText(load).lines }
    if let subscription { lines += SubscriptionText(subscription).lines }
    if let shape { lines += ShapeText(shape).lines }
    if !remarks.isEmpty { lines += [""] + remarks.map { "note: \($0)" } }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The lowest confidence of the ratios; `nil` if there are none.
  private var confidence: Double? {
    (jobs.compactMap(\.toFloor) + network.compactMap(\.toFirst)).map(\.confidence).min()
      .flatMap { $0 > 0 ? $0 : nil }
  }

  /// How often each figure was measured.
  var repeats: String {
    guard load == nil, subscription == nil else { return "" }
    return (runs == 1 ? "1 run" : "medians of \(runs) runs")
      + (warmUps > 0 ? " after \(warmUps) warm-up \(warmUps == 1 ? "run" : "runs")" : "")
      + (confidence.map { "; confidence of ratio ranges \(Int(($0 * 100).rounded(.down))) %" } ?? "")
  }

  private func networkLines(_ report: NetworkReport) -> [String] {
    var table = TextTable(header: ["", "time", "share"])
    for (phase, spread) in report.phases {
      table.add([
        "  " + phase.rawValue, Quantities.time(spread.median),
        Quantities.percent(spread.median / report.seconds.median),
      ])
    }
    var title =
      "fetched through \(report.label): \(Quantities.time(report.seconds.median)), "
      + "\(Quantities.size(report.bytes)), "
      + String(format: "%.1f MB/s", report.megabytesPerSecond)
    if let wire = report.wireBytes {
      title +=
        " (on the wire \(Quantities.size(wire)), "
        + String(format: "%.1f MB/s)", report.wireMegabytesPerSecond ?? 0)
    }
    if let ratio = report.toFirst, network.count > 1, report.label != network[0].label {
      title += ", \(Quantities.ratio(ratio)) \(network[0].label)"
    }
    let parts = (report.parts ?? []).map { "\($0.name) after \(Quantities.time($0.seconds))" }
    return ["", title] + table.lines + ["  \(report.bottleneck)"]
      + (parts.isEmpty ? [] : ["  parts: " + parts.joined(separator: ", ")])
  }

  private func jobLines(_ job: JobReport) -> [String] {
    var table = TextTable(header: [
      "", "time", "cpu", "wait", "share", "MB/s", "events/s", "records/s", "per 256 KiB p50", "p99",
    ])
    for stage in job.stages {
      table.add([
        "  " + stage.name.rawValue, Quantities.time(stage.seconds.median),
        stage.cpuSeconds > 0 ? Quantities.time(stage.cpuSeconds) : "",
        stage.waitSeconds > 0 ? Quantities.time(stage.waitSeconds) : "",
        Quantities.percent(stage.share),
        stage.megabytesPerSecond.map { String(format: "%.0f", $0) } ?? "",
        stage.eventsPerSecond.map { Quantities.rate($0, "") } ?? "",
        stage.recordsPerSecond.map { Quantities.rate($0, "") } ?? "",
        stage.perPiece.map { Quantities.time($0.p50) } ?? "",
        stage.perPiece.map { Quantities.time($0.p99) } ?? "",
      ])
    }
    var result = ["", "store \(job.label)"] + table.lines
    result.append(
      "  total \(Quantities.time(job.seconds.median)) "
        + "(\(Quantities.time(job.seconds.lowest)) to \(Quantities.time(job.seconds.highest))), "
        + "cpu \(Quantities.time(job.cpuSeconds.median)), "
        + "peak memory \(Quantities.size(job.peakBytes.median))"
        + (job.allocations.map { ", \(Quantities.count(Int($0.median))) allocations" } ?? "")
        + ", \(Quantities.count(Int(job.pageFaults.median))) page faults"
        + (job.counts.fileBytes.map { ", file \(Quantities.size($0))" } ?? ""))
    if let first = job.firstRecordSeconds {
      result.append("  first record after \(Quantities.time(first.median))")
    }
    if let ratio = job.toFloor {
      result.append("  up to the commit: \(Quantities.ratio(ratio)) bare yajl")
    }
    if let ratio = job.toFirst, job.label != jobs[0].label {
      result.append("  total: \(Quantities.ratio(ratio)) store \(jobs[0].label)")
    }
    result.append("  bottleneck: \(job.bottleneck)")
    result.append(
      "  the profiler's own work took \(String(format: "%.2f %%", job.timerShare * 100)) of the time"
    )
    return result
  }

  private var baselineLines: [String] {
    guard !baselines.isEmpty else { return [] }
    var table = TextTable(header: [
      "baselines, the same bytes", "time", "MB/s", "peak", "allocations", "to yajl",
    ])
    for baseline in baselines {
      table.add([
        "  " + baseline.label, Quantities.time(baseline.seconds.median),
        String(format: "%.0f", baseline.megabytesPerSecond),
        Quantities.size(baseline.peakBytes.median),
        baseline.allocations.map { Quantities.count(Int($0.median)) } ?? "",
        baseline.toFloor.map { Quantities.ratio($0) } ?? "",
      ])
    }
    return [""] + table.lines
  }
}

extension ReportComparison {
  /// The comparison as text for a terminal.
  package func text(title: String) -> String {
    var table = TextTable(header: ["against \(title)", "before", "after", "ratio", "verdict"])
    for row in rows {
      let shown: (Double) -> String = { value in
        row.unit == .seconds ? Quantities.time(value) : Quantities.size(value)
      }
      table.add([
        "  " + row.name, shown(row.before), shown(row.after),
        String(format: "%.2f x", row.ratio), row.verdict.rawValue,
      ])
    }
    return (table.lines + remarks.map { "note: \($0)" }).joined(separator: "\n") + "\n"
  }
}
