import Foundation

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
