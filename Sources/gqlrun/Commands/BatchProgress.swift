import Foundation
import GQLRunBatch
import GQLRunSupport

/// Shows the progress of a run on standard error: a bar on a terminal, otherwise a line every 30
/// seconds.
final class BatchProgress: Sendable {
  private let control: RunControl
  private let isQuiet: Bool
  private let hasBar = Locked(false)

  init(_ control: RunControl, isQuiet: Bool) {
    self.control = control
    self.isQuiet = isQuiet
  }

  /// Shows the progress until the task is cancelled.
  ///
  /// Polls at fixed intervals instead of observing changes: there are thousands per second, and the
  /// rate and the remaining time change even without any.
  func show() async {
    guard !isQuiet else { return }
    let start = ContinuousClock.now
    let interval: Duration = Terminal.isErrorTerminal ? .milliseconds(200) : .seconds(30)
    while !Task.isCancelled {
      do { try await Task.sleep(for: interval) } catch { return }
      guard let standing = await control.standing() else { continue }
      let line = Self.line(standing, seconds: (ContinuousClock.now - start).seconds)
      if Terminal.isErrorTerminal {
        hasBar.withLock { $0 = true }
        Self.write("\r\u{1b}[K\(line)")
      } else {
        Terminal.note(line)
      }
    }
  }

  /// Removes the bar.
  func clear() {
    if hasBar.withLock({ $0 }) { Self.write("\r\u{1b}[K") }
  }

  static func line(_ standing: RunStanding, seconds: Double) -> String {
    let counters = standing.counters
    let ended = counters.ended + counters.alreadyDone
    let rate = seconds > 0 ? Double(counters.ended) / seconds : 0
    var parts: [String] = []
    if let total = counters.total, total > 0 {
      let share = min(Double(ended) / Double(total), 1)
      let filled = Int(share * 24)
      parts.append(
        "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: 24 - filled)
          + "] \(ended)/\(total)")
      if rate > 0, ended < total {
        parts.append("\(time(Double(total - ended) / rate)) left")
      }
    } else {
      parts.append(Format.count(ended, "task"))
    }
    parts.append(String(format: "%.0f/s", rate))
    if counters.failed + counters.unknown > 0 {
      parts.append("\(counters.failed + counters.unknown) failed")
    }
    if let budget = standing.budget {
      let all = budget.all.map { String(format: " of %.0f", $0) } ?? ""
      parts.append(String(format: "budget %.0f", budget.left) + all)
    }
    parts.append("\(standing.inFlight) of \(standing.limit) in flight")
    return parts.joined(separator: "  ")
  }

  static func time(_ seconds: Double) -> String {
    let whole = Int(min(seconds, 1e9).rounded(.up))
    return whole < 60
      ? "\(whole)s"
      : whole < 3_600 ? "\(whole / 60)m\(whole % 60)s" : "\(whole / 3_600)h\(whole / 60 % 60)m"
  }

  private static func write(_ text: String) {
    _ = SystemIO.writeAll(Array(text.utf8), to: 2)
  }
}
