package import Foundation
import GQLRunReport

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
    var metrics = PrometheusText(prefix: "gqlrun_profile_")
    for job in jobs {
      let store = [("store", job.label)]
      for (name, help, value) in [
        ("seconds", "Time of the whole job, median.", job.seconds.median),
        ("cpu_seconds", "Processor time of the job, median.", job.cpuSeconds.median),
        ("peak_bytes", "Maximum resident memory, median.", job.peakBytes.median),
        ("allocations", "Calls of the allocator, median.", job.allocations?.median),
        (
          "floor_ratio", "Time until the commit, divided by that of bare yajl.",
          job.toFloor?.value
        ),
      ] {
        metrics.add("job_\(name)", help: help, labels: store, known: value)
      }
      for stage in job.stages {
        metrics.add(
          "stage_seconds", help: "Time of a stage, median.",
          labels: store + [("stage", stage.name.rawValue)], value: stage.seconds.median)
      }
    }
    for baseline in baselines {
      metrics.add(
        "baseline_seconds", help: "Time of other parsers for the same bytes.",
        labels: [("name", baseline.label)], value: baseline.seconds.median)
    }
    for fetch in network {
      for (phase, seconds) in fetch.phases {
        metrics.add(
          "fetch_seconds", help: "Time of a phase of fetching the response, median.",
          labels: [("pipeline", fetch.label), ("phase", phase.rawValue)], value: seconds.median)
      }
    }
    if let load {
      metrics.add("requests_per_second", help: "Responses per second.", value: load.achievedRate)
      metrics.add(
        "request_seconds", help: "Latency of requests.",
        summary: load.corrected ?? load.uncorrected)
      for phase in load.phases {
        metrics.add(
          "request_phase_seconds", help: "Mean time of a phase of requests.",
          labels: [("phase", phase.name.rawValue)], value: phase.latencies.mean)
      }
      metrics.add(
        "failed_requests", help: "Requests that failed.", value: Double(load.failures))
      metrics.add(
        "responses_with_errors", help: "Responses with GraphQL errors.",
        value: Double(load.graphQLErrors ?? 0))
    }
    if let events = subscription {
      metrics.add(
        "events_per_second", help: "Events of subscriptions per second.",
        value: events.eventsPerSecond)
      metrics.add(
        "event_delivery_seconds", help: "Time from the arrival of an event to its delivery.",
        summary: events.delivery)
      metrics.add(
        "event_jitter_seconds", help: "Mean difference between successive intervals of events.",
        known: events.jitterSeconds)
      metrics.add(
        "reconnects", help: "Lost connections that were opened again.",
        value: Double(events.reconnects))
      metrics.add(
        "lost_connections", help: "Connections that subscriptions have lost.",
        known: events.lost.map(Double.init))
      metrics.add(
        "unopened_subscriptions", help: "Attempts to open a subscription that failed.",
        known: events.failed.map(Double.init))
      metrics.add(
        "event_delay_seconds", help: "Time from that in an event to its delivery.",
        summary: events.delay)
    }
    return metrics.text
  }
}

extension PrometheusText {
  /// Adds a gauge whose value is known.
  fileprivate mutating func add(
    _ name: String, help: String, labels: [(String, String)] = [], known value: Double?
  ) {
    if let value { add(name, help: help, labels: labels, value: value) }
  }

  /// Adds the percentiles of latencies, if there are any.
  fileprivate mutating func add(_ name: String, help: String, summary times: Latencies?) {
    guard let times else { return }
    for point in times.curve {
      add(
        name, help: help, type: .summary,
        labels: [("quantile", String(format: "%g", point.percentile / 100))], value: point.seconds)
    }
    add(
      name, help: help, type: .summary, suffix: "_sum", value: times.mean * Double(times.count))
    add(name, help: help, type: .summary, suffix: "_count", count: UInt64(times.count))
  }
}
