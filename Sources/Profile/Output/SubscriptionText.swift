import Foundation

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
