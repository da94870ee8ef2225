import Foundation
import GQLRunSupport

/// A report of a run as one self-contained HTML page without scripts or network access.
struct HTMLReport {
  private let data: ReportData
  private let missed: [String]

  init(_ data: ReportData, _ thresholds: [BatchCondition]) {
    self.data = data
    missed = data.missed(thresholds)
  }

  var text: String {
    HTML.page(
      title: "\(data.name): batch report", style: Self.style,
      body: """
        <main>
        <h1>\(escaped(data.name)) \(badge)</h1>
        <p class="sub">\(escaped(data.file)) · \(time(data.first)) · \(duration(data.seconds))</p>
        \(tiles)
        \(missedList)
        <section><h2>Latency</h2>\(latencyChart)\(quantiles)</section>
        <section><h2>Throughput</h2>\(throughputChart)</section>
        <section><h2>Operations</h2>\(operations)</section>
        \(gaps)
        \(tasks("Tasks that did not succeed", data.failed, shows: data.counts[.failed] + data.counts[.unknown] + data.counts[.skipped]))
        \(tasks("Tasks that a user recorded as done, without output", data.resolved, shows: nil))
        \(tasks("Slowest tasks", Array(data.slowest.prefix(20)), shows: nil))
        </main>
        """)
  }

  private var isGood: Bool {
    data.counts[.failed] + data.counts[.unknown] + data.counts[.skipped] == 0 && missed.isEmpty
  }

  private var badge: String {
    isGood ? "<span class=\"badge ok\">passed</span>" : "<span class=\"badge bad\">failed</span>"
  }

  private var tiles: String {
    let rate = data.seconds > 0 ? Double(data.counts.ended) / data.seconds : 0
    let values: [(String, String, String)] = [
      ("Tasks", number(data.counts.total), ""),
      ("Done", number(data.counts[.done]), "ok"),
      ("Failed", number(data.counts[.failed]), data.counts[.failed] > 0 ? "bad" : ""),
      ("Unknown", number(data.counts[.unknown]), data.counts[.unknown] > 0 ? "bad" : ""),
      ("Skipped", number(data.counts[.skipped]), data.counts[.skipped] > 0 ? "warn" : ""),
      ("Records", number(data.records), ""),
      ("Received", size(data.bytes), ""),
      ("Tasks per second", String(format: "%.1f", rate), ""),
    ]
    return "<div class=\"tiles\">"
      + values.map {
        "<div class=\"tile\"><span>\($0.0)</span><strong class=\"\($0.2)\">\($0.1)</strong></div>"
      }.joined() + "</div>"
  }

  private var missedList: String {
    guard !missed.isEmpty else { return "" }
    return "<section><h2>Thresholds not kept</h2><ul>"
      + missed.map { "<li><code>\(escaped($0))</code></li>" }.joined() + "</ul></section>"
  }

  private var quantiles: String {
    let shares: [(String, Double)] = [("50 %", 0.5), ("90 %", 0.9), ("95 %", 0.95), ("99 %", 0.99)]
    return "<table class=\"narrow\"><tr>"
      + shares.map { "<th>\($0.0)</th>" }.joined() + "<th>max</th><th>mean</th></tr><tr>"
      + shares.map { "<td>\(milliseconds(data.latency.quantile($0.1)))</td>" }.joined()
      + "<td>\(milliseconds(data.latency.maximum))</td><td>\(milliseconds(data.latency.mean))</td>"
      + "</tr></table>"
  }

