import Foundation

/// A system call on a file that failed.
package struct SystemError: Error, Sendable, CustomStringConvertible {
  /// What was being done: "read", "lock".
  package var action: String
  /// The file.
  package var path: String
  /// The error number, `errno(3)`.
  package var code: Int32

  /// - Parameter code: The error number; that of the last system call by default.
  package init(_ action: String, _ path: String, _ code: Int32 = errno) {
    self.action = action
    self.path = path
    self.code = code
  }

  /// The system's text for the error number.
  package var reason: String { String(cString: strerror(code)) }

  /// `cannot read tokens.json: Permission denied`
  package var description: String { "cannot \(action) \(path): \(reason)" }
}
