import Foundation

/// The error of a failed system call on a file.
package struct SystemError: Error, Sendable, CustomStringConvertible {
  /// The verb of the failed action: "read", "lock".
  package var action: String
  /// The path of the file.
  package var path: String
  /// The error number, `errno(3)`.
  package var code: Int32

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - action: The verb of the failed action.
  ///   - path: The path of the file.
  ///   - code: The error number; that of the last system call by default.
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
