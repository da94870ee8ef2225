import Foundation
import GQLRunReport
import GQLRunSupport

extension ReportData {
  /// The report of the run as a page.
  func page(_ thresholds: [BatchCondition]) -> String { report(thresholds).html }

  private func report(_ thresholds: [BatchCondition]) -> Report {
    let missed = missed(thresholds)
    let unsuccessful = counts[.failed] + counts[.unknown] + counts[.skipped]
    let start =
      first.isFinite ? Date(timeIntervalSince1970: first).formatted(.iso8601) : "nothing ran"
    var report = Report(
      title: "\(name): batch report", heading: name,
      subtitle: [file, start, Self.length(seconds)].joined(separator: " · "))
    report.hasPassed = unsuccessful == 0 && missed.isEmpty
    report.sections = [Report.Section("Tasks", [.figures(figures)])]
    if !missed.isEmpty {
      report.sections.append(Report.Section("Thresholds not kept", [.list(missed)]))
    }
    report.sections += [
      Report.Section("Latency", [.chart(latencyChart), .table(percentiles)]),
      Report.Section("Throughput in tasks per second", [.chart(throughputChart)]),
      Report.Section("Operations", [.table(operations)]),
    ]
    if gaps.count > 0 {
      let rows = gaps.first.map { [$0, $1.key, $1.text] }
      let columns: [Report.Table.Column] = [
        Report.Table.Column("Operation", .code), .text("Key"), Report.Table.Column("Gap", .prose),
      ]
      report.sections.append(
        Self.section("Gaps in events", Report.Table(columns, rows: rows), of: gaps.count))
    }
    for (title, tasks, total) in [
      ("Tasks that did not succeed", failed, unsuccessful),
      ("Tasks that are done without some pages", partial, partial.count),
      ("Tasks that a user recorded as done, without output", resolved, resolved.count),
      ("Slowest tasks", Array(slowest.prefix(20)), 0),
    ] where !tasks.isEmpty {
      report.sections.append(Self.section(title, Self.table(of: tasks), of: total))
    }
    return report
  }

  /// A table that may have only the first rows.
  private static func section(
    _ title: String, _ table: Report.Table, of total: Int
  ) -> Report.Section {
    let note = "The first \(table.rows.count) of \(Quantity.count(total))."
    return Report.Section(
      title, (total > table.rows.count ? [.line(note, .soft)] : []) + [.table(table)])
  }

  /// The length of a run, which may be one of milliseconds or of hours.
  private static func length(_ seconds: Double) -> String {
    seconds < 120 ? Quantity.time(seconds) : Quantity.clockTime(seconds)
  }

  private static func time(milliseconds: Double) -> String { Quantity.time(milliseconds / 1e3) }

  private var figures: [(name: String, value: String, tone: Report.Tone)] {
    let rate = seconds > 0 ? Double(counts.ended) / seconds : 0
    func tasks(_ state: TaskState, _ tone: Report.Tone) -> (
      name: String, value: String, tone: Report.Tone
    ) {
      let name = state.name.prefix(1).uppercased() + state.name.dropFirst()
      return (name, Quantity.count(counts[state]), counts[state] > 0 ? tone : .plain)
    }
    let left: [(name: String, value: String, tone: Report.Tone)] =
      incomplete > 0 ? [("Incomplete", Quantity.count(incomplete), .bad)] : []
    return [
      ("Tasks", Quantity.count(counts.total), .plain), tasks(.done, .good),
      tasks(.failed, .bad),
    ] + left + [
      tasks(.unknown, .bad), tasks(.skipped, .warning),
      ("Records", Quantity.count(records), .plain),
      ("Received", Quantity.size(bytes), .plain),
      ("Tasks per second", String(format: "%.1f", rate), .plain),
    ]
  }

  private static let shares = [("50 %", 0.5), ("90 %", 0.9), ("95 %", 0.95), ("99 %", 0.99)]

  private var percentiles: Report.Table {
    let times = Self.shares.map { latency.quantile($0.1) } + [latency.maximum, latency.mean]
    return Report.Table(
      (Self.shares.map(\.0) + ["max", "mean"]).map { Report.Table.Column($0, .figure) },
      rows: [times.map(Self.time)])
  }

  /// The number of tasks over their latency, on a logarithmic scale.
  private var latencyChart: String? {
    let buckets = latency.buckets
    guard let low = buckets.first?.bound, let high = buckets.last?.bound else { return nil }
    let from = log10(max(low * 0.9, 0.01))
    let to = max(log10(max(high * 1.1, 0.02)), from + 0.1)
    var columns = [Double](repeating: 0, count: 48)
    for bucket in buckets {
      let share = (log10(max(bucket.bound, 0.01)) - from) / (to - from)
      columns[min(max(Int(share * 48), 0), 47)] += Double(bucket.count)
    }
    return Chart.columns(
      "Latency distribution", columns.map { [("tasks", $0, 2)] },
      ticks: Chart.ticks(from: from, to: to) { Self.time(milliseconds: pow(10, $0)) },
      text: Self.amount)
  }

  private var throughputChart: String? {
    let part = max(seconds, 0.001) / Double(parts)
    let columns = throughput.map { done, failed in
      [("done", Double(done) / part, 2), ("failed or unknown", Double(failed) / part, 4)]
    }
    return Chart.columns(
      "Tasks per second over the run", columns,
      ticks: Chart.ticks(to: seconds, text: Self.length), text: Self.amount)
  }

  private static func amount(_ value: Double) -> String {
    value < 10 ? String(format: "%.1f", value) : Quantity.count(Int(value))
  }

  private var operations: Report.Table {
    Report.Table(
      [
        Report.Table.Column("Operation", .code), "Tasks", "Done", "Failed", "Unknown", "Skipped",
        "50 %", "95 %", "99 %", "Max",
      ],
      rows: byOperation.prefix(200).map { id, counts, latency in
        let states: [TaskState] = [.done, .failed, .unknown, .skipped]
        let times = [0.5, 0.95, 0.99].map { latency.quantile($0) } + [latency.maximum]
        return [id] + ([counts.total] + states.map { counts[$0] }).map { Quantity.count($0) }
          + times.map(Self.time)
      })
  }

  private static func table(of tasks: [ReportedTask]) -> Report.Table {
    Report.Table(
      [
        Report.Table.Column("Operation", .code), .text("Key"), .text("State"), "HTTP", "Attempts",
        "Time", Report.Table.Column("Why", .prose),
      ],
      rows: tasks.map { task in
        [
          task.operation, task.key, task.state.name, task.http.map { "\($0)" } ?? "",
          "\(task.attempts)", time(milliseconds: task.milliseconds),
          task.error.map(FailureReason.excerpt) ?? "",
        ]
      })
  }
}
