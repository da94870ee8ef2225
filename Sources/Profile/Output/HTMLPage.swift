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

extension HTML {
  /// The style sheet. Colors are distinguishable in both color schemes and with most color vision
  /// deficiencies (Okabe and Ito).
  static let style = """
    :root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --paper: #ffffff;
      --card: #f6f8fa; --line: #d1d9e0; --accent: #9a3412;
      --c0: #7f8c9b; --c1: #e69f00; --c2: #0072b2; --c3: #009e73; --c4: #d55e00; --c5: #a0522d;
      --c6: #56b4e9; --c7: #cc79a7; --c8: #6b8e23; --c9: #8a6fc1; }
    @media (prefers-color-scheme: dark) {
      :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117; --card: #151b23; --line: #3d444d;
        --accent: #f0883e; } }
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 82rem; padding: 2rem 1.5rem; background: var(--paper);
      color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
    h1 { margin: 0; font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; }
    h3 { margin: 0; font-size: 1rem; } header p, footer { color: var(--soft); font-size: .9rem; }
    footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
    .wide { overflow-x: auto; }
    svg { display: block; width: 100%; min-width: 46rem; height: auto; overflow: visible; }
    svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
    svg text.soft { fill: var(--soft); font-size: 12px; }
    svg text.ondark { fill: #fff; } svg text.onlight { fill: #16191d; }
    svg .axis { stroke: var(--line); stroke-width: 1; }
    .cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(36rem, 100%), 1fr));
      gap: 1rem; margin-top: 1.25rem; }
    .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
      padding: 1rem 1.25rem; overflow-x: auto; }
    .card p { margin: .25rem 0; font-size: .9rem; color: var(--soft); }
    .card p.figure { font-size: 1.8rem; color: var(--ink); font-variant-numeric: tabular-nums; }
    p.bottleneck, .card p.bottleneck { color: var(--accent); }
    table { border-collapse: collapse; width: 100%; font-size: .85rem; margin-top: .75rem;
      font-variant-numeric: tabular-nums; }
    th, td { text-align: right; padding: .25rem .4rem; border-bottom: 1px solid var(--line);
      white-space: nowrap; }
    th:first-child, td:first-child { text-align: left; } th { color: var(--soft);
      font-weight: 500; white-space: normal; vertical-align: bottom; }
    td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 6.5rem; }
    .card table { font-size: .8rem; }
    .card td:first-child { min-width: 0; white-space: nowrap; }
    pre { overflow-x: auto; background: var(--card); border: 1px solid var(--line);
      border-radius: 8px; padding: 1rem; font-size: .8rem; }
    .remarks p { color: var(--accent); }
    """
}

/// The shape of a response, as sections of the page.
struct ShapeHTML {
  let shape: ShapeReport

  var sections: [String] {
    var result = [HTML.section("Bytes by type and field", treemap + advice)]
    result.append(HTML.section("Types", typeTable))
    result.append(HTML.section("Largest paths", pathTable))
    if !shape.largestRecords.isEmpty {
      result.append(
        HTML.section(
          "Largest records",
          HTML.table(
            ["record", "bytes", "at"],
            shape.largestRecords.map { [$0.key, Quantities.size($0.bytes), $0.path] })))
    }
    if !shape.strings.isEmpty {
      let rows = shape.strings.map {
        BarPlot.Row(
          label: "below \(Quantities.size($0.below))", value: Double($0.bytes),
          text: "\(Quantities.count($0.count)), \(Quantities.size($0.bytes))", color: 2)
      }
      result.append(HTML.section("Strings by size", BarPlot(rows: rows).svg))
    }
    return result
  }

  private var advice: String {
    ([shape.cachePrediction.prefix(1).uppercased() + shape.cachePrediction.dropFirst() + "."]
      .map { "<p>\(HTML.escaped($0))</p>" }
      + shape.advice.map { "<p class=bottleneck>\(HTML.escaped($0))</p>" }).joined()
  }

  /// A treemap of types and their fields; a field that contains other objects is shown with their
  /// types.
  private var treemap: String {
    let height = 460.0
    let types = shape.types.filter { $0.bytes > 0 }.prefix(24)
    let areas = Treemap.areas(
      types.map { Double($0.bytes) },
      in: .init(x: 0, y: 0, width: SVG.width, height: height))
    var content: [String] = []
    for (index, (type, area)) in zip(types, areas).enumerated() {
      content.append(
        SVG.box(
          x: area.x, y: area.y, width: area.width - 2, height: area.height - 2, color: index,
          title: "\(type.name): \(Quantities.size(type.bytes))"))
      let inner = Treemap.Area(
        x: area.x + 3, y: area.y + 22, width: area.width - 8, height: area.height - 27)
      if inner.width > 30, inner.height > 16 { content += fields(type, inner) }
      let label = "\(type.name) \(Quantities.size(type.bytes))"
      if area.width > SVG.widthOf(type.name) + 12, area.height > 20 {
        let isLong = SVG.widthOf(label) + 12 > area.width
        content.append(
          SVG.text(
            isLong ? type.name : label, x: area.x + 6, y: area.y + 16, kind: SVG.ink(on: index)))
      }
    }
    return SVG.drawing(
      height: height, label: "Bytes by type and field", content.joined(separator: "\n"))
  }