  /// A histogram of latencies with bars of equal width on a logarithmic scale.
  private var latencyChart: String {
    let buckets = data.latency.buckets
    guard let low = buckets.first?.bound, let high = buckets.last?.bound else {
      return "<p>Nothing was sent.</p>"
    }
    let columns = 48
    let from = log10(max(low * 0.9, 0.01))
    let to = max(log10(max(high * 1.1, 0.02)), from + 0.1)
    var counts = [Int](repeating: 0, count: columns)
    for bucket in buckets {
      let location = Int((log10(max(bucket.bound, 0.01)) - from) / (to - from) * Double(columns))
      counts[min(max(location, 0), columns - 1)] += bucket.count
    }
    let labels = (0...4).map { step in
      milliseconds(pow(10, from + (to - from) * Double(step) / 4))
    }
    return chart(counts.map { [(Double($0), 0)] }, labels: labels, title: "Latency distribution")
  }

  private var throughputChart: String {
    let part = max(data.seconds, 0.001) / Double(data.parts)
    let columns = data.throughput.map {
      [(Double($0.done) / part, 0), (Double($0.failed) / part, 1)]
    }
    let labels = (0...4).map { duration(data.seconds * Double($0) / 4) }
    return chart(columns, labels: labels, title: "Tasks per second over the run")
      + "<p class=\"legend\"><i class=\"a\"></i> done <i class=\"b\"></i> failed or unknown</p>"
  }

  private func chart(
    _ columns: [[(value: Double, color: Int)]], labels: [String], title: String
  ) -> String {
    let top = columns.map { $0.reduce(0) { $0 + $1.value } }.max() ?? 0
    return ColumnChart(columns: columns, labels: labels, title: title)
      .svg { top < 10 ? String(format: "%.1f", $0) : number(Int($0)) } ?? "<p>Nothing to show.</p>"
  }

  private var operations: String {
    let head = [
      "Operation", "Tasks", "Done", "Failed", "Unknown", "Skipped", "50 %", "95 %", "99 %", "Max",
    ]
    let rows = data.byOperation.prefix(200).map { entry in
      let cells = [
        number(entry.counts.total), number(entry.counts[.done]),
        number(entry.counts[.failed]), number(entry.counts[.unknown]),
        number(entry.counts[.skipped]),
        milliseconds(entry.latency.quantile(0.5)), milliseconds(entry.latency.quantile(0.95)),
        milliseconds(entry.latency.quantile(0.99)), milliseconds(entry.latency.maximum),
      ]
      return "<tr><td><code>\(escaped(entry.id))</code></td>"
        + cells.map { "<td class=\"n\">\($0)</td>" }.joined() + "</tr>"
    }
    return "<table><tr>" + head.map { "<th>\($0)</th>" }.joined() + "</tr>\(rows.joined())</table>"
  }

  private func tasks(_ title: String, _ tasks: [ReportedTask], shows total: Int?) -> String {
    guard !tasks.isEmpty else { return "" }
    let note =
      total.map {
        $0 > tasks.count ? "<p class=\"sub\">The first \(tasks.count) of \(number($0)).</p>" : ""
      }
      ?? ""
    let rows = tasks.map { task in
      "<tr><td><code>\(escaped(task.operation))</code></td><td>\(escaped(task.key))</td>"
        + "<td>\(task.state.name)</td><td class=\"n\">\(task.http.map { "\($0)" } ?? "")</td>"
        + "<td class=\"n\">\(task.attempts)</td><td class=\"n\">\(milliseconds(task.milliseconds))</td>"
        + "<td class=\"e\">\(escaped(String((task.error ?? "").prefix(400))))</td></tr>"
    }
    return
      "<section><h2>\(title)</h2>\(note)<table><tr><th>Operation</th><th>Key</th><th>State</th>"
      + "<th>HTTP</th><th>Attempts</th><th>Time</th><th>Why</th></tr>\(rows.joined())</table></section>"
  }

  /// The times in which events of subscriptions may be missing.
  private var gaps: String {
    let (count, first) = data.gaps
    guard count > 0 else { return "" }
    let note =
      count > first.count
      ? "<p class=\"sub\">The first \(first.count) of \(number(count)).</p>" : ""
    let rows = first.map { operation, gap in
      "<tr><td><code>\(escaped(operation))</code></td><td>\(escaped(gap.key))</td>"
        + "<td class=\"e\">\(escaped(gap.text))</td></tr>"
    }
    return
      "<section><h2>Gaps in events</h2>\(note)<table><tr><th>Operation</th><th>Key</th><th>Gap</th></tr>"
      + "\(rows.joined())</table></section>"
  }

