import Foundation
import GQLRunReport
import GQLRunSupport

extension ProfileReport {
  /// The report as text for a terminal. Names from the response are not escaped.
  package var text: String { presented.text }

  /// The report as one self-contained page with the JSON report in it.
  ///
  /// - Throws: As ``json()``.
  package var html: String {
    get throws {
      var report = presented
      report.json = String(decoding: try json(), as: UTF8.self)
      return report.html
    }
  }

  private var presented: Report {
    let date = Date(timeIntervalSince1970: madeAt).formatted(.iso8601)
    var report = Report(
      title: "Profile of \(workload.operation)",
      heading: "\(workload.operation), \(workload.source)"
        + (workload.bytes > 0 ? ", \(Quantity.size(workload.bytes))" : ""),
      subtitle: "\(machine.processor), \(machine.cores) cores"
        + (repeats.isEmpty ? "" : "; \(repeats)"))
    report.sections =
      fetches + stages + baselineTable
      + [load?.section, subscription?.section, shape?.section].compactMap { $0 } + budgetTable
    report.hasPassed = budgets.map { $0.allSatisfy(\.isMet) }
    report.notes = remarks
    report.footer =
      "\(program), report version \(version), \(date); \(machine.system), "
      + Quantity.size(machine.memoryBytes)
    return report
  }

  private var budgetTable: [Report.Section] {
    guard let budgets, !budgets.isEmpty else { return [] }
    let rows = budgets.map { budget in
      [
        budget.budget, budget.subject ?? "", budget.found ?? "",
        budget.isMet ? "met" : budget.problem ?? "not met",
      ]
    }
    let table = Report.Table(
      [.text(""), .text("of"), "found", Report.Table.Column("verdict", .prose)], rows: rows)
    return [Report.Section("budgets", [.table(table)])]
  }

  /// The lowest confidence of the ratios; `nil` if there are none.
  private var confidence: Double? {
    (jobs.compactMap(\.toFloor) + network.compactMap(\.toFirst)).map(\.confidence).min()
      .flatMap { $0 > 0 ? $0 : nil }
  }

  /// How often each figure was measured.
  private var repeats: String {
    guard load == nil, subscription == nil else { return "" }
    return (runs == 1 ? "1 run" : "medians of \(runs) runs")
      + (warmUps > 0 ? " after \(Quantity.count(warmUps, "warm-up run"))" : "")
      + (confidence.map { "; confidence of ratio ranges \(Int(($0 * 100).rounded(.down))) %" } ?? "")
  }

  // MARK: Fetching

  private var fetches: [Report.Section] {
    guard !network.isEmpty else { return [] }
    let bars = network.map { fetch in
      (
        "\(fetch.label): \(Quantity.time(fetch.seconds.median))",
        fetch.phases.map { ($0.phase.rawValue, $0.time.median, $0.phase.color) }
      )
    }
    let chart = Chart.stackedBars("Time per phase", bars) { Quantity.time($0) }
    return [Report.Section("Fetching", [.chart(chart)])] + network.map { section(of: $0) }
  }

  private func section(of fetch: NetworkReport) -> Report.Section {
    let rows = fetch.phases.map { phase, spread in
      [
        phase.rawValue, Quantity.time(spread.median),
        Quantity.percent(spread.median / fetch.seconds.median),
      ]
    }
    var title =
      "fetched through \(fetch.label): \(Quantity.time(fetch.seconds.median)), "
      + "\(Quantity.size(fetch.bytes)), \(Quantity.rate(fetch.megabytesPerSecond))"
    if let wire = fetch.wireBytes {
      let rate = Quantity.rate(fetch.wireMegabytesPerSecond ?? 0)
      title += " (on the wire \(Quantity.size(wire)), \(rate))"
    }
    if let ratio = fetch.toFirst, network.count > 1, fetch.label != network[0].label {
      title += ", \(ratio.text) \(network[0].label)"
    }
    var blocks: [Report.Block] = [
      .table(Report.Table([.text(""), "time", "share"], rows: rows)),
      .line(fetch.bottleneck, .warning),
    ]
    let parts = (fetch.parts ?? []).map { "\($0.name) after \(Quantity.time($0.seconds))" }
    if !parts.isEmpty { blocks.append(.line("parts: " + parts.joined(separator: ", "))) }
    return Report.Section(title, blocks)
  }

