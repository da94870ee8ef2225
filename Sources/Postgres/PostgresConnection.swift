import CPQ

/// A connection to PostgreSQL through libpq. Calls block, and only one thread may use it at a time.
///
/// Parameters and results are binary, so that text and bytes are not escaped.
package final class PostgresConnection {
  private let handle: OpaquePointer
  private let library: LibPQ

  /// Connects.
  ///
  /// - Parameter url: A URL or a connection string of libpq; what it does not have comes from the `PG*` variables and
  ///   the password file.
  package init(_ url: String) throws(PostgresError) {
    guard let library = LibPQ.installed else {
      throw PostgresError(
        state: "58P01",
        message:
          "libpq.so.5, the client library of PostgreSQL, is not installed; Debian's package is libpq5"
      )
    }
    let pq = library.functions
    // A connection that is lost silently is noticed, and a host that does not answer is given up. The URL can change the
    // parameters before it, and not the encoding, which is that of all parameters and results.
    let names = [
      "connect_timeout", "tcp_user_timeout", "application_name", "dbname", "client_encoding",
    ]
    let values = ["10", "30000", "gqlrun", url, "UTF8"]
    let handle = Self.withAddresses(of: names.map { Array($0.utf8) + [0] }) { names in
      Self.withAddresses(of: values.map { Array($0.utf8) + [0] }) { values in
        pq.connectdbParams(names + [nil], values + [nil], 1)
      }
    }
    guard let handle else {
      throw PostgresError(state: "53200", message: "there is no memory for a connection")
    }
    guard pq.status(handle) == CONNECTION_OK else {
      defer { pq.finish(handle) }
      let error = PostgresError(handle, library, isConnecting: true)
      throw PostgresError(
        state: Self.refusal(of: handle, library, error) ?? error.state,
        message: Self.hiding(url, in: error.message))
    }
    _ = pq.setNoticeProcessor(handle, { _, _ in }, nil)
    self.handle = handle
    self.library = library
  }

  /// The SQLSTATE with which the server refuses the user, the password or the database of a connection that has failed;
  /// `nil` if it failed for another reason.
  ///
  /// libpq has the SQLSTATE only as the text of an error, if that was requested before it connects.
  private static func refusal(
    of handle: OpaquePointer, _ library: LibPQ, _ error: PostgresError
  ) -> String? {
    let pq = library.functions
    if pq.connectionNeedsPassword(handle) == 1 { return "28P01" }
    // libpq separates the severity of a server's error with two spaces.
    guard error.message.contains(":  ") else { return nil }
    _ = pq.setErrorVerbosity(handle, PQERRORS_SQLSTATE)
    pq.reset(handle)
    let text = PostgresError(handle, library, isConnecting: true).message
    guard let start = text.ranges(of: ":  ").last?.upperBound else { return nil }
    let state = String(text[start...].prefix(5))
    return state.hasPrefix("28") || state == "3D000" ? state : nil
  }

  deinit { library.functions.finish(handle) }

  /// Whether the connection is open, as far as is known without asking the server.
  package var isOpen: Bool { library.functions.status(handle) == CONNECTION_OK }

  /// Whether a transaction is open.
  package var isInTransaction: Bool {
    let status = library.functions.transactionStatus(handle)
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
  }

  /// The host and the database, for messages; without the user and the password.
  package var database: String {
    let host = library.functions.host(handle).map { String(cString: $0) } ?? ""
    let name = library.functions.db(handle).map { String(cString: $0) } ?? ""
    return "\(name) at \(host.isEmpty ? "localhost" : host)"
  }

  /// Executes a statement.
  ///
  /// - Parameters:
  ///   - sql: The statement, with `$1`, `$2`, … for parameters.
  ///   - parameters: The values of the parameters.
  @discardableResult
  package func run(
    _ sql: String, _ parameters: PostgresValue...
  ) throws(PostgresError) -> PostgresRows {
    try run(sql, parameters: parameters)
  }

  /// Executes a statement with parameters in an array.
  @discardableResult
  package func run(
    _ sql: String, parameters: [PostgresValue]
  ) throws(PostgresError) -> PostgresRows {
    let encoded = parameters.map { $0.encoded }
    let result = Self.withAddresses(of: encoded.map { $0.bytes }) { starts in
      library.functions.execParams(
        handle, sql, Int32(encoded.count), encoded.map { $0.type }, starts,
        encoded.map { Int32(clamping: $0.bytes.count) }, encoded.map { _ in 1 }, 1)
    }
    guard let result else { throw PostgresError(handle, library, isConnecting: false) }
    let status = library.functions.resultStatus(result)
    guard status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK else {
      defer { library.functions.clear(result) }
      throw PostgresError(handle, library: library, result: result)
    }
    return PostgresRows(result, library)
  }

  /// Whether there is a table of this name that the user created or may read. Those of other users, in later schemas of
  /// the search path, may be there as well.
  package func hasTable(_ name: String) throws(PostgresError) -> Bool {
    try run(
      """
      SELECT EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = to_regclass($1)
          AND (n.nspname = current_schema() OR has_table_privilege(c.oid, 'SELECT')))
      """, .text(name)
    ).int(0, 0) == 1
  }

  /// Begins a transaction whose statements see what others have committed meanwhile: what they read after they waited for
  /// a lock is the newest state, also for a user whose transactions are serializable by default.
  package static let begin = "BEGIN ISOLATION LEVEL READ COMMITTED"

  /// Runs statements in a transaction.
  ///
  /// - Parameter begin: The statement that begins it.
  package func transaction<Value>(
    beginning begin: String = PostgresConnection.begin, _ body: () throws -> Value
  ) throws -> Value {
    try run(begin)
    do {
      let value = try body()
      try run("COMMIT")
      return value
    } catch {
      _ = try? run("ROLLBACK")
      throw error
    }
  }

  /// Executes a statement in the open transaction, or in one of its own.
  @discardableResult
  package func runInTransaction(_ sql: String, _ parameters: [PostgresValue]) throws -> PostgresRows
  {
    if isInTransaction { return try run(sql, parameters: parameters) }
    return try transaction { try run(sql, parameters: parameters) }
  }

  /// Calls `body` with the address of each part, also of an empty one, in a copy of all.
  private static func withAddresses<Result>(
    of parts: [[UInt8]], _ body: ([UnsafePointer<CChar>?]) -> Result
  ) -> Result {
    var copy: [UInt8] = []
    copy.reserveCapacity(parts.reduce(1) { $0 + $1.count })
    for part in parts { copy += part }
    copy.append(0)
    return copy.withUnsafeBytes { bytes in
      var next = bytes.bindMemory(to: CChar.self).baseAddress
      let addresses = parts.map { part in
        defer { next = next.map { $0 + part.count } }
        return next
      }
      return body(addresses)
    }
  }
}