  private func escaped(_ text: String) -> String { HTML.escaped(text) }

  private func number(_ value: Int) -> String {
    var digits = String(value)
    var result = ""
    while digits.count > 3 {
      result = "\u{202F}" + digits.suffix(3) + result
      digits.removeLast(3)
    }
    return digits + result
  }

  private func milliseconds(_ value: Double) -> String {
    value < 10
      ? String(format: "%.2f ms", value)
      : value < 10_000 ? String(format: "%.0f ms", value) : String(format: "%.1f s", value / 1000)
  }

  private func duration(_ seconds: Double) -> String {
    seconds < 1
      ? String(format: "%.0f ms", seconds * 1000)
      : seconds < 120
        ? String(format: "%.1f s", seconds)
        : seconds < 7_200
          ? String(format: "%.1f min", seconds / 60) : String(format: "%.1f h", seconds / 3_600)
  }

  private func size(_ bytes: Int) -> String {
    bytes < 10_000
      ? "\(bytes) B"
      : bytes < 10_000_000
        ? String(format: "%.1f kB", Double(bytes) / 1e3)
        : String(format: "%.1f MB", Double(bytes) / 1e6)
  }

  private func time(_ seconds: Double) -> String {
    guard seconds.isFinite else { return "nothing ran" }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "yyyy-MM-dd HH:mm:ss 'UTC'"
    return formatter.string(from: Date(timeIntervalSince1970: seconds))
  }

  private static let style = """
    :root { color-scheme: light dark; --ink: #1c2430; --soft: #667085; --line: #e3e7ee; --page: #f6f7f9; \
    --card: #fff; --c0: #2f6fdb; --c1: #d64545; --ok: #1a7f45; --warn: #a86500; }
    @media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #98a2b3; --line: #2c3442; \
    --page: #11151c; --card: #1a202a; --c0: #6ea0ff; --c1: #ff7a7a; --ok: #56c98a; --warn: #e0a84a; } }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
    main { max-width: 1060px; margin: 0 auto; padding: 32px 24px 64px; }
    h1 { font-size: 26px; margin: 0; } h2 { font-size: 17px; margin: 0 0 12px; }
    .sub, .legend { color: var(--soft); margin: 4px 0 20px; }
    section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; \
    padding: 18px 20px; margin: 18px 0; overflow-x: auto; }
    .badge { font-size: 14px; padding: 3px 10px; border-radius: 999px; color: #fff; \
    vertical-align: middle; } .badge.ok { background: #1a7f45; } .badge.bad { background: #c23a3a; }
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(108px, 1fr)); gap: 12px; }
    .tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; \
    padding: 12px 14px; } .tile span { color: var(--soft); display: block; font-size: 13px; }
    .tile strong { font-size: 22px; font-variant-numeric: tabular-nums; }
    strong.ok { color: var(--ok); } strong.bad { color: var(--c1); } strong.warn { color: var(--warn); }
    svg { width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 12px; }
    .axis { stroke: var(--line); }
    .legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; \
    margin: 0 4px 0 12px; } i.a { background: var(--c0); } i.b { background: var(--c1); }
    table { border-collapse: collapse; width: 100%; } table.narrow { width: auto; margin-top: 12px; }
    th, td { text-align: left; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line); \
    vertical-align: top; } th { color: var(--soft); font-weight: 500; font-size: 13px; }
    .n { font-variant-numeric: tabular-nums; white-space: nowrap; } .e { overflow-wrap: anywhere; }
    code { font: 13px ui-monospace, monospace; }
    """
}