  private func fields(_ type: ShapeReport.TypeShape, _ area: Treemap.Area) -> [String] {
    let own = type.fields.filter { $0.bytes <= type.bytes }.prefix(30)
    let areas = Treemap.areas(own.map { Double($0.bytes) }, in: area)
    return zip(own, areas).flatMap { field, area -> [String] in
      let title = "\(type.name).\(field.name): \(Quantities.size(field.bytes))"
      var parts = [
        "<rect x=\"\(SVG.number(area.x))\" y=\"\(SVG.number(area.y))\" "
          + "width=\"\(SVG.number(max(area.width - 1, 0)))\" "
          + "height=\"\(SVG.number(max(area.height - 1, 0)))\" fill=\"#000\" fill-opacity=\"0.4\">"
          + "<title>\(HTML.escaped(title))</title></rect>"
      ]
      if area.width > SVG.widthOf(field.name) + 8, area.height > 18 {
        parts.append(SVG.text(field.name, x: area.x + 5, y: area.y + 15, kind: "ondark"))
      }
      return parts
    }
  }

  private var typeTable: String {
    HTML.table(
      ["type", "objects", "different", "hits", "bytes", "share", "largest fields"],
      shape.types.prefix(40).map { type in
        [
          type.name, Quantities.count(type.objects),
          type.distinct.map { Quantities.count($0) } ?? "",
          type.hitShare.map { Quantities.percent($0) } ?? "", Quantities.size(type.bytes),
          Quantities.percent(Double(type.bytes) / Double(max(shape.bytes, 1))),
          type.fields.prefix(3).map(\.name).joined(separator: ", "),
        ]
      })
  }

  private var pathTable: String {
    HTML.table(
      ["path", "values", "null", "longest list", "own bytes", "share"],
      shape.paths.filter { $0.ownBytes > 0 }.sorted { $0.ownBytes > $1.ownBytes }.prefix(40).map {
        [
          $0.path, Quantities.count($0.count), Quantities.count($0.nulls),
          $0.longestList > 0 ? Quantities.count($0.longestList) : "", Quantities.size($0.ownBytes),
          Quantities.percent(Double($0.ownBytes) / Double(max(shape.bytes, 1))),
        ]
      })
  }
}

/// Areas proportional to sizes and close to squares: the squarified treemap of Bruls, Huizing and
/// van Wijk (https://doi.org/10.1007/978-3-7091-6783-0_4).
struct Treemap {
  struct Area: Equatable {
    var x: Double
    var y: Double
    var width: Double
    var height: Double
  }

  /// One area per size, in the same order. A size that is not positive gets an empty area.
  static func areas(_ sizes: [Double], in whole: Area) -> [Area] {
    var result = [Area](
      repeating: Area(x: whole.x, y: whole.y, width: 0, height: 0), count: sizes.count)
    let order = sizes.indices.filter { sizes[$0] > 0 }.sorted { sizes[$0] > sizes[$1] }
    let total = order.reduce(0) { $0 + sizes[$1] }
    guard total > 0, whole.width > 0, whole.height > 0 else { return result }
    let scale = whole.width * whole.height / total
    var rest = whole
    var position = 0
    while position < order.count {
      let side = min(rest.width, rest.height)
      var row: [Int] = []
      var sum = 0.0
      while position < order.count {
        let next = sizes[order[position]] * scale
        let candidate = row + [order[position]]
        if !row.isEmpty,
          worst(candidate, sizes: sizes, scale: scale, sum: sum + next, side: side)
            > worst(row, sizes: sizes, scale: scale, sum: sum, side: side)
        {
          break
        }
        row = candidate
        sum += next
        position += 1
      }
      lay(row, sizes: sizes, scale: scale, sum: sum, rest: &rest, result: &result)
    }
    return result
  }

  /// The largest ratio of sides in a row.
  private static func worst(
    _ row: [Int], sizes: [Double], scale: Double, sum: Double, side: Double
  ) -> Double {
    let values = row.map { sizes[$0] * scale }
    guard let largest = values.max(), let smallest = values.min(), smallest > 0, sum > 0 else {
      return .infinity
    }
    return max(side * side * largest / (sum * sum), sum * sum / (side * side * smallest))
  }

  private static func lay(
    _ row: [Int], sizes: [Double], scale: Double, sum: Double, rest: inout Area,
    result: inout [Area]
  ) {
    let isColumn = rest.width >= rest.height
    let thickness = sum / (isColumn ? rest.height : rest.width)
    var offset = 0.0
    for index in row {
      let length = sizes[index] * scale / max(thickness, 1e-12)
      result[index] =
        isColumn
        ? Area(x: rest.x, y: rest.y + offset, width: thickness, height: length)
        : Area(x: rest.x + offset, y: rest.y, width: length, height: thickness)
      offset += length
    }
    if isColumn {
      rest.x += thickness
      rest.width = max(rest.width - thickness, 0)
    } else {
      rest.y += thickness
      rest.height = max(rest.height - thickness, 0)
    }
  }
}
