import Foundation
import GQLRunPipeline
import GQLRunSupport

/// The reader of standard output has closed it.
struct ClosedOutput: Error {}

/// Writes to standard output and standard error, with colors and safe for terminals.
enum Terminal {
  static let isErrorTerminal = isatty(2) == 1
  static let isOutputTerminal = isatty(1) == 1

  /// Colors only on a terminal, unless `NO_COLOR` (https://no-color.org) is set or the terminal is
  /// dumb.
  static let usesColor =
    isErrorTerminal && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
    && ProcessInfo.processInfo.environment["TERM"] != "dumb"

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

  /// Prints a line to standard error.
  static func note(_ line: String = "") {
    // A closed standard error cannot be reported.
    _ = SystemIO.writeAll(Array((line + "\n").utf8), to: 2)
  }

  static func error(_ message: String) {
    note(styled("error:", .red) + " " + safe(message))
  }

  /// Prints information that is not a problem.
  static func hint(_ message: String) {
    note(styled("note:", .cyan) + " " + safe(message))
  }

  static func warning(_ message: String) {
    note(styled("warning:", .yellow) + " " + safe(message))
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
  static func write(_ bytes: UnsafeRawBufferPointer) throws {
    guard let text = escaper.withLock({ $0?.escape(bytes) }) else { return try writeRaw(bytes) }
    try text.withUnsafeBytes { try writeRaw($0) }
  }

  private static func writeRaw(_ bytes: UnsafeRawBufferPointer) throws {
    switch SystemIO.writeAll(bytes, to: 1) {
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
}
