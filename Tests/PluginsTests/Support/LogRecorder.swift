import GQLRunSupport
import Logging

/// Keeps the lines of a log.
final class LogRecorder: Sendable {
  private let entries = Monitor<[(level: Logger.Level, text: String)]>([])

  /// The messages of level info and above.
  var lines: [String] {
    entries.withLock { $0.filter { $0.level >= .info }.map(\.text) }
  }

  /// Each message with its level, debug ones too.
  var leveledLines: [String] {
    entries.withLock { $0.map { "\($0.level.rawValue): \($0.text)" } }
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
    try? await entries.wait { $0.count { $0.text.contains(part) } >= count }
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
      recorder.entries.update { $0.append((event.level, "\(event.message)\(details)")) }
    }
  }
}
