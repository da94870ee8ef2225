import GQLRunPipeline
import GQLRunPlugins
import GQLRunPostgres
import GQLRunSupport

/// Keeps the tokens of workers in the database of the queue. One worker renews a token, while it locks the token's row,
/// and the others read it.
actor QueueTokens: SharedTokens {
  private let executor = FileExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let connection: QueueConnection
  private let clock: ServiceClock
  private let patience: Duration
  private let mutex = AsyncMutex()
  /// The connection whose transaction has the lock.
  private var locked: PostgresConnection?

  /// - Parameter patience: How long a lost connection is made again.
  init(_ url: String, clock: ServiceClock, patience: Duration) {
    connection = QueueConnection(url)
    self.clock = clock
    // Shorter than the time limit of a renewal, whose error would be that of the token endpoint.
    self.patience = min(patience, .seconds(10))
  }

  /// The error of a renewal. Without a connection, the request waits and is sent later, as if the server were
  /// unreachable.
  private func failure(_ error: any Error, _ action: String) -> any Error {
    let described = connection.describe(error, action)
    guard let lost = described as? StoppedByStorage else { return described }
    return ChainError(.transport, .connectionFailed, lost.message, delivery: .notSent)
  }

  func whileLocked<Value: Sendable>(
    _ name: String, _ work: @Sendable (any SharedTokenSlot) async throws -> Value
  ) async throws -> Value {
    try await mutex.acquire()
    defer { mutex.release() }
    defer { unlock() }
    try await lock(name)
    return try await work(Slot(tokens: self, name: name))
  }

  /// Locks the row of a name. Waits for another worker that renews the token.
  private func lock(_ name: String) async throws {
    var patience = QueuePatience(clock, patience)
    while true {
      try Task.checkCancellation()
      do {
        let connection = try connection.opened()
        try connection.run("BEGIN")
        locked = connection
        // A wait in the database cannot be cancelled, and a worker that vanishes must not keep the lock.
        try connection.run("SET LOCAL lock_timeout = '500ms'")
        try connection.run("SET LOCAL idle_in_transaction_session_timeout = '700s'")
        try connection.run(
          "INSERT INTO gq_token (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name",
          .text(name))
        return
      } catch {
        unlock()
        if error.isContention { continue }
        guard try await patience.allowsRetry(after: error) else {
          throw failure(error, "lock a token")
        }
      }
    }
  }

  /// Ends the transaction, if it is open.
  private func unlock() {
    guard let locked else { return }
    _ = try? locked.run("ROLLBACK")
    self.locked = nil
  }

  private func read(_ name: String) throws -> (bytes: [UInt8], age: Duration)? {
    do {
      // A new connection would not have the lock.
      let rows = try (locked ?? connection.opened()).run(
        """
        SELECT contents, extract(epoch FROM clock_timestamp() - written_at)::float8
        FROM gq_token WHERE name = $1 AND contents IS NOT NULL
        """, .text(name))
      guard rows.count > 0 else { return nil }
      return (Array(rows.bytes(0, 0)), .seconds(rows.double(0, 1)))
    } catch {
      throw failure(error, "read a token")
    }
  }

  /// Stores the bytes and commits; other workers wait until this returns.
  ///
  /// If the connection was lost meanwhile, the row is locked once more: the server may have made the former tokens
  /// invalid, so the new ones must not be lost.
  private func write(_ name: String, _ bytes: [UInt8]) async throws {
    var patience = QueuePatience(clock, patience)
    while true {
      do {
        if locked?.isOpen != true { try await lock(name) }
        guard let locked else { throw CancellationError() }
        try locked.run(
          "UPDATE gq_token SET contents = $2, written_at = clock_timestamp() WHERE name = $1",
          .text(name), .bytes(bytes))
        try locked.run("COMMIT")
        self.locked = nil
        return
      } catch {
        unlock()
        guard try await patience.allowsRetry(after: error) else {
          throw failure(error, "store a token")
        }
      }
    }
  }

  /// Closes the connection.
  func close() { connection.drop() }

  private struct Slot: SharedTokenSlot {
    let tokens: QueueTokens
    let name: String

    func read() async throws -> (bytes: [UInt8], age: Duration)? { try await tokens.read(name) }
    func write(_ bytes: [UInt8]) async throws { try await tokens.write(name, bytes) }
  }
}
