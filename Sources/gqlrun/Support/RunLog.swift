import Logging

/// The log of one run: lines on standard error.
enum RunLog {
  static func logger(verbosity: Int, isQuiet: Bool) -> Logger {
    var logger = Logger(label: "gqlrun") { _ in
      StandardErrorLog(leavesErrorsToTheEnd: verbosity == 0)
    }
    logger.logLevel =
      isQuiet ? .critical : verbosity == 0 ? .warning : verbosity == 1 ? .info : .debug
    return logger
  }
}

/// Writes log lines to standard error, without date: a run is short, and its reader is a person.
struct StandardErrorLog: LogHandler {
  /// An error that ends the run is told when it ends; one that does not was overcome. Neither is
  /// worth a line to somebody who did not ask what happens in between.
  var leavesErrorsToTheEnd = false
  var logLevel = Logger.Level.info
  var metadata = Logger.Metadata()

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    if event.level == .error && leavesErrorsToTheEnd { return }
    let details = (event.metadata ?? [:]).merging(metadata) { first, _ in first }
      .sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    let text = Terminal.safe("\(event.message)\(details)")
    switch event.level {
    case .error, .critical: Terminal.note(Terminal.styled(text, .red))
    case .warning: Terminal.note(Terminal.styled("warning: ", .yellow) + text)
    default: Terminal.note(Terminal.styled(text, .dim))
    }
  }
}