  // MARK: Stages

  private var stages: [Report.Section] {
    guard !jobs.isEmpty else { return [] }
    let bars = jobs.map { job in
      (
        "\(job.label): \(Quantity.time(job.seconds.median))",
        job.stages.map { ($0.name.rawValue, $0.seconds.median, $0.name.color) }
      )
    }
    // The lower bounds: other parsers, for the same bytes.
    let floors = baselines.map { baseline in
      (
        "\(baseline.label): \(Quantity.time(baseline.seconds.median))",
        [(StageReport.Name.parse.rawValue, baseline.seconds.median, StageReport.Name.parse.color)]
      )
    }
    let rates = jobs.flatMap { job in
      job.stages.compactMap { stage -> Chart.Value? in
        guard let rate = stage.megabytesPerSecond, stage.share > 0.001 else { return nil }
        let name = jobs.count > 1 ? "\(job.label): \(stage.name.rawValue)" : stage.name.rawValue
        return (name, rate, stage.name.color)
      }
    }
    let time = Chart.stackedBars("Time per stage", bars + floors) { Quantity.time($0) }
    let throughput = Chart.bars("Throughput", rates) { Quantity.rate($0, decimals: 0) }
    var sections =
      [Report.Section("Where the time goes", [.chart(time)])] + jobs.map { section(of: $0) }
      + [Report.Section("Throughput of each stage, alone", [.chart(throughput)])]
    if jobs.contains(where: { $0.memory.count > 1 }) {
      sections.append(Report.Section("Memory over the response", [.chart(memoryChart)]))
    }
    return sections
  }

  private func section(of job: JobReport) -> Report.Section {
    let rows = job.stages.map { stage in
      [
        stage.name.rawValue, Quantity.time(stage.seconds.median),
        stage.cpuSeconds > 0 ? Quantity.time(stage.cpuSeconds) : "",
        stage.waitSeconds > 0 ? Quantity.time(stage.waitSeconds) : "",
        Quantity.percent(stage.share),
        stage.megabytesPerSecond.map { String(format: "%.0f", $0) } ?? "",
        stage.eventsPerSecond.map(Self.perSecond) ?? "",
        stage.recordsPerSecond.map(Self.perSecond) ?? "",
        stage.perPiece.map { Quantity.time($0.p50) } ?? "",
        stage.perPiece.map { Quantity.time($0.p99) } ?? "",
      ]
    }
    let columns: [Report.Table.Column] = [
      .text(""), "time", "cpu", "wait", "share", "MB/s", "events/s", "records/s",
      "per 256 KiB p50", "p99",
    ]
    var lines = [
      "total \(Quantity.time(job.seconds.median)) "
        + "(\(Quantity.time(job.seconds.lowest)) to \(Quantity.time(job.seconds.highest))), "
        + "cpu \(Quantity.time(job.cpuSeconds.median)), "
        + "peak memory \(Quantity.size(job.peakBytes.median))"
        + (job.allocations.map { ", \(Quantity.count(Int($0.median))) allocations" } ?? "")
        + ", \(Quantity.count(Int(job.pageFaults.median))) page faults"
        + (job.counts.fileBytes.map { ", file \(Quantity.size($0))" } ?? "")
    ]
    if let first = job.firstRecordSeconds {
      lines.append("first record after \(Quantity.time(first.median))")
    }
    if let ratio = job.toFloor { lines.append("up to the commit: \(ratio.text) bare yajl") }
    if let ratio = job.toFirst, job.label != jobs[0].label {
      lines.append("total: \(ratio.text) store \(jobs[0].label)")
    }
    let own = String(format: "%.2f %%", job.timerShare * 100)
    return Report.Section(
      "store \(job.label)",
      [.table(Report.Table(columns, rows: rows))] + lines.map { .line($0) } + [
        .line("bottleneck: \(job.bottleneck)", .warning),
        .line("the profiler's own work took \(own) of the time"),
      ])
  }

  /// `950`, `12.3 k`, `4.56 M`.
  private static func perSecond(_ rate: Double) -> String {
    switch rate {
    case ..<1e3: String(format: "%.0f ", rate)
    case ..<1e6: String(format: "%.1f k", rate / 1e3)
    default: String(format: "%.2f M", rate / 1e6)
    }
  }

