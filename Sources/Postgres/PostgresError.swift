import CPQ

/// An error of PostgreSQL.
package struct PostgresError: Error {
  /// The five characters of SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html. Class 08 is a
  /// lost connection.
  package let state: String
  /// The message of the server or of libpq, in one line.
  package let message: String

  package init(state: String, message: String) {
    self.state = state
    self.message = message
  }

  init(_ handle: OpaquePointer, _ library: LibPQ, isConnecting: Bool) {
    self.init(
      state: isConnecting ? "08001" : "08006",
      message: Self.text(library.functions.errorMessage(handle)))
  }

  init(_ handle: OpaquePointer, _ library: LibPQ, _ result: OpaquePointer) {
    // PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY are macros of characters.
    func field(_ code: Unicode.Scalar) -> String? {
      library.functions.resultErrorField(result, Int32(code.value)).map { String(cString: $0) }
    }
    guard let state = field("C"), let primary = field("M") else {
      self.init(handle, library, isConnecting: false)
      return
    }
    self.init(state: state, message: primary)
  }

  /// The message without line ends, which libpq adds.
  private static func text(_ message: UnsafePointer<CChar>?) -> String {
    guard let message else { return "unknown error" }
    return String(cString: message).split(whereSeparator: \.isNewline)
      .map { $0.drop { $0 == "\t" } }.joined(separator: "; ")
  }

  /// Whether the transaction conflicted with another one, so that the same again can succeed.
  package var isContention: Bool { ["40001", "40P01", "55P03"].contains(state) }

  /// Whether the connection was lost, or the server does not accept one now: the same can succeed on a new connection.
  package var isConnectionLoss: Bool {
    state.hasPrefix("08") || ["57P01", "57P02", "57P03", "53300"].contains(state)
  }
}