// MARK: Passwords

extension PostgresConnection {
  /// Replaces the password of a URL and its parts; libpq shows them when it cannot parse the URL.
  package static func hiding(_ url: String, in message: String) -> String {
    guard let password = password(of: url), !password.isEmpty else { return message }
    // libpq takes what is before an unescaped `/` for the port.
    return ([password] + password.split { "@/:?#[]&".contains($0) }.map { String($0) })
      .filter { $0.utf8.count > 2 }
      .sorted { $0.utf8.count > $1.utf8.count }
      .reduce(message) { $0.replacing($1, with: "•••") }
  }

  /// The password of a URL, as it is written; `nil` without one.
  package static func password(of url: String) -> String? {
    guard let start = url.firstRange(of: "://")?.upperBound else { return nil }
    if let query = url[start...].firstRange(of: "password=")?.upperBound {
      return String(url[query...].prefix { $0 != "&" })
    }
    guard let at = url.lastIndex(of: "@"), start <= at,
      let colon = url[start..<at].firstIndex(of: ":")
    else { return nil }
    return String(url[url.index(after: colon)..<at])
  }
}

/// libpq, which is loaded when it is first used.
///
/// Sendable: addresses of functions, which never change.
final class LibPQ: @unchecked Sendable {
  /// The library; `nil` if it is not installed.
  static let installed = LibPQ()

  /// Its functions, under their names without `PQ`.
  let functions: gqlrun_libpq

  private init?() {
    var functions = gqlrun_libpq()
    guard gqlrun_libpq_load(&functions) else { return nil }
    self.functions = functions
  }
}

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

  init(_ handle: OpaquePointer, library: LibPQ, result: OpaquePointer) {
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

  /// Whether the transaction conflicted with another one, or the server cancelled its statement, as after
  /// `statement_timeout` while it waits for another one: the same again can succeed.
  package var isContention: Bool { ["40001", "40P01", "55P03", "57014"].contains(state) }

  /// Whether the connection was lost, or the server does not accept one now: the same can succeed on a new connection.
  package var isConnectionLoss: Bool {
    state.hasPrefix("08") || ["57P01", "57P02", "57P03", "53300"].contains(state)
  }
}
