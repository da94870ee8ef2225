import ArgumentParser
import Foundation
import GQLRunPipeline
import GQLRunSupport

/// The reader of standard output has closed it.
struct ClosedOutput: Error {}

/// Writes to standard output and standard error, with colors and safe for terminals.
enum Terminal {
  static let isErrorTerminal = isatty(2) == 1
  static let isOutputTerminal = isatty(1) == 1

  /// When output is colored.
  enum Coloring: String, CaseIterable, ExpressibleByArgument {
    /// On terminals, unless the environment says otherwise.
    case auto
    case always, never

    /// Whether output is colored.
    ///
    /// `auto` follows `NO_COLOR` (https://no-color.org), then `CLICOLOR_FORCE`
    /// (https://bixense.com/clicolors) and `FORCE_COLOR` (https://force-color.org), then the terminal.
    func applies(onTerminal isTerminal: Bool, _ environment: [String: String]) -> Bool {
      func isSet(_ name: String) -> Bool { !["", "0"].contains(environment[name] ?? "") }
      switch self {
      case .always: return true
      case .never: return false
      case .auto:
        if environment["NO_COLOR"]?.isEmpty == false { return false }
        if isSet("CLICOLOR_FORCE") || isSet("FORCE_COLOR") { return true }
        return isTerminal && environment["TERM"] != "dumb"
      }
    }
  }

  private static let coloring = Locked(Coloring.auto)
  /// Read once: a line takes microseconds, and reading all variables much longer.
  private static let environment = ProcessInfo.processInfo.environment

  /// Sets when output is colored, instead of `auto`.
  static func color(_ choice: Coloring) { coloring.withLock { $0 = choice } }

  /// Whether standard error is colored.
  static var usesColor: Bool { colors(onTerminal: isErrorTerminal) }
  /// Whether standard output is colored.
  static var colorsOutput: Bool { colors(onTerminal: isOutputTerminal) }

  private static func colors(onTerminal isTerminal: Bool) -> Bool {
    coloring.withLock { $0 }.applies(onTerminal: isTerminal, environment)
  }

  enum Style: String {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case cyan = "36"
  }

  static func styled(_ text: String, _ style: Style) -> String {
    usesColor ? "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m" : text
  }

  /// The line that ``showStatus(_:)`` shows; `nil` if there is none.
  private static let status = Locked<String?>(nil)
  private static let clearedLine = "\r\u{1b}[K"

  /// Prints a line to standard error, above the status line.
  static func note(_ line: String = "") {
    status.withLock { status in
      let (before, after) = status.map { (clearedLine, $0) } ?? ("", "")
      writeToError(before + line + "\n" + after)
    }
  }

  /// Replaces the last line of the terminal, such as a progress bar; `nil` removes it.
  static func showStatus(_ line: String?) {
    guard isErrorTerminal else { return }
    status.withLock { status in
      guard line != status else { return }
      status = line.map { String($0.prefix(columns - 1)) }
      writeToError(clearedLine + (status ?? ""))
    }
  }

  /// Shows the text of `line` at intervals until the task is cancelled, then removes it; `nil` keeps the text before.
  static func showStatus(every interval: Duration, _ line: () async -> String?) async {
    while (try? await Task.sleep(for: interval)) != nil {
      if let line = await line() { showStatus(line) }
    }
    showStatus(nil)
  }

  /// The width of the terminal.
  private static var columns: Int {
    var size = winsize()
    return ioctl(2, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1 ? Int(size.ws_col) : 80
  }

  private static func writeToError(_ text: String) {
    // A closed standard error cannot be reported.
    _ = SystemIO.writeAll(Array(text.utf8), to: 2)
  }

  static func error(_ message: String) { note(message, as: "error:", .red) }
  /// Prints an error of a result.
  static func graphQLError(_ message: String) { note(message, as: "graphql error:", .red) }
  /// Prints information that is not a problem.
  static func hint(_ message: String) { note(message, as: "note:", .cyan) }
  static func warning(_ message: String) { note(message, as: "warning:", .yellow) }

  private static func note(_ message: String, as kind: String, _ style: Style) {
    note(styled(kind, style) + " " + safe(message))
  }

  /// Escapes the control characters of text from outside.
  static func safe(_ text: String) -> String { Printable.lines(text) }

  /// Escapes output to a terminal; `nil` if standard output is not one.
  private static let escaper = Locked<TerminalEscaper?>(
    isOutputTerminal ? TerminalEscaper() : nil)

  /// Writes bytes to standard output.
  ///
  /// On a terminal, escapes control characters; see `TerminalEscaper`. Otherwise writes the bytes
  /// unchanged.
  ///
  /// - Throws: ``ClosedOutput`` if the reader has closed standard output.
  ///
  /// - Parameter colors: Adds colors to JSON text; `nil`, the default, adds none.
  static func write(_ bytes: UnsafeRawBufferPointer, colors: inout JSONColors?) throws {
    let escaped = escaper.withLock { $0?.escape(bytes) }
    guard colors != nil else {
      guard let escaped else { return try writeRaw(bytes) }
      return try escaped.withUnsafeBytes { try writeRaw($0) }
    }
    var colored: [UInt8] = []
    if let escaped {
      escaped.withUnsafeBytes { colors?.append($0, to: &colored) }
    } else {
      colors?.append(bytes, to: &colored)
    }
    try colored.withUnsafeBytes { try writeRaw($0) }
  }

  private static func writeRaw(_ bytes: UnsafeRawBufferPointer) throws {
    switch OutputWatch.write(bytes) {
    case 0: return
    case EPIPE: throw ClosedOutput()
    case let code:
      let reason = code == EBADF ? "it is closed" : String(cString: strerror(code))
      throw Failure(.failed, "cannot write to standard output: \(reason)")
    }
  }

  static func write(_ text: String) throws {
    try Array(text.utf8).withUnsafeBytes { try write($0) }
  }

  static func write(_ bytes: UnsafeRawBufferPointer) throws {
    var colors: JSONColors?
    try write(bytes, colors: &colors)
  }
}
