import Foundation
import GQLRunJSON
import GQLRunReport
import GQLRunSupport

extension ReportData {
  /// The report of the run as a page, with the figures of the JSON report.
  func page(_ manifest: Manifest) throws -> String {
    var report = try report(manifest)
    report.json = json(manifest.thresholds).jsonText()
    return report.html
  }

  private func report(_ manifest: Manifest) throws -> Report {
    let missed = missed(manifest.thresholds)
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
    report.sections += try reasons(manifest)
    report.sections += [
      Report.Section("Tasks over time", try timeline()),
      Report.Section("Throughput in tasks per second", [.chart(throughputChart)]),
      Report.Section("Latency", [.chart(latencyChart), .table(percentiles)]),
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

  // MARK: Reasons

  /// Why tasks failed and which mutations have an unknown outcome, each with the commands that continue.
  private func reasons(_ manifest: Manifest) throws -> [Report.Section] {
    let reasons = try FailureReasons(journal, manifest)
    let (unknown, failed) = (
      reasons.all.filter { $0.state == .unknown }, reasons.all.filter { $0.state != .unknown }
    )
    let isQueue = manifest.queueURL != nil
    let file = QuotedText.shellPath(file)
    let run = isQueue ? "gqlrun batch worker \(file)" : "gqlrun batch run \(file) --resume"
    var sections: [Report.Section] = []
    if !failed.isEmpty {
      let table = Self.section("Why tasks failed", Self.table(of: failed), of: failed.count)
      let repeats =
        isQueue
        ? ["gqlrun batch retry \(file) --failed", run]
        : ["gqlrun batch run \(file) --only failed"]
      sections.append(
        Report.Section(
          table.title,
          table.blocks + [.line("To run the failed tasks again:", .soft), .list(repeats)]))
    }
    if !unknown.isEmpty {
      let keys = unknown.flatMap { reason in reason.keys.map { [reason.operation, $0] } }
      let table = Report.Table(
        [Report.Table.Column("Operation", .code), .text("Key")], caption: "Their keys",
        rows: Array(keys.prefix(Self.maxKeys)))
      let only = "gqlrun batch resolve \(file)"
      sections.append(
        Report.Section(
          "Mutations with an unknown outcome",
          [
            .line(
              "They were sent, and no response was recorded. Look on the server whether it executed them, "
                + "then record those that it did, and queue the others again:", .soft),
            .list(["\(only) --done KEY…", "\(only) --retry KEY…", run]),
            .table(Self.table(of: unknown)),
          ]
            + Self.section("", table, of: reasons.unknown).blocks))
    }
    if counts[.queued] + counts[.running] > 0 {
      sections.append(
        Report.Section(
          "Tasks that have not ended",
          [
            .line(
              "\(Quantity.count(counts[.queued] + counts[.running], "task")); to continue the run:",
              .soft), .list([run]),
          ]))
    }
    return sections
  }

  /// The most reasons in a table.
  private static let maxReasons = 50
  /// The most keys in a table.
  private static let maxKeys = 200

  private static func table(of reasons: [FailureReason]) -> Report.Table {
    Report.Table(
      [
        Report.Table.Column("Operation", .code), "Tasks", .text("State"), "HTTP", .text("First"),
        "Last",
        Report.Table.Column("Reason", .prose),
      ],
      rows: reasons.sorted { $0.count > $1.count }.prefix(maxReasons).map { reason in
        [
          reason.operation, Quantity.count(reason.count), reason.state.name,
          reason.http.map { "\($0)" } ?? "", reason.first, reason.lastTime,
          FailureReason.excerpt(of: reason.message),
        ]
      })
  }

  // MARK: Tasks over time

  /// The most tasks in the waterfall.
  private static let maxSpans = 200

  /// The tasks that did not succeed and the slowest ones, by their start.
  ///
  /// The journal has the end of a task and the duration of its requests. A task that waited between them, or was
  /// continued by a later run, started earlier than that.
  private func timeline() throws -> [Report.Block] {
    let tasks = try Self.tasks(
      journal, "attempts > 0 AND ended > 0 ORDER BY state = 2, ms DESC LIMIT \(Self.maxSpans)")
    let ended = latency.count
    let length = max(seconds, 0.001)
    func place(_ time: Double) -> Double { min(max((time - first) / length, 0), 1) }
    let spans = tasks.map { task -> Chart.Span in
      let end = place(task.ended)
      return (
        name: task.key.isEmpty ? task.operation : "\(task.operation) \(task.key)",
        range: min(place(task.ended - task.milliseconds / 1000), end)...end,
        kind: (name: task.state.name, color: Self.color(task.state)),
        detail: "\(task.state.name), \(Self.time(milliseconds: task.milliseconds))"
          + (task.error.map { ", \(FailureReason.excerpt(of: $0))" } ?? "")
      )
    }.sorted {
      ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound)
    }
    let chart = Chart.waterfall(
      "Waterfall of the tasks, by their start", spans,
      ticks: Chart.ticks(to: seconds, text: Self.length))
    let shown =
      ended > tasks.count
      ? "The \(tasks.count) of \(Quantity.count(ended)) tasks that did not succeed or took longest. "
      : ""
    return [
      .line(shown + "A bar is as long as the requests of the task, and ends with it.", .soft),
      .chart(chart),
    ]
  }

  private static func color(_ state: TaskState) -> Int {
    switch state {
    case .done: 2
    case .failed: 4
    case .unknown: 7
    case .queued, .running, .skipped: 0
    }
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
      "Number of tasks by latency", columns.map { [("tasks", $0, 2)] },
      ticks: Chart.ticks(from: from, to: to) { Self.time(milliseconds: pow(10, $0)) },
      text: Quantity.number)
  }

  private var throughputChart: String? {
    let part = max(seconds, 0.001) / Double(parts)
    let columns = throughput.map { done, failed in
      [("failed or unknown", Double(failed) / part, 4), ("done", Double(done) / part, 2)]
    }
    return Chart.columns(
      "Tasks per second over the run", columns,
      ticks: Chart.ticks(to: seconds, text: Self.length), text: Quantity.number)
  }

  private var operations: Report.Table {
    Report.Table(
      [
        Report.Table.Column("Operation", .code), "Tasks", "Done", "Failed", "Unknown", "Skipped",
        "50 %", "95 %", "99 %", "Max",
      ],
      rows: byOperation.prefix(200).map { id, counts, latency in
        let times = [0.5, 0.95, 0.99].map { latency.quantile($0) } + [latency.maximum]
        let numbers = [counts.total] + TaskState.ended.map { counts[$0] }
        return [id] + numbers.map { Quantity.count($0) } + times.map(Self.time)
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
