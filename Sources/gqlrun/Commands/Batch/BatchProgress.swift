import Foundation
import GQLRunBatch
import GQLRunSupport

/// The progress of a run as text.
struct ProgressLog {
  /// The time between two lines in a log, in seconds.
  private static let interval = 30.0
  /// Shorter outages are not reported.
  private static let shortest = Duration.seconds(1)

  /// Whether the progress is the number of rows and not that of tasks.
  private let countsRows: Bool
  private var lastLine = 0.0
  private var outage: Outage?

  init(countsRows: Bool = false) { self.countsRows = countsRows }

  /// Shows the progress of a run on standard error until the task is cancelled: one line that changes on a terminal,
  /// otherwise a line every 30 seconds, and when the server becomes unreachable.
  ///
  /// Polls at fixed intervals instead of observing changes: there are thousands per second, and the
  /// rate and the remaining time change even without any.
  static func show(_ control: RunControl, countsRows: Bool) async {
    let start = ContinuousClock.now
    var log = ProgressLog(countsRows: countsRows)
    await Terminal.showStatus(every: .milliseconds(200)) {
      guard let standing = await control.standing() else { return nil }
      let seconds = (ContinuousClock.now - start).seconds
      if Terminal.isErrorTerminal {
        return line(standing, seconds: seconds, countsRows: countsRows)
      }
      if let line = log.next(standing, seconds: seconds) { Terminal.note(line) }
      return nil
    }
  }

  /// The next line of a log; `nil` if there is nothing to report yet.
  ///
  /// - Parameter seconds: The time since the start of the run.
  mutating func next(_ standing: RunStanding, seconds: Double) -> String? {
    if let current = standing.outage, current.duration >= Self.shortest {
      let isNew = outage?.kind != current.kind
      outage = current
      if isNew {
        lastLine = seconds
        return "\(current)"
      }
    } else if standing.outage == nil, let past = outage {
      outage = nil
      return "server responds again after \(Quantity.clockTime(past.duration.seconds))"
    }
    guard seconds - lastLine >= Self.interval else { return nil }
    lastLine = seconds
    return Self.line(standing, seconds: seconds, countsRows: countsRows)
  }

  /// The progress in one line.
  static func line(_ standing: RunStanding, seconds: Double, countsRows: Bool = false) -> String {
    let counters = standing.counters
    let ended = counters.ended + counters.alreadyDone
    let rate = seconds > 0 ? Double(counters.ended) / seconds : 0
    var parts: [String] = []
    if let outage = standing.outage, outage.duration >= shortest { parts.append("\(outage)") }
    if countsRows {
      parts.append("\(Quantity.count(counters.records)) rows")
    } else if let total = counters.total, total > 0 {
      let share = min(Double(ended) / Double(total), 1)
      let filled = Int(share * 24)
      parts.append(
        "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: 24 - filled)
          + "] \(ended)/\(total)")
      if rate > 0, ended < total, standing.outage == nil {
        parts.append("\(Quantity.clockTime(Double(total - ended) / rate)) left")
      }
    } else {
      parts.append(Quantity.count(ended, "task"))
    }
    let rows = seconds > 0 ? Double(counters.records) / seconds : 0
    parts.append(String(format: "%.0f/s", countsRows ? rows : rate))
    if counters.bulkObjects > 0 {
      parts.append("bulk operation: \(Quantity.count(counters.bulkObjects)) objects")
    }
    if counters.failed > 0 { parts.append("\(counters.failed) failed") }
    if counters.unknown > 0 { parts.append("\(counters.unknown) unknown") }
    if let budget = standing.budget {
      let all = budget.all.map { String(format: " of %.0f", $0) } ?? ""
      parts.append(String(format: "budget %.0f", budget.left) + all)
    }
    parts.append("\(standing.inFlight) of \(standing.limit) in flight")
    return parts.joined(separator: "  ")
  }
}