  /// Resident memory over the bytes read.
  private var memoryChart: String? {
    let bytes = jobs.flatMap(\.memory).map { Double($0.bytesRead) }.max() ?? 1
    let size: (Double) -> String = { Quantity.size($0) }
    let curves = jobs.enumerated().map { index, job in
      let points = job.memory.map { (Double($0.bytesRead) / bytes, Double($0.resident)) }
      return (job.label, index + 1, points)
    }
    return Chart.curves(
      "Resident memory over bytes read", curves, ticks: Chart.ticks(to: bytes, text: size),
      text: size)
  }

  private var baselineTable: [Report.Section] {
    guard !baselines.isEmpty else { return [] }
    let rows = baselines.map { baseline in
      [
        baseline.label, Quantity.time(baseline.seconds.median),
        String(format: "%.0f", baseline.megabytesPerSecond),
        Quantity.size(baseline.peakBytes.median),
        baseline.allocations.map { Quantity.count(Int($0.median)) } ?? "",
        baseline.toFloor?.text ?? "",
      ]
    }
    let table = Report.Table(
      [.text(""), "time", "MB/s", "peak", "allocations", "to yajl"], rows: rows)
    return [Report.Section("baselines, the same bytes", [.table(table)])]
  }
}

extension StageReport.Name {
  /// The color of the stage, the same in every chart.
  fileprivate var color: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

extension Phase {
  /// The color of the corresponding stage.
  fileprivate var color: Int {
    let stage: StageReport.Name =
      switch self {
      case .connect: .start
      case .firstByte: .plan
      case .download: .input
      case .parse: .parse
      case .write: .storeWrite
      }
    return stage.color
  }
}

extension Ratio {
  /// `2.16 x (2.04 to 2.62)`.
  fileprivate var text: String { String(format: "%.2f x (%.2f to %.2f)", value, low, high) }
}

extension ReportComparison {
  /// The comparison as text for a terminal.
  package func text(title: String) -> String {
    let rows = rows.map { row in
      [
        row.name, row.unit.shown(row.before), row.unit.shown(row.after),
        row.ratio.map { String(format: "%.2f x", $0) } ?? "", row.verdict.rawValue,
      ]
    }
    let table = Report.Table([.text(""), "before", "after", "ratio", "verdict"], rows: rows)
    return (table.lines("against \(title)") + (remarks + missing).map { "note: \($0)" })
      .joined(separator: "\n") + "\n"
  }
}

// MARK: Requests and events

extension LoadReport {
  /// The requests as a section.
  var section: Report.Section {
    let times =
      [corrected.map { ("from the intended start (corrected)", $0) }].compactMap { $0 }
      + [("from the actual start (uncorrected)", uncorrected)]
    let all = times + phases.map { ("· \($0.name.rawValue)", $0.latencies) }
    return Report.Section(
      title,
      (notes ?? []).map { .line($0, .soft) }
        + [.chart(Latencies.chart(times)), .table(Latencies.table(all))] + timeline
        + operationTable + lines.map { .line($0) }
        + warnings.map { .line("warning: \($0)", .warning) })
  }

  private var title: String {
    let rate = "\(String(format: "%.1f", achievedRate)) per second"
    let think = thinkSeconds.map { ", \(Quantity.time($0)) apart" } ?? ""
    return switch model {
    case .open(let intended, let inFlight):
      "\(requests) requests at \(String(format: "%g", intended)) per second "
        + "(at most \(inFlight) at a time): \(rate) achieved, \(failures) failed"
    case .stages(let stages, let inFlight):
      "\(requests) requests in the stages \(stages.map(\.text).joined(separator: ",")) "
        + "(at most \(inFlight) at a time): \(rate) achieved, \(failures) failed"
    case .closed(let concurrency):
      "\(requests) requests, \(concurrency) at a time\(think): \(rate), \(failures) failed"
    }
  }

