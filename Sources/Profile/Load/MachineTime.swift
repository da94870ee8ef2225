import Foundation

/// The time that the machine's processors have spent since boot.
package struct MachineTime: Sendable {
  package var busy: Double
  package var all: Double

  package init(busy: Double, all: Double) {
    self.busy = busy
    self.all = all
  }

  /// The current time; `nil` without `/proc`.
  ///
  /// https://man7.org/linux/man-pages/man5/proc_stat.5.html
  package static func current() -> MachineTime? {
    guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
    let line = text.prefix { $0 != "\n" }
    // cpu user nice system idle iowait irq softirq steal …; guest time is in user already.
    let times = line.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
    guard line.hasPrefix("cpu "), times.count == 8 else { return nil }
    let all = times.reduce(0, +)
    return MachineTime(busy: all - times[3] - times[4], all: all)
  }

  /// The share of the time since `earlier` in which processors were busy.
  func load(since earlier: MachineTime) -> Double? {
    all > earlier.all ? (busy - earlier.busy) / (all - earlier.all) : nil
  }
}
