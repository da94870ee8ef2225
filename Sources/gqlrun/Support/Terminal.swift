import Foundation
import GQLRunPipeline
import GQLRunSupport

/// The reader of standard output has closed it.
struct ClosedOutput: Error {}

/// Standard output and standard error: what goes where, with which colours, and safely.
enum Terminal {
  static let isErrorTerminal = isatty(2) == 1
  static let isOutputTerminal = isatty(1) == 1

  /// Colours only on a terminal, and not with `NO_COLOR` (https://no-color.org) or a dumb terminal.
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

  /// A line on standard error.
  static func note(_ line: String = "") {
    // A closed standard error cannot be reported.
    _ = SystemIO.writeAll(Array((line + "\n").utf8), to: 2)
  }

  static func error(_ message: String) {
    note(styled("error:", .red) + " " + safe(message))
  }

  /// Something that is not wrong but that the reader may want to know.
  static func hint(_ message: String) {
    note(styled("note:", .cyan) + " " + safe(message))
  }

  static func warning(_ message: String) {
    note(styled("warning:", .yellow) + " " + safe(message))
  }

  /// Text from outside that is safe for a terminal: control characters are shown, not sent.
  static func safe(_ text: String) -> String { Printable.lines(text) }

  /// Escapes what goes to a terminal; `nil` when standard output is none.
  private static let escaper = Locked<TerminalEscaper?>(
    isOutputTerminal ? TerminalEscaper() : nil)

  /// Writes bytes to standard output; throws ``ClosedOutput`` when its reader has gone.
  ///
  /// On a terminal, characters that it would obey are escaped; see `TerminalEscaper`. Otherwise the bytes are
  /// written as they are.
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
