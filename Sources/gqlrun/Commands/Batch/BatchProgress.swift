import Foundation
import GQLRunBatch
import GQLRunSupport

/// Shows the progress of a run on standard error: one line that changes on a terminal, otherwise a
/// line every 30 seconds, and when the server becomes unreachable.
final class BatchProgress: Sendable {
  private let control: RunControl
  private let isQuiet: Bool
  /// Whether the progress is the number of rows and not that of tasks.
  private let countsRows: Bool

  init(_ control: RunControl, isQuiet: Bool, countsRows: Bool = false) {
    self.control = control
    self.isQuiet = isQuiet
    self.countsRows = countsRows
  }

  /// Shows the progress until the task is cancelled.
  ///
  /// Polls at fixed intervals instead of observing changes: there are thousands per second, and the
  /// rate and the remaining time change even without any.
  func show() async {
    guard !isQuiet else { return }
    let start = ContinuousClock.now
    var log = ProgressLog(countsRows: countsRows)
    while !Task.isCancelled {
      do { try await Task.sleep(for: .milliseconds(200)) } catch { break }
      guard let standing = await control.standing() else { continue }
      let seconds = (ContinuousClock.now - start).seconds
      if Terminal.isErrorTerminal {
        Terminal.showStatus(ProgressLog.line(standing, seconds: seconds, countsRows: countsRows))
      } else if let line = log.next(standing, seconds: seconds) {
        Terminal.note(line)
      }
    }
    Terminal.showStatus(nil)
  }
}

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