  /// The counts of HTTP requests, connections and errors.
  private var lines: [String] {
    var lines: [String] = []
    if let sent = httpRequests, sent < requests, sent > 0 {
      let each = String(format: "%.1f", Double(requests) / Double(sent))
      lines.append("HTTP requests: \(sent), with \(each) operations on average")
    } else if let sent = httpRequests, sent > requests {
      lines.append("HTTP requests: \(sent), with retries")
    } else if httpRequests == 0, requests > 0 {
      lines.append("HTTP requests: none")
    }
    if let connections {
      let waited = phases.first { $0.name == .connect }?.latencies.count ?? 0
      lines.append(
        connections == 0
          ? "every request found an open connection"
          : "new connections: \(connections); requests that waited for one: \(waited)")
    }
    if let graphQLErrors, graphQLErrors > 0 {
      let codes = (errorCodes ?? []).map { "\($0.count) x \($0.message)" }
      lines.append(
        "responses with GraphQL errors: \(graphQLErrors), with the codes "
          + codes.joined(separator: ", "))
    }
    return lines + errors.map { "\($0.count) x \($0.message)" }
  }

  /// The requests over time.
  private var timeline: [Report.Block] {
    guard let steps, let width = stepSeconds, steps.count > 1 else { return [] }
    let chart = StepChart(steps: steps, width: width)
    var blocks: [Report.Block] = [
      chart.block(
        "Requests per second, over time",
        [
          ("to start", 0, { Double($0.requests) / width }),
          ("completed", 3, { Double($0.completed) / width }),
          ("failed", 4, { Double($0.failures) / width }),
          ("with GraphQL errors", 7, { Double($0.graphQLErrors) / width }),
        ]
      ) { Quantity.number($0) + "/s" },
      chart.block(
        "Latency by the start of requests, over time",
        [("p50", 2, \.p50), ("p90", 6, \.p90), ("p99", 1, \.p99), ("highest", 4, \.highest)]
      ) { Quantity.time($0) },
      .only(.page, .table(stepTable(steps))),
    ]
    if let slowest = steps.max(by: { ($0.p99 ?? 0) < ($1.p99 ?? 0) }), let p99 = slowest.p99 {
      let isSecond = width == 1
      blocks.append(
        .only(
          .text,
          .line(
            "slowest \(isSecond ? "second" : "step of \(Int(width)) s"): from \(Int(slowest.start)) s, "
              + "p99 \(Quantity.time(p99)), \(slowest.failures) of \(slowest.requests) failed")))
    }
    return blocks
  }

  private func stepTable(_ steps: [Step]) -> Report.Table {
    Report.Table(
      [
        "from", "to start", "completed", "failed", "with GraphQL errors", "p50", "p90", "p99",
        "highest",
      ],
      rows: steps.map { step in
        ["\(Int(step.start)) s"]
          + [step.requests, step.completed, step.failures, step.graphQLErrors].map {
            Quantity.count($0)
          }
          + [step.p50, step.p90, step.p99, step.highest].map {
            $0.map { Quantity.time($0) } ?? ""
          }
      })
  }

  private var operationTable: [Report.Block] {
    guard let operations else { return [] }
    let rows = operations.map { operation in
      [
        operation.name, Quantity.count(operation.requests), Quantity.count(operation.failures),
      ]
        + [\Latencies.p50, \.p90, \.p99, \.highest].map { figure in
          operation.latencies.map { Quantity.time($0[keyPath: figure]) } ?? ""
        }
    }
    return [
      .table(
        Report.Table(
          [.text("operation"), "requests", "failed", "p50", "p90", "p99", "highest"], rows: rows))
    ]
  }
}

extension SubscriptionReport {
  /// The events as a section.
  var section: Report.Section {
    let rate = String(format: "%.1f", eventsPerSecond)
    let times = [
      delay.map { ("from the time in an event to delivery", $0) },
      delivery.map { ("from event to delivery", $0) }, intervals.map { ("between events", $0) },
    ].compactMap { $0 }
    var lines: [String] = []
    if let opened, let lost, let failed, lost + failed > 0 {
      lines.append("opened: \(opened); lost connections: \(lost); could not be opened: \(failed)")
    }
    if let completed, completed > 0 {
      lines.append("completed by the server: \(completed) of \(subscriptions)")
    }
    if let jitterSeconds { lines.append("jitter: \(Quantity.time(jitterSeconds))") }
    lines.append(
      "reconnects: \(reconnects)" + (connections.map { "; connections: \($0)" } ?? "")
        + (dropped > 0 ? "; dropped events: \(dropped)" : "")
        + (eventsWithErrors > 0 ? "; events with errors: \(eventsWithErrors)" : ""))
    if let seconds = processorSecondsPerEvent {
      lines.append("processor time of an event: \(Quantity.time(seconds))")
    }
    lines += failures.map { "\($0.count) x \($0.message)" }
    if isInterrupted == true {
      lines.append("warning: interrupted: the figures are those of the events until then")
    }
    return Report.Section(
      "\(events) events of \(Quantity.count(subscriptions, "subscription")) in "
        + "\(Quantity.time(seconds)): \(rate) per second",
      (delivery == nil
        ? [] : [.chart(Latencies.chart(times)), .table(Latencies.table(times))])
        + timeline + lines.map { .line($0) })
  }

