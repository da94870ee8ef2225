import Foundation
import Logging

/// Keeps the lines of a log.
final class LogRecorder: @unchecked Sendable {
  // Unchecked: `entries` is only touched while `lock` is held.
  private let lock = NSLock()
  private var entries: [(level: Logger.Level, text: String)] = []
  private var watchers:
    [(part: String, missing: Int, continuation: CheckedContinuation<Void, Never>)] =
      []

  /// The messages of level info and above.
  var lines: [String] {
    lock.withLock { entries.filter { $0.level >= .info }.map(\.text) }
  }

  /// Each message with its level, debug ones too.
  var leveledLines: [String] {
    lock.withLock { entries.map { "\($0.level.rawValue): \($0.text)" } }
  }

  /// Everything, for a search for what must not be there.
  var everything: String { leveledLines.joined(separator: "\n") }

  var logger: Logger {
    var logger = Logger(label: "test") { _ in Handler(recorder: self) }
    logger.logLevel = .trace
    return logger
  }

  /// Waits until so many lines have the part.
  func lines(_ count: Int, with part: String) async {
    await withCheckedContinuation { continuation in
      let isThere = lock.withLock {
        let missing = count - entries.count { $0.text.contains(part) }
        if missing > 0 { watchers.append((part, missing, continuation)) }
        return missing <= 0
      }
      if isThere { continuation.resume() }
    }
  }

  private func add(_ level: Logger.Level, _ text: String) {
    let woken = lock.withLock {
      entries.append((level, text))
      for index in watchers.indices where text.contains(watchers[index].part) {
        watchers[index].missing -= 1
      }
      defer { watchers.removeAll { $0.missing <= 0 } }
      return watchers.filter { $0.missing <= 0 }.map(\.continuation)
    }
    for continuation in woken { continuation.resume() }
  }

  private struct Handler: LogHandler {
    let recorder: LogRecorder
    var logLevel = Logger.Level.trace
    var metadata = Logger.Metadata()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let details = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        .map { " \($0.key)=\($0.value)" }.joined()
      recorder.add(event.level, "\(event.message)\(details)")
    }
  }
}
