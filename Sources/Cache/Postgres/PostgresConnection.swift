import CPQ

/// A connection to PostgreSQL through libpq. Calls block, and only one thread may use it at a time.
///
/// Parameters and results are binary, so that text and bytes are not escaped.
final class PostgresConnection {
  private let handle: OpaquePointer

  /// Connects.
  ///
  /// - Parameter url: A URL or a connection string of libpq; what it does not have comes from the `PG*` variables and
  ///   the password file.
  init(_ url: String) throws(PostgresError) {
    // A connection that is lost silently is noticed, and a host that does not answer is given up.
    let names = [
      "connect_timeout", "tcp_user_timeout", "application_name", "client_encoding", "dbname",
    ]
    let values = ["10", "30000", "gqlrun", "UTF8", url]
    var handle: OpaquePointer?
    Self.withTexts(names) { names in
      Self.withTexts(values) { handle = PQconnectdbParams(names, $0, 1) }
    }
    guard let handle else {
      throw PostgresError(state: "53200", message: "there is no memory for a connection")
    }
    guard PQstatus(handle) == CONNECTION_OK else {
      defer { PQfinish(handle) }
      throw PostgresError(handle, isConnecting: true)
    }
    PQsetNoticeProcessor(handle, { _, _ in }, nil)
    self.handle = handle
  }

  deinit { PQfinish(handle) }

  /// Whether the connection is open, as far as is known without asking the server.
  var isOpen: Bool { PQstatus(handle) == CONNECTION_OK }

  /// Whether a transaction is open.
  var isInTransaction: Bool {
    let status = PQtransactionStatus(handle)
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
  }

  /// The host and the database, for messages; without the user and the password.
  var database: String {
    let host = PQhost(handle).map { String(cString: $0) } ?? ""
    let name = PQdb(handle).map { String(cString: $0) } ?? ""
    return "\(name) at \(host.isEmpty ? "localhost" : host)"
  }

  /// Executes a statement.
  ///
  /// - Parameters:
  ///   - sql: The statement, with `$1`, `$2`, … for parameters.
  ///   - parameters: The values of the parameters.
  @discardableResult
  func run(_ sql: String, _ parameters: PostgresValue...) throws(PostgresError) -> PostgresRows {
    let encoded = parameters.map { $0.encoded }
    var starts: [UnsafePointer<CChar>?] = []
    var buffers: [UnsafeMutablePointer<CChar>] = []
    defer { for buffer in buffers { buffer.deallocate() } }
    for bytes in encoded {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: max(bytes.count, 1))
      bytes.withUnsafeBytes { bytes in
        if let start = bytes.baseAddress {
          UnsafeMutableRawPointer(buffer).copyMemory(from: start, byteCount: bytes.count)
        }
      }
      buffers.append(buffer)
      starts.append(UnsafePointer(buffer))
    }
    let result = PQexecParams(
      handle, sql, Int32(parameters.count), parameters.map { $0.type }, starts,
      encoded.map { Int32(clamping: $0.count) }, parameters.map { _ in 1 }, 1)
    guard let result else { throw PostgresError(handle, isConnecting: false) }
    let status = PQresultStatus(result)
    guard status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK else {
      defer { PQclear(result) }
      throw PostgresError(handle, result)
    }
    return PostgresRows(result)
  }

  private static func withTexts(
    _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Void
  ) {
    let copies = texts.map { Array($0.utf8CString) }
    var starts: [UnsafePointer<CChar>?] = []
    func next(_ index: Int) {
      guard index < copies.count else {
        starts.append(nil)
        starts.withUnsafeBufferPointer { if let start = $0.baseAddress { body(start) } }
        return
      }
      copies[index].withUnsafeBufferPointer {
        starts.append($0.baseAddress)
        next(index + 1)
      }
    }
    next(0)
  }
}

/// An error of PostgreSQL.
struct PostgresError: Error {
  /// The five characters of SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html. Class 08 is a
  /// lost connection.
  let state: String
  let message: String

  init(state: String, message: String) {
    self.state = state
    self.message = message
  }

