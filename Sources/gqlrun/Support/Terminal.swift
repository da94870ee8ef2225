import Foundation

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
    let bytes = Array((line + "\n").utf8)
    // Nothing can be said about a standard error that is gone.
    _ = bytes.withUnsafeBytes { writeAll($0, to: 2) }
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

  /// Text from outside, made harmless for a terminal: control characters are shown, not sent.
  static func safe(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n", "\t": result.unicodeScalars.append(scalar)
      case let scalar where scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value):
        result += "\\u{\(String(scalar.value, radix: 16))}"
      // Marks that turn the direction of text can hide what a line says.
      case "\u{202a}"..."\u{202e}", "\u{2066}"..."\u{2069}":
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Writes bytes to standard output; throws ``ClosedOutput`` when its reader has gone.
  static func write(_ bytes: UnsafeRawBufferPointer) throws {
    switch writeAll(bytes, to: 1) {
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

  /// Writes all bytes; returns 0 or the error number.
  static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var offset = 0
    while offset < bytes.count {
      let written = Foundation.write(
        descriptor, bytes.baseAddress?.advanced(by: offset), bytes.count - offset)
      if written < 0 {
        if errno == EINTR { continue }
        if errno == EAGAIN {
          var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = Foundation.poll(&poll, 1, -1)
          continue
        }
        return errno
      }
      offset += written
    }
    return 0
  }
}