  /// The events over time, on pages.
  private var timeline: [Report.Block] {
    guard let steps, let width = stepSeconds, steps.count > 1 else { return [] }
    let chart = StepChart(steps: steps, width: width)
    let table = Report.Table(
      [
        "from", "events", "with errors", "opened", "lost", "could not be opened", "gaps",
        "delay p99", "delivery p99",
      ],
      rows: steps.map { step in
        ["\(Int(step.start)) s"]
          + [
            step.events, step.eventsWithErrors, step.opened, step.lost, step.failed, step.gaps,
          ].map { Quantity.count($0) }
          + [step.delay, step.delivery].map { $0.map { Quantity.time($0) } ?? "" }
      })
    return [
      chart.block(
        "Events per second, over time",
        [
          ("events", 3, { Double($0.events) / width }),
          ("with errors", 7, { Double($0.eventsWithErrors) / width }),
          ("lost connections", 4, { Double($0.lost) / width }),
          ("could not be opened", 1, { Double($0.failed) / width }),
        ]
      ) { Quantity.number($0) + "/s" },
      chart.block(
        "Time of events (p99), over time",
        [
          ("from the time in an event to delivery", 2, \.delay),
          ("from event to delivery", 6, \.delivery),
        ]
      ) { Quantity.time($0) },
      .only(.page, .table(table)),
    ]
  }
}

/// Charts of the steps of a run, which follow each other.
private struct StepChart<Step> {
  let steps: [Step]
  /// The time of a step, in seconds.
  let width: Double

  /// A chart with those of the curves that have a value above zero.
  ///
  /// - Parameters:
  ///   - title: A description.
  ///   - curves: The value of each curve in a step; `nil` is left out.
  ///   - text: Formats a value.
  func block(
    _ title: String, _ curves: [(name: String, color: Int, value: (Step) -> Double?)],
    text: (Double) -> String
  ) -> Report.Block {
    let count = Double(steps.count)
    let drawn = curves.map { curve in
      let points = steps.enumerated().compactMap { index, step in
        curve.value(step).map { ((Double(index) + 0.5) / count, $0) }
      }
      return (name: curve.name, color: curve.color, points: points)
    }
    let ticks = Chart.ticks(to: count * width) { String(format: "%g s", $0) }
    return .chart(
      Chart.curves(
        title, drawn.filter { $0.points.contains { $0.1 > 0 } }, ticks: ticks, text: text))
  }
}

extension Latencies {
  fileprivate static func table(_ rows: [(name: String, times: Latencies)]) -> Report.Table {
    Report.Table(
      [.text(""), "mean", "p50", "p90", "p99", "p99.9", "highest"],
      rows: rows.map { name, times in
        [name]
          + [times.mean, times.p50, times.p90, times.p99, times.p999, times.highest].map {
            Quantity.time($0)
          }
      })
  }

