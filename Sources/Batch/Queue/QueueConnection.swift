import GQLRunPipeline
import GQLRunPostgres
import GQLRunSupport

/// The database of a queue, and how long a worker tries to reach it.
struct QueueDatabase: Sendable {
  let url: String
  var clock = ServiceClock(ContinuousClock())
  /// How long a lost connection is made again.
  private(set) var patience = Duration.zero
  /// When the database was lost, for all copies; `nil` while it answers.
  private let outage = Monitor<Duration?>(nil)

  /// The same database, for calls that wait at most so long.
  func waiting(atMost limit: Duration) -> Self {
    var database = self
    database.patience = min(patience, limit)
    return database
  }

  /// Notes the outcome of a call, and returns since when its database has been lost; `nil` if the database answered.
  ///
  /// All connections of a worker share the time: a worker that has waited for its patience does not wait again before it
  /// ends.
  fileprivate func note(_ error: PostgresError?) -> Duration? {
    outage.withLock { start in
      start = error?.isConnectionLoss == true ? start ?? clock.now() : nil
      return start
    }
  }
}

/// A connection to the database of a queue, which is made again after it was lost. One actor uses it.
final class QueueConnection {
  private let database: QueueDatabase
  private var current: PostgresConnection?
  /// The database in messages.
  private var name = "PostgreSQL"

  init(_ database: QueueDatabase) { self.database = database }

  /// The open connection.
  func opened() throws(PostgresError) -> PostgresConnection {
    if let current, current.isOpen { return current }
    let new = try PostgresConnection(database.url)
    name = new.database
    current = new
    return new
  }

  /// Calls `body` with the open connection, again while the connection is lost or a transaction conflicts.
  ///
  /// - Parameter action: The action in messages: "claim tasks".
  func run<Value>(
    _ action: String, isolation: isolated (any Actor)? = #isolation,
    _ body: (PostgresConnection) throws -> Value
  ) async throws -> Value {
    let clock = database.clock
    let start = clock.now()
    var pause = Duration.milliseconds(100)
    while true {
      do {
        let value = try body(opened())
        _ = database.note(nil)
        return value
      } catch {
        let problem = error as? PostgresError
        let since = min(start, database.note(problem) ?? start)
        guard let problem, problem.isConnectionLoss || problem.isContention,
          clock.now() - since < database.patience
        else { throw describe(error, action) }
        try await clock.sleep(for: pause)
        pause = min(pause * 2, .seconds(5))
      }
    }
  }

  /// Closes the connection; the next use makes a new one.
  func drop() { current = nil }

  /// The error of an action, for the user.
  func describe(_ error: any Error, _ action: String) -> any Error {
    guard let error = error as? PostgresError else { return error }
    let message =
      "cannot \(action) in the queue (\(name)): \(error.message) (\(error.state))"
    if error.isConnectionLoss { return StoppedByStorage(message: message) }
    return JournalError(message)
  }
}

/// Uses a connection on a thread of its own, because calls of libpq block.
actor QueueClient {
  private let executor = FileExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let connection: QueueConnection

  init(_ database: QueueDatabase) { connection = QueueConnection(database) }

  /// Calls `body` with the connection, again if the connection was lost meanwhile.
  ///
  /// - Parameter action: The action in messages: "claim tasks".
  func run<Value: Sendable>(
    _ action: String, _ body: @Sendable (PostgresConnection) throws -> Value
  ) async throws -> Value {
    try await connection.run(action, body)
  }

  func close() { connection.drop() }
}
