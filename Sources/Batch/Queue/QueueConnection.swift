import GQLRunPipeline
import GQLRunPostgres

/// A connection to the database of a queue, which is made again after it was lost. One actor uses it.
final class QueueConnection {
  private let url: String
  private var current: PostgresConnection?
  /// The database in messages.
  private var name = "PostgreSQL"

  init(_ url: String) { self.url = url }

  /// The open connection.
  func opened() throws(PostgresError) -> PostgresConnection {
    if let current, current.isOpen { return current }
    let new = try PostgresConnection(url)
    name = new.database
    current = new
    return new
  }

  /// Calls `body` with the open connection, again while the connection is lost or a transaction conflicts.
  ///
  /// - Parameters:
  ///   - action: The action in messages: "claim tasks".
  ///   - clock: Measures the time between the attempts.
  ///   - patience: How long a lost connection is made again.
  func run<Value>(
    _ action: String, clock: ServiceClock, patience: Duration,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (PostgresConnection) throws -> Value
  ) async throws -> Value {
    var patience = QueueReconnection(clock, patience)
    while true {
      do {
        return try body(opened())
      } catch {
        guard try await patience.allowsRetry(after: error) else { throw describe(error, action) }
      }
    }
  }

  /// Closes the connection; the next use makes a new one.
  func drop() { current = nil }

  /// The error of an action, for the user.
  ///
  /// A URL never appears in messages: it may contain a password.
  func describe(_ error: any Error, _ action: String) -> any Error {
    guard let error = error as? PostgresError else { return error }
    let message =
      "cannot \(action) in the queue (\(name)): \(Self.hiding(url, in: error.message)) (\(error.state))"
    if error.isConnectionLoss { return StoppedByStorage(message: message) }
    return JournalError(message)
  }

  /// Replaces the password of a URL and its parts; libpq shows them when it cannot parse the URL.
  static func hiding(_ url: String, in message: String) -> String {
    guard let password = password(of: url), !password.isEmpty else { return message }
    return ([password] + password.split(separator: "@").map { String($0) })
      .filter { $0.utf8.count > 2 }
      .reduce(message) { $0.replacing($1, with: "•••") }
  }

  /// The password of a URL, as it is written; `nil` without one.
  static func password(of url: String) -> String? {
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

/// How long a lost connection is made again.
struct QueueReconnection: Sendable {
  let clock: ServiceClock
  let limit: Duration
  private let start: Duration
  private var pause = Duration.milliseconds(100)

  init(_ clock: ServiceClock, _ limit: Duration) {
    self.clock = clock
    self.limit = limit
    start = clock.now()
  }

  /// Waits before the next attempt; returns `false` if the error does not pass, or lasts too long.
  mutating func allowsRetry(after error: any Error) async throws -> Bool {
    guard let error = error as? PostgresError, error.isConnectionLoss || error.isContention,
      clock.now() - start < limit
    else { return false }
    try await clock.sleep(for: pause)
    pause = min(pause * 2, .seconds(5))
    return true
  }
}

/// Uses a connection on a thread of its own, because calls of libpq block.
actor QueueClient {
  private let executor = FileExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let connection: QueueConnection
  private let clock: ServiceClock
  private let patience: Duration

  /// - Parameter patience: How long a lost connection is made again.
  init(_ url: String, clock: ServiceClock, patience: Duration = .zero) {
    connection = QueueConnection(url)
    self.clock = clock
    self.patience = patience
  }

  /// Calls `body` with the connection, again if the connection was lost meanwhile.
  ///
  /// - Parameter action: The action in messages: "claim tasks".
  func run<Value: Sendable>(
    _ action: String, _ body: @Sendable (PostgresConnection) throws -> Value
  ) async throws -> Value {
    try await connection.run(action, clock: clock, patience: patience, body)
  }

  func close() { connection.drop() }
}