  /// Latency over percentile, with a logarithmic tail: each tick to the right is ten times rarer.
  fileprivate static func chart(_ rows: [(name: String, times: Latencies)]) -> String? {
    func position(_ percentile: Double) -> Double {
      -log10(max(1 - min(percentile, 99.999) / 100, 1e-5)) / 5
    }
    let ticks = [0, 50, 90, 99, 99.9, 99.99].map { percentile in
      (position(percentile), percentile > 0 ? String(format: "%g %%", percentile) : "0")
    }
    let curves = rows.enumerated().map { index, row in
      (row.name, index, row.times.curve.map { (position($0.percentile), $0.seconds) })
    }
    return Chart.curves("Latency percentiles", curves, ticks: ticks) { Quantity.time($0) }
  }
}

// MARK: Shape

extension ShapeReport {
  /// The shape of a response as a section.
  fileprivate var section: Report.Section {
    var facts: [String] = []
    if identified > 0 {
      facts.append(
        "\(Quantity.count(identified)) objects with an identity, "
          + "\(isEstimated ? "about " : "")\(Quantity.count(distinct)) of them different; "
          + "normalizing saves \(Quantity.size(repeatedBytes))")
    }
    facts.append(cachePrediction)
    if let middleString {
      let count = strings.reduce(0) { $0 + $1.count }
      let bytes = strings.reduce(0) { $0 + $1.bytes }
      facts.append(
        "\(Quantity.count(count)) strings of \(Quantity.size(bytes)), half of that in strings of "
          + "at least \(Quantity.size(middleString))")
    }
    var blocks: [Report.Block] =
      [.chart(treemap)] + facts.map { .line($0) } + [.table(typeTable), .table(pathTable)]
    if let largest = largestRecords.first {
      let rows = largestRecords.map { [$0.key, Quantity.size($0.bytes), $0.path] }
      blocks += [
        .only(
          .text,
          .line(
            "largest record: \(largest.key), \(Quantity.size(largest.bytes)), at \(largest.path)")
        ),
        .only(
          .page,
          .table(Report.Table([.text("largest records"), "bytes", .text("at")], rows: rows))),
      ]
    }
    if !strings.isEmpty {
      let bars = strings.map {
        (
          "\(Quantity.count($0.count)) strings below \(Quantity.size($0.below))",
          Double($0.bytes), 2
        )
      }
      blocks.append(.chart(Chart.bars("Strings by size", bars) { Quantity.size($0) }))
    }
    return Report.Section(
      "shape: \(Quantity.count(objects)) objects, \(Quantity.count(values)) values "
        + "(\(Quantity.count(nulls)) null), depth \(depth)",
      blocks + advice.map { .line("hint: \($0)", .warning) })
  }

  /// Types and their fields; a field that contains other objects is shown with their types.
  private var treemap: String? {
    let parts = types.filter { $0.bytes > 0 }.prefix(24).map { type in
      Chart.Part(
        type.name, size: Double(type.bytes),
        parts: type.fields.filter { $0.bytes <= type.bytes }.prefix(30).map {
          Chart.Part($0.name, size: Double($0.bytes))
        })
    }
    return Chart.treemap("Bytes by type and field", parts) { Quantity.size($0) }
  }

  private func share(_ part: Int) -> String {
    Quantity.percent(Double(part) / Double(max(bytes, 1)))
  }

  private var typeTable: Report.Table {
    Report.Table(
      [
        .text("type"), "objects", "different", "hits", "bytes", "share",
        .text("largest fields", isOnPagesOnly: true),
      ],
      maxLines: 12,
      rows: types.prefix(40).map { type in
        [
          type.name, Quantity.count(type.objects), type.distinct.map { Quantity.count($0) } ?? "",
          type.hitShare.map { Quantity.percent($0) } ?? "", Quantity.size(type.bytes),
          share(type.bytes), type.fields.prefix(3).map(\.name).joined(separator: ", "),
        ]
      })
  }

  private var pathTable: Report.Table {
    let largest = paths.filter { $0.ownBytes > 0 }.sorted { $0.ownBytes > $1.ownBytes }.prefix(40)
    return Report.Table(
      [
        .text("largest paths"), "values", "null",
        Report.Table.Column("longest list", .figure, isOnPagesOnly: true), "bytes", "share",
      ],
      maxLines: 10,
      rows: largest.map { path in
        [
          path.path, Quantity.count(path.count), Quantity.count(path.nulls),
          path.longestList > 0 ? Quantity.count(path.longestList) : "",
          Quantity.size(path.ownBytes), share(path.ownBytes),
        ]
      })
  }

  /// The predicted effect of a normalized cache on this response.
  var cachePrediction: String {
    guard let hitShare else {
      return
        "cache: no object has an identity (__typename and key fields, see --keys), so it can only "
        + "answer the same operation with the same variables"
    }
    return
      "cache: \(Quantity.percent(hitShare)) of the objects with an identity are hits; "
      + "\(share(identifiedBytes)) of the bytes can also answer other operations"
  }
}
