import GQLRunSupport
import Logging

/// Logs one run to standard error.
enum RunLog {
  /// The last logged failure of an operation, if it is not printed yet.
  private static let held = Locked<String?>(nil)

  /// - Parameters:
  ///   - verbosity: How often -v is given.
  ///   - isQuiet: Whether warnings are left out; without effect on the lines that -v requests.
  static func logger(verbosity: Int, isQuiet: Bool) -> Logger {
    var logger = Logger(label: "gqlrun") { _ in
      StandardErrorLog(showsFailures: verbosity > 0)
    }
    logger.logLevel =
      verbosity > 1 ? .debug : verbosity == 1 ? .info : isQuiet ? .critical : .warning
    return logger
  }

  /// Withholds the log line of a failed operation: if the failure ends the run, it is reported as
  /// an error.
  static func hold(_ line: String) {
    printHeld()
    held.withLock { $0 = line }
  }

  /// Prints the withheld line, because the run continued after the failure.
  static func printHeld() {
    guard let line = held.withLock({ $0.take() }) else { return }
    Terminal.note(Terminal.styled(line, .red))
  }

  /// Prints the withheld line unless it ends with `message`, the error that ends the run.
  static func end(with message: String) {
    let isSame = held.withLock { line in
      guard !message.isEmpty, line?.hasSuffix(Terminal.safe(message)) == true else { return false }
      line = nil
      return true
    }
    if !isSame { printHeld() }
  }
}

/// Writes log lines to standard error, without dates, since a run is short and read by a person.
struct StandardErrorLog: LogHandler {
  /// Whether to log failed operations. A failure that ends the run is reported at its end, and one
  /// that a retry overcame matters only with `-v`.
  var showsFailures = true
  var logLevel = Logger.Level.info
  var metadata = Logger.Metadata()

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let details = (event.metadata ?? [:]).merging(metadata) { first, _ in first }
      .sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    let text = Terminal.safe("\(event.message)\(details)")
    switch text.first {
    case "✗":
      if showsFailures { RunLog.hold(text) }
      return
    case "→", "←", "↻": RunLog.printHeld()
    default: break
    }
    switch event.level {
    case .error, .critical: Terminal.note(Terminal.styled(text, .red))
    case .warning: Terminal.note(Terminal.styled("warning: ", .yellow) + text)
    default: Terminal.note(Terminal.styled(text, .dim))
    }
  }
}
