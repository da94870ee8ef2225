import Foundation
import GQLRunSupport

extension ProfileReport {
  /// The report as one self-contained page: no scripts, fonts or network.
  package var html: String {
    HTMLPage(report: self).text
  }
}

/// Builds the page.
struct HTMLPage {
  let report: ProfileReport

  var text: String {
    HTML.page(
      title: "Profile of \(report.workload.operation)", style: HTML.style,
      body: """
        <header>
        <h1>\(HTML.escaped(report.workload.operation))</h1>
        <p>\(HTML.escaped(subtitle))</p>
        </header>
        \(sections.joined(separator: "\n"))
        <footer>\(HTML.escaped("\(report.program), report version \(report.version), \(date)"))</footer>
        """)
  }

  private var subtitle: String {
    let size = report.workload.bytes > 0 ? ", \(Quantities.size(report.workload.bytes))" : ""
    return "\(report.workload.source)\(size). \(report.machine.processor), \(report.machine.cores) "
      + "cores, \(Quantities.size(report.machine.memoryBytes)), \(report.machine.system). "
      + "\(report.repeats.prefix(1).uppercased() + report.repeats.dropFirst())"
  }

  private var date: String {
    let formatter = ISO8601DateFormatter()
    return formatter.string(from: Date(timeIntervalSince1970: report.madeAt))
  }

  private var sections: [String] {
    var result: [String] = []
    if !report.remarks.isEmpty {
      result.append(
        "<section class=remarks>"
          + report.remarks.map { "<p>\(HTML.escaped($0))</p>" }.joined() + "</section>")
    }
    if !report.network.isEmpty { result.append(networkSection) }
    if !report.jobs.isEmpty {
      result.append(stagesSection)
      result.append(throughputSection)
      let memory = MemoryPlot(jobs: report.jobs)
      if memory.isDrawable {
        result.append(HTML.section("Memory over the response", memory.svg))
      }
    }
    if !report.baselines.isEmpty { result.append(baselineSection) }
    if let load = report.load { result.append(loadSection(load)) }
    if let events = report.subscription { result.append(subscriptionSection(events)) }
    if let shape = report.shape { result += ShapeHTML(shape: shape).sections }
    return result
  }

  // MARK: Sections

  private var stagesSection: String {
    let bars = report.jobs.map { job in
      let parts = job.stages.map { stage in
        StackedBar.Part(
          name: stage.name.rawValue, value: stage.seconds.median,
          color: StageColor.index(stage.name))
      }
      return StackedBar.Row(
        label: job.label, detail: Quantities.time(job.seconds.median), parts: parts)
    }
    let cards = report.jobs.map { job in
      """
      <div class=card>
      <h3>\(HTML.escaped(job.label))</h3>
      <p class=figure>\(Quantities.time(job.seconds.median))</p>
      <p>\(HTML.escaped(facts(job)))</p>
      <p class=bottleneck>\(HTML.escaped(job.bottleneck))</p>
      \(stageTable(job))
      </div>
      """
    }
    return HTML.section(
      "Where the time goes",
      StackedBar(rows: bars).svg + "<div class=cards>" + cards.joined() + "</div>")
  }

  private func facts(_ job: JobReport) -> String {
    var parts = [
      "\(Quantities.time(job.seconds.lowest)) to \(Quantities.time(job.seconds.highest))",
      "processor \(Quantities.time(job.cpuSeconds.median))",
      "peak memory \(Quantities.size(job.peakBytes.median))",
    ]
    if let allocations = job.allocations {
      parts.append("\(Quantities.count(Int(allocations.median))) allocations")
    }
    if let first = job.firstRecordSeconds {
      parts.append("first record after \(Quantities.time(first.median))")
    }
    if let ratio = job.toFloor {
      parts.append("up to the commit \(Quantities.ratio(ratio)) bare yajl")
    }
    if let ratio = job.toFirst, job.label != report.jobs[0].label {
      parts.append("\(Quantities.ratio(ratio)) \(report.jobs[0].label)")
    }
    return parts.joined(separator: ", ")
  }

