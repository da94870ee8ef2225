import Dispatch
import GQLRunPostgres
import GQLRunSupport

/// The connections of a store: one writes, several read. Calls of libpq block, so each connection has a thread of its
/// own.
final class PostgresConnections: Sendable {
  private let writer: Worker
  private let readers: [Worker]
  private let turn = Locked(0)

  private static let maxReaders = 3

  init(_ url: String) {
    writer = Worker(url, "writer")
    readers = (1...Self.maxReaders).map { Worker(url, "reader \($0)") }
  }

  /// Uses the connection that writes. A connection that was lost is made again, except within a transaction.
  func write<Value: Sendable>(
    continuing: Bool = false, _ body: @escaping @Sendable (PostgresConnection) throws -> Value
  ) async throws -> Value {
    try await writer.run(continuing: continuing, body)
  }

  /// Uses a connection in a transaction that only reads, and sees one state of the database.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (PostgresConnection) throws -> Value
  ) async throws -> Value {
    let index = turn.withLock { turn in
      turn = (turn + 1) % readers.count
      return turn
    }
    return try await readers[index].run(continuing: false) { connection in
      try connection.transaction(beginning: "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY") {
        try body(connection)
      }
    }
  }

  func close() {
    writer.close()
    for reader in readers { reader.close() }
  }

  /// A thread with a connection.
  ///
  /// `@unchecked Sendable`: only work on the queue, which is serial, uses the connection.
  private final class Worker: @unchecked Sendable {
    private let url: String
    private let queue: DispatchQueue
    private var connection: PostgresConnection?
    private var isClosed = false

    init(_ url: String, _ name: String) {
      self.url = url
      queue = DispatchQueue(label: "gqlrun.postgres.\(name)")
    }

    func run<Value: Sendable>(
      continuing: Bool, _ body: @escaping @Sendable (PostgresConnection) throws -> Value
    ) async throws -> Value {
      try await queue.run { try body(try self.opened(continuing: continuing)) }
    }

    private func opened(continuing: Bool) throws(PostgresError) -> PostgresConnection {
      if isClosed { throw PostgresError(state: "08003", message: "the store is closed") }
      if let connection, connection.isOpen || continuing { return connection }
      let new = try PostgresConnection(url)
      connection = new
      return new
    }

    func close() {
      queue.async {
        self.isClosed = true
        self.connection = nil
      }
    }
  }
}
