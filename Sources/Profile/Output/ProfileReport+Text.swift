import Foundation

extension ProfileReport {
  /// The report for a terminal. Names from the response are not escaped.
  package var text: String {
    var lines: [String] = []
    lines.append(
      "\(workload.operation), \(workload.source)"
        + (workload.bytes > 0 ? ", \(Quantities.size(workload.bytes))" : ""))
    lines.append(
      "\(machine.processor), \(machine.cores) cores; \(repeats)")
    for report in network { lines += networkLines(report) }
    for job in jobs { lines += jobLines(job) }
    lines += baselineLines
    if let load { lines += LoadText(load).lines }
    if let shape { lines += ShapeText(shape).lines }
    if !remarks.isEmpty { lines += [""] + remarks.map { "note: \($0)" } }
    return lines.joined(separator: "\n") + "\n"
  }

  /// How sure the ranges of ratios are; `nil` where there is none to speak of.
  private var confidence: Double? {
    (jobs.compactMap(\.toFloor) + network.compactMap(\.toFirst)).map(\.confidence).min()
      .flatMap { $0 > 0 ? $0 : nil }
  }

  /// How often everything was measured, in words.
  var repeats: String {
    (runs == 1 ? "1 run" : "medians of \(runs) runs")
      + (warmUps > 0 ? " after \(warmUps) to warm up" : "")
      + (confidence.map { "; ranges of ratios hold with \(Int(($0 * 100).rounded(.down))) %" } ?? "")
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
    return ["", title] + table.lines + ["  \(report.bottleneck)"]
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

/// The requests of a report, for a terminal.
struct LoadText {
  let load: LoadReport

  init(_ load: LoadReport) { self.load = load }

  var lines: [String] {
    var result = [""]
    switch load.model {
    case .open(let rate, let inFlight):
      result.append(
        "\(load.requests) requests at \(String(format: "%g", rate)) per second "
          + "(at most \(inFlight) at a time): \(String(format: "%.1f", load.achievedRate)) per second "
          + "achieved, \(load.failures) failed")
    case .closed(let concurrency):
      result.append(
        "\(load.requests) requests, \(concurrency) at a time: "
          + "\(String(format: "%.1f", load.achievedRate)) per second, \(load.failures) failed")
    }
    var table = TextTable(header: ["", "mean", "p50", "p90", "p99", "p99.9", "highest"])
    if let corrected = load.corrected {
      table.add(row("  from the intended start (corrected)", corrected))
      table.add(row("  from the actual start (uncorrected)", load.uncorrected))
    } else {
      table.add(row("  from the actual start (uncorrected)", load.uncorrected))
    }
    for phase in load.phases { table.add(row("  · \(phase.name.rawValue)", phase.latencies)) }
    result += table.lines
    if let connections = load.connections {
      let waited = load.phases.first { $0.name == .connect }?.latencies.count ?? 0
      result.append(
        connections == 0
          ? "  every request found an open connection"
          : "  new connections: \(connections); requests that waited for one: \(waited)")
    }
    result += load.errors.map { "  \($0.count) x \($0.message)" }
    result += load.warnings.map { "  warning: \($0)" }
    return result
  }

  private func row(_ name: String, _ times: Latencies) -> [String] {
    [name]
      + [times.mean, times.p50, times.p90, times.p99, times.p999, times.highest].map {
        Quantities.time($0)
      }
  }
}

/// The shape of a report's response, for a terminal.
struct ShapeText {
  let shape: ShapeReport

  init(_ shape: ShapeReport) { self.shape = shape }

  var lines: [String] {
    var result = [
      "",
      "shape: \(Quantities.count(shape.objects)) objects, \(Quantities.count(shape.values)) values "
        + "(\(Quantities.count(shape.nulls)) null), depth \(shape.depth)",
    ]
    if shape.identified > 0 {
      let about = shape.isEstimated ? "about " : ""
      result.append(
        "  \(Quantities.count(shape.identified)) objects with an identity are "
          + "\(about)\(Quantities.count(shape.distinct)) different ones; normalizing stores "
          + "\(Quantities.size(shape.repeatedBytes)) less")
    }
    result.append("  " + shape.cachePrediction)
    if let middle = shape.middleString {
      let count = shape.strings.reduce(0) { $0 + $1.count }
      let bytes = shape.strings.reduce(0) { $0 + $1.bytes }
      result.append(
        "  \(Quantities.count(count)) strings of \(Quantities.size(bytes)); half of that in strings of "
          + "\(Quantities.size(middle)) and more")
    }
    var types = TextTable(header: ["  type", "objects", "different", "hits", "bytes", "share"])
    for type in shape.types.prefix(12) {
      types.add([
        "  " + type.name, Quantities.count(type.objects),
        type.distinct.map { Quantities.count($0) } ?? "",
        type.hitShare.map { Quantities.percent($0) } ?? "", Quantities.size(type.bytes),
        Quantities.percent(Double(type.bytes) / Double(max(shape.bytes, 1))),
      ])
    }
    if !shape.types.isEmpty { result += types.lines }
    var places = TextTable(header: ["  where the bytes are", "values", "null", "bytes", "share"])
    for path in shape.paths.filter({ $0.ownBytes > 0 }).sorted(by: { $0.ownBytes > $1.ownBytes })
      .prefix(10)
    {
      places.add([
        "  " + path.path, Quantities.count(path.count), Quantities.count(path.nulls),
        Quantities.size(path.ownBytes),
        Quantities.percent(Double(path.ownBytes) / Double(max(shape.bytes, 1))),
      ])
    }
    result += places.lines
    if let largest = shape.largestRecords.first {
      result.append(
        "  largest record: \(largest.key), \(Quantities.size(largest.bytes)), at \(largest.path)")
    }
    return result + shape.advice.map { "  hint: \($0)" }
  }
}

extension ShapeReport {
  /// What a normalized cache will do for this response, in words.
  var cachePrediction: String {
    guard let hitShare else {
      return
        "cache: no object has an identity (__typename and key fields, see --keys): only the same "
        + "operation with the same variables is answered from it"
    }
    let reusable = Double(identifiedBytes) / Double(max(bytes, 1))
    return
      "cache: \(Quantities.percent(hitShare)) of the objects with an identity are hits, there already "
      + "when they come; \(Quantities.percent(reusable)) of the bytes can answer other operations, too"
  }
}

extension ReportComparison {
  /// The comparison for a terminal.
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