  fileprivate init(_ handle: OpaquePointer, isConnecting: Bool) {
    self.init(state: isConnecting ? "08001" : "08006", message: Self.text(PQerrorMessage(handle)))
  }

  fileprivate init(_ handle: OpaquePointer, _ result: OpaquePointer) {
    // PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY are macros of characters.
    let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
    let primary = PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { String(cString: $0) }
    guard let state, let primary else {
      self.init(handle, isConnecting: false)
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

  /// Whether another transaction stood in the way, so that the same again can succeed.
  var isContention: Bool { ["40001", "40P01", "55P03"].contains(state) }
}

/// A parameter of a statement.
enum PostgresValue {
  case int(Int)
  case text(String)
  case bytes([UInt8])
  case ints([Int])
  /// Texts as UTF-8; `nil` is NULL.
  case texts([[UInt8]?])
  case byteStrings([[UInt8]])

  /// The object identifier of the type: https://www.postgresql.org/docs/current/catalog-pg-type.html.
  fileprivate var type: Oid {
    switch self {
    case .int: 20
    case .text: 25
    case .bytes: 17
    case .ints: 1016
    case .texts: 1009
    case .byteStrings: 1001
    }
  }

  fileprivate var encoded: [UInt8] {
    switch self {
    case .int(let value): Self.bytes(of: Int64(value))
    case .text(let text): Array(text.utf8)
    case .bytes(let bytes): bytes
    case .ints(let values): Self.array(of: 20, values.map { Self.bytes(of: Int64($0)) })
    case .texts(let values): Self.array(of: 25, values)
    case .byteStrings(let values): Self.array(of: 17, values)
    }
  }

  private static func bytes(of value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }

  /// The binary form of an array with one dimension: the number of dimensions, whether it has NULLs, the type; the
  /// length and the first index; then each element with its length, which is -1 for NULL.
  private static func array(of type: Int32, _ elements: [[UInt8]?]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(elements.reduce(20) { $0 + 4 + ($1?.count ?? 0) })
    let hasNull: Int32 = elements.contains { $0 == nil } ? 1 : 0
    result += bytes(of: Int32(elements.isEmpty ? 0 : 1)) + bytes(of: hasNull) + bytes(of: type)
    guard !elements.isEmpty else { return result }
    result += bytes(of: Int32(elements.count)) + bytes(of: Int32(1))
    for element in elements {
      result += bytes(of: Int32(element?.count ?? -1))
      if let element { result += element }
    }
    return result
  }
}

/// The rows of a result. Pointers into it are valid as long as it is.
final class PostgresRows {
  private let result: OpaquePointer
  let count: Int

  fileprivate init(_ result: OpaquePointer) {
    self.result = result
    count = Int(PQntuples(result))
  }

  deinit { PQclear(result) }

  /// The bytes of a value; empty if it is NULL.
  func bytes(_ row: Int, _ column: Int) -> UnsafeBufferPointer<UInt8> {
    let length = Int(PQgetlength(result, Int32(row), Int32(column)))
    guard length > 0, let start = PQgetvalue(result, Int32(row), Int32(column)) else {
      return UnsafeBufferPointer(start: nil, count: 0)
    }
    return UnsafeBufferPointer(
      start: UnsafeRawPointer(start).assumingMemoryBound(to: UInt8.self), count: length)
  }

  func text(_ row: Int, _ column: Int) -> String {
    String(decoding: bytes(row, column), as: UTF8.self)
  }

  /// An integer of 2, 4 or 8 bytes, or a Boolean value; 0 if it is NULL.
  func int(_ row: Int, _ column: Int) -> Int {
    let bytes = bytes(row, column)
    switch bytes.count {
    case 8: return bytes.reduce(0) { $0 << 8 | Int($1) }
    case 4: return Int(Int32(truncatingIfNeeded: bytes.reduce(0) { $0 << 8 | Int($1) }))
    case 2: return Int(Int16(truncatingIfNeeded: bytes.reduce(0) { $0 << 8 | Int($1) }))
    default: return Int(bytes.first ?? 0)
    }
  }
}
