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

/// The requests of a report, as text for a terminal.
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
    if let sent = load.httpRequests, sent < load.requests, sent > 0 {
      let each = String(format: "%.1f", Double(load.requests) / Double(sent))
      result.append("  HTTP requests: \(sent), with \(each) operations on average")
    } else if let sent = load.httpRequests, sent > load.requests {
      result.append("  HTTP requests: \(sent), with retries")
    }
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

/// The shape of a response, as text for a terminal.
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
        "  \(Quantities.count(shape.identified)) objects with an identity, "
          + "\(about)\(Quantities.count(shape.distinct)) of them different; normalizing saves "
          + "\(Quantities.size(shape.repeatedBytes))")
    }
    result.append("  " + shape.cachePrediction)
    if let middle = shape.middleString {
      let count = shape.strings.reduce(0) { $0 + $1.count }
      let bytes = shape.strings.reduce(0) { $0 + $1.bytes }
      result.append(
        "  \(Quantities.count(count)) strings of \(Quantities.size(bytes)), half of that in strings of "
          + "at least \(Quantities.size(middle))")
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
    var paths = TextTable(header: ["  largest paths", "values", "null", "bytes", "share"])
    for path in shape.paths.filter({ $0.ownBytes > 0 }).sorted(by: { $0.ownBytes > $1.ownBytes })
      .prefix(10)
    {
      paths.add([
        "  " + path.path, Quantities.count(path.count), Quantities.count(path.nulls),
        Quantities.size(path.ownBytes),
        Quantities.percent(Double(path.ownBytes) / Double(max(shape.bytes, 1))),
      ])
    }
    result += paths.lines
    if let largest = shape.largestRecords.first {
      result.append(
        "  largest record: \(largest.key), \(Quantities.size(largest.bytes)), at \(largest.path)")
    }
    return result + shape.advice.map { "  hint: \($0)" }
  }
}

extension ShapeReport {
  /// The predicted effect of a normalized cache on this response.
  var cachePrediction: String {
    guard let hitShare else {
      return
        "cache: no object has an identity (__typename and key fields, see --keys), so it can only "
        + "answer the same operation with the same variables"
    }
    let reusable = Double(identifiedBytes) / Double(max(bytes, 1))
    return
      "cache: \(Quantities.percent(hitShare)) of the objects with an identity are hits; "
      + "\(Quantities.percent(reusable)) of the bytes can also answer other operations"
  }
}

/// The subscriptions of a report, as text for a terminal.
struct SubscriptionText {
  let report: SubscriptionReport

  init(_ report: SubscriptionReport) { self.report = report }

  var lines: [String] {
    var result = [
      "",
      "\(report.events) events of \(report.subscriptions) "
        + "\(report.subscriptions == 1 ? "subscription" : "subscriptions") in "
        + "\(Quantities.time(report.seconds)): \(String(format: "%.1f", report.eventsPerSecond)) per second",
    ]
    var table = TextTable(header: ["", "mean", "p50", "p90", "p99", "p99.9", "highest"])
    for (name, times) in [
      ("  from event to delivery", report.delivery), ("  between events", report.intervals),
    ] {
      guard let times else { continue }
      table.add(
        [name]
          + [times.mean, times.p50, times.p90, times.p99, times.p999, times.highest].map {
            Quantities.time($0)
          })
    }
    if report.delivery != nil { result += table.lines }
    if let jitter = report.jitterSeconds { result.append("  jitter: \(Quantities.time(jitter))") }
    var connections = "  reconnects: \(report.reconnects)"
    if let count = report.connections { connections += "; connections: \(count)" }
    if report.dropped > 0 { connections += "; dropped events: \(report.dropped)" }
    if report.eventsWithErrors > 0 {
      connections += "; events with errors: \(report.eventsWithErrors)"
    }
    result.append(connections)
    if let seconds = report.processorSecondsPerEvent {
      result.append("  processor time of an event: \(Quantities.time(seconds))")
    }
    return result + report.failures.map { "  \($0.count) x \($0.message)" }
  }
}

/// A table of text: the first column aligned left, the others right.
struct TextTable {
  private var rows: [[String]]

  init(header: [String]) { rows = [header] }

  mutating func add(_ row: [String]) { rows.append(row) }

  var lines: [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
      rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
    }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        line += column == 0 ? cell + padding : "  " + padding + cell
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}

/// Formats quantities with units.
enum Quantities {
  static func time(_ seconds: Double) -> String {
    switch seconds {
    case ..<1e-3: String(format: "%.0f µs", seconds * 1e6)
    case ..<1e-2: String(format: "%.2f ms", seconds * 1e3)
    case ..<1: String(format: "%.1f ms", seconds * 1e3)
    default: String(format: "%.2f s", seconds)
    }
  }

  static func size(_ bytes: Double) -> String {
    switch bytes {
    case ..<1024: String(format: "%.0f B", bytes)
    case ..<1_048_576: String(format: "%.1f KiB", bytes / 1024)
    case ..<1_073_741_824: String(format: "%.1f MiB", bytes / 1_048_576)
    default: String(format: "%.2f GiB", bytes / 1_073_741_824)
    }
  }

  static func size(_ bytes: Int) -> String { size(Double(bytes)) }

  static func rate(_ perSecond: Double, _ unit: String) -> String {
    switch perSecond {
    case ..<1e3: String(format: "%.0f %@", perSecond, unit)
    case ..<1e6: String(format: "%.1f k%@", perSecond / 1e3, unit)
    default: String(format: "%.2f M%@", perSecond / 1e6, unit)
    }
  }

  static func percent(_ share: Double) -> String { String(format: "%.1f %%", share * 100) }

  static func ratio(_ ratio: Ratio) -> String {
    String(format: "%.2f x (%.2f to %.2f)", ratio.value, ratio.low, ratio.high)
  }

  static func count(_ number: Int) -> String {
    var digits = String(number)
    var groups: [String] = []
    while digits.count > 3 {
      groups.insert(String(digits.suffix(3)), at: 0)
      digits.removeLast(3)
    }
    return ([digits] + groups).joined(separator: ",")
  }
}
