import Batch
import Foundation

/// Tells on standard error how a run stands: a bar on a terminal, else a line every half minute.
final class BatchProgress: Sendable {
  private let control: RunControl
  private let isQuiet: Bool
  private let hasBar = Locked(false)

  init(_ control: RunControl, isQuiet: Bool) {
    self.control = control
    self.isQuiet = isQuiet
  }

  /// Goes on until it is cancelled.
  func show() async {
    guard !isQuiet else { return }
    let start = ContinuousClock.now
    let interval: Duration = Terminal.isErrorTerminal ? .milliseconds(200) : .seconds(30)
    while !Task.isCancelled {
      do { try await Task.sleep(for: interval) } catch { return }
      guard let (counters, inFlight, limit) = await control.counters() else { continue }
      let seconds = (ContinuousClock.now - start).seconds
      let line = Self.line(counters, seconds: seconds, inFlight: inFlight, limit: limit)
      if Terminal.isErrorTerminal {
        hasBar.withLock { $0 = true }
        Self.write("\r\u{1b}[K\(line)")
      } else {
        Terminal.note(line)
      }
    }
  }

  /// Takes the bar away.
  func clear() {
    if hasBar.withLock({ $0 }) { Self.write("\r\u{1b}[K") }
  }

  static func line(
    _ counters: RunCounters, seconds: Double, inFlight: Int, limit: Int
  ) -> String {
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
      parts.append("\(ended) tasks")
    }
    parts.append(String(format: "%.0f/s", rate))
    if counters.failed + counters.unknown > 0 {
      parts.append("\(counters.failed + counters.unknown) failed")
    }
    parts.append("\(inFlight) of \(limit) in flight")
    return parts.joined(separator: "  ")
  }

  static func time(_ seconds: Double) -> String {
    let whole = Int(min(seconds, 1e9).rounded(.up))
    return whole < 60
      ? "\(whole)s"
      : whole < 3_600 ? "\(whole / 60)m\(whole % 60)s" : "\(whole / 3_600)h\(whole / 60 % 60)m"
  }

  private static func write(_ text: String) {
    _ = Array(text.utf8).withUnsafeBytes { Terminal.writeAll($0, to: 2) }
  }
}
