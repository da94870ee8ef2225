package import Foundation

extension ProfileReport {
  /// The stages as folded stacks, in microseconds, for `flamegraph.pl`, speedscope and similar
  /// tools.
  ///
  /// https://github.com/brendangregg/FlameGraph#2-fold-stacks
  package var foldedStacks: String {
    var lines: [String] = []
    for job in jobs {
      for stage in job.stages where stage.seconds.median > 0 {
        let name = stage.name.rawValue.replacingOccurrences(of: " ", with: "_")
        let label = job.label.replacingOccurrences(of: " ", with: "_")
          .replacingOccurrences(of: ";", with: "_")
        lines.append("gqlrun;\(label);\(name) \(Int((stage.seconds.median * 1e6).rounded()))")
      }
    }
    return lines.map { $0 + "\n" }.joined()
  }

  /// The stages as a trace for `chrome://tracing` and Perfetto: each job is a process, with its
  /// stages in sequence and its memory as a counter.
  ///
  /// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
  package func chromeTrace() throws -> Data {
    var events: [TraceEvent] = []
    for (number, job) in jobs.enumerated() {
      events.append(
        TraceEvent(
          name: "process_name", ph: "M", ts: 0, pid: number + 1,
          args: ["name": .text("store \(job.label)")]))
      var start = 0.0
      for stage in job.stages {
        events.append(
          TraceEvent(
            name: stage.name.rawValue, ph: "X", ts: start * 1e6, dur: stage.seconds.median * 1e6,
            pid: number + 1, tid: 1,
            args: [
              "share": .number(stage.share), "cpu_ms": .number(stage.cpuSeconds * 1e3),
              "MB_per_s": .number(stage.megabytesPerSecond ?? 0),
            ]))
        start += stage.seconds.median
      }
      for sample in job.memory {
        events.append(
          TraceEvent(
            name: "resident", ph: "C", ts: sample.seconds * 1e6, pid: number + 1,
            args: ["bytes": .number(Double(sample.resident))]))
      }
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(["traceEvents": events])
  }

  private struct TraceEvent: Encodable {
    enum Value: Encodable {
      case text(String)
      case number(Double)

      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        }
      }
    }

    var name: String
    var ph: String
    var ts: Double
    var dur: Double?
    var pid: Int
    var tid: Int?
    var args: [String: Value]
  }

  /// The figures in the text format of Prometheus, version 0.0.4.
  ///
  /// https://prometheus.io/docs/instrumenting/exposition_formats/
  package var prometheus: String {
    var metrics = PrometheusText()
    for job in jobs {
      let store = [("store", job.label)]
      metrics.add(
        "job_seconds", help: "Time of the whole job, median.", labels: store,
        value: job.seconds.median)
      metrics.add(
        "job_cpu_seconds", help: "Processor time of the job, median.", labels: store,
        value: job.cpuSeconds.median)
      metrics.add(
        "job_peak_bytes", help: "Maximum resident memory, median.", labels: store,
        value: job.peakBytes.median)
      if let allocations = job.allocations {
        metrics.add(
          "job_allocations", help: "Calls of the allocator, median.", labels: store,
          value: allocations.median)
      }
      if let ratio = job.toFloor {
        metrics.add(
          "job_floor_ratio", help: "Time until the commit, divided by that of bare yajl.",
          labels: store,
          value: ratio.value)
      }
      for stage in job.stages {
        let labels = store + [("stage", stage.name.rawValue)]
        metrics.add(
          "stage_seconds", help: "Time of a stage, median.", labels: labels,
          value: stage.seconds.median)
      }
    }
    for baseline in baselines {
      metrics.add(
        "baseline_seconds", help: "Time of other parsers for the same bytes.",
        labels: [("name", baseline.label)],
        value: baseline.seconds.median)
    }
    for fetch in network {
      for (phase, seconds) in fetch.phases {
        metrics.add(
          "fetch_seconds", help: "Time of a phase of fetching the response, median.",
          labels: [("pipeline", fetch.label), ("phase", phase.rawValue)], value: seconds.median)
      }
    }
    if let load {
      metrics.add(
        "requests_per_second", help: "Responses per second.", labels: [], value: load.achievedRate)
      let times = load.corrected ?? load.uncorrected
      for point in times.curve {
        metrics.add(
          "request_seconds", help: "Latency of requests.",
          labels: [("quantile", String(format: "%g", point.percentile / 100))],
          value: point.seconds,
          type: "summary")
      }
      metrics.close("request_seconds", sum: times.mean * Double(times.count), count: times.count)
      for phase in load.phases {
        metrics.add(
          "request_phase_seconds", help: "Mean time of a phase of requests.",
          labels: [("phase", phase.name.rawValue)], value: phase.latencies.mean)
      }
      metrics.add(
        "failed_requests", help: "Requests that failed.", labels: [], value: Double(load.failures))
    }
    if let subscription { add(subscription, to: &metrics) }
    return metrics.text
  }

  private func add(_ events: SubscriptionReport, to metrics: inout PrometheusText) {
    metrics.add(
      "events_per_second", help: "Events of subscriptions per second.", labels: [],
      value: events.eventsPerSecond)
    if let times = events.delivery {
      for point in times.curve {
        metrics.add(
          "event_delivery_seconds", help: "Time from the arrival of an event to its delivery.",
          labels: [("quantile", String(format: "%g", point.percentile / 100))],
          value: point.seconds,
          type: "summary")
      }
      metrics.close(
        "event_delivery_seconds", sum: times.mean * Double(times.count), count: times.count)
    }
    if let jitter = events.jitterSeconds {
      metrics.add(
        "event_jitter_seconds", help: "Mean difference between successive intervals of events.",
        labels: [],
        value: jitter)
    }
    metrics.add(
      "reconnects", help: "Lost connections that were opened again.", labels: [],
      value: Double(events.reconnects))
  }
}

private struct PrometheusText {
  private var names: [String] = []
  private var samples: [String: (help: String, type: String, lines: [String])] = [:]

  mutating func add(
    _ name: String, help: String, labels: [(String, String)], value: Double,
    type: String = "gauge"
  ) {
    let full = "gqlrun_profile_\(name)"
    if samples[full] == nil { names.append(full) }
    let list = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
    let line = "\(full)\(list.isEmpty ? "" : "{\(list)}") \(value)"
    samples[full, default: (help, type, [])].lines.append(line)
  }

  /// Writes the end of a summary.
  mutating func close(_ name: String, sum: Double, count: Int) {
    let full = "gqlrun_profile_\(name)"
    samples[full]?.lines += ["\(full)_sum \(sum)", "\(full)_count \(count)"]
  }

  private static func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
      .replacingOccurrences(of: "\n", with: "\\n")
  }

  var text: String {
    names.map { name in
      let sample = samples[name] ?? ("", "gauge", [])
      return "# HELP \(name) \(sample.help)\n# TYPE \(name) \(sample.type)\n"
        + sample.lines.map { $0 + "\n" }.joined()
    }.joined()
  }
}