  private func stageTable(_ job: JobReport) -> String {
    HTML.table(
      ["stage", "time", "cpu", "wait", "share", "MB/s", "per 256 KiB: p50 / p99"],
      job.stages.map { stage in
        [
          stage.name.rawValue, Quantities.time(stage.seconds.median),
          stage.cpuSeconds > 0 ? Quantities.time(stage.cpuSeconds) : "",
          stage.waitSeconds > 0 ? Quantities.time(stage.waitSeconds) : "",
          Quantities.percent(stage.share),
          stage.megabytesPerSecond.map { String(format: "%.0f", $0) } ?? "",
          stage.perPiece.map { "\(Quantities.time($0.p50)) / \(Quantities.time($0.p99))" } ?? "",
        ]
      })
  }

  private var throughputSection: String {
    let rows = report.jobs.flatMap { job in
      job.stages.compactMap { stage -> BarPlot.Row? in
        guard let rate = stage.megabytesPerSecond, stage.share > 0.001 else { return nil }
        return BarPlot.Row(
          label: report.jobs.count > 1
            ? "\(job.label): \(stage.name.rawValue)" : stage.name.rawValue,
          value: rate, text: String(format: "%.0f MB/s", rate),
          color: StageColor.index(stage.name))
      }
    }
    return HTML.section("Throughput of each stage, alone", BarPlot(rows: rows).svg)
  }

  private var baselineSection: String {
    HTML.section(
      "Other parsers on the same bytes",
      HTML.table(
        ["", "time", "MB/s", "peak memory", "to bare yajl"],
        report.baselines.map { baseline in
          [
            baseline.label, Quantities.time(baseline.seconds.median),
            String(format: "%.0f", baseline.megabytesPerSecond),
            Quantities.size(baseline.peakBytes.median),
            baseline.toFloor.map { Quantities.ratio($0) } ?? "",
          ]
        }))
  }

  private var networkSection: String {
    let bars = report.network.map { fetch in
      StackedBar.Row(
        label: fetch.label, detail: Quantities.time(fetch.seconds.median),
        parts: fetch.phases.map {
          .init(name: $0.phase.rawValue, value: $0.time.median, color: $0.phase.color)
        })
    }
    let notes = report.network.map { "<p>\(HTML.escaped("\($0.label): \($0.bottleneck)"))</p>" }
    return HTML.section("Fetching", StackedBar(rows: bars).svg + notes.joined())
  }

  private func subscriptionSection(_ events: SubscriptionReport) -> String {
    let curves = [
      events.delivery.map {
        LatencyPlot.Curve(name: "from event to delivery", latencies: $0, color: 0)
      },
      events.intervals.map { .init(name: "between events", latencies: $0, color: 1) },
    ].compactMap { $0 }
    let lines = SubscriptionText(events).lines.dropFirst().joined(separator: "\n")
    return HTML.section(
      "\(events.events) events of subscriptions",
      (curves.isEmpty ? "" : LatencyPlot(curves: curves).svg) + "<pre>\(HTML.escaped(lines))</pre>")
  }

  private func loadSection(_ load: LoadReport) -> String {
    var curves = [
      LatencyPlot.Curve(
        name: "from the actual start (uncorrected)", latencies: load.uncorrected, color: 1)
    ]
    if let corrected = load.corrected {
      curves.insert(
        .init(name: "from the intended start (corrected)", latencies: corrected, color: 0), at: 0)
    }
    let warnings = load.warnings.map { "<p class=bottleneck>\(HTML.escaped($0))</p>" }
    let lines = LoadText(load).lines.dropFirst()
      .filter { !$0.hasPrefix("  warning: ") }.joined(separator: "\n")
    return HTML.section(
      "Latency of \(load.requests) requests",
      LatencyPlot(curves: curves).svg + warnings.joined() + "<pre>\(HTML.escaped(lines))</pre>")
  }
}

extension Phase {
  /// The color of the corresponding stage.
  fileprivate var color: Int {
    switch self {
    case .connect: StageColor.index(.start)
    case .firstByte: StageColor.index(.plan)
    case .download: StageColor.index(.input)
    case .parse: StageColor.index(.parse)
    case .write: StageColor.index(.storeWrite)
    }
  }
}

/// The color of each stage, the same in every plot.
enum StageColor {
  static func index(_ name: StageReport.Name) -> Int {
    StageReport.Name.allCases.firstIndex(of: name) ?? 0
  }
}
