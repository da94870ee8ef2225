import GQLRunPipeline
import GQLRunPlugins
import GQLRunPostgres
import GQLRunSupport

/// The points of a server's rate limit, which the workers of a database share.
///
/// The server reports with responses how many points are left. What it cannot know yet are requests in flight: each
/// worker reserves their points in its row of `gq_share`, in groups, before it sends them. So the points that may be
/// spent are the last reported ones, minus those that workers have reserved.
final class QueuePoints: Sendable {
  /// The largest number of requests whose points one worker reserves at a time.
  private static let groupSize = 16.0
  /// The longest time between two questions while there are too few points; other workers may return some.
  private static let longestWait = Duration.seconds(2)
  /// The lowest rate of points per second; PostgreSQL refuses to multiply numbers whose product is stored as zero.
  private static let slowest = 1e-9

  private struct State {
    /// Points that are reserved and not used yet.
    var pool = 0.0
    /// Points of the requests in flight.
    var underway = 0.0
    /// The time before which there are too few points.
    var closedUntil = Duration.zero
    /// The points in this worker's row.
    var recorded = 0.0

    var held: Double { pool + underway }

    mutating func take(_ cost: Double) -> Bool {
      guard pool >= cost else { return false }
      pool -= cost
      underway += cost
      return true
    }
  }

  private let client: QueueClient
  private let worker: String
  private let clock: ServiceClock
  private let credential: String
  /// The share of the rate limit that is left to others.
  private let reserve: Double
  private let budget: RequestBudget
  private let state = Locked(State())
  private let reserving = AsyncMutex()

  /// - Parameters:
  ///   - worker: The identity of the worker, which has a row in `gq_worker`.
  ///   - budget: What this worker knows about the server.
  init(
    _ client: QueueClient, worker: String, clock: ServiceClock, credential: String,
    reserve: Double, budget: RequestBudget
  ) {
    self.client = client
    self.worker = worker
    self.clock = clock
    self.credential = credential
    self.reserve = reserve
    self.budget = budget
  }

  /// Reserves the points of a request. Returns the time after which to ask again; `nil` if the request may be sent.
  func take(_ cost: Double) async throws -> Duration? {
    if let answer = answer(cost) { return answer.wait }
    try await reserving.acquire()
    defer { reserving.release() }
    if let answer = answer(cost) { return answer.wait }
    let (granted, wait) = try await exchange(cost)
    let now = clock.now()
    return state.withLock { state in
      state.pool += granted
      if state.take(cost) { return nil }
      state.closedUntil = now + wait
      return wait
    }
  }

  /// The answer without the database; `nil` if it is unknown.
  private func answer(_ cost: Double) -> (wait: Duration?, Void)? {
    let now = clock.now()
    return state.withLock { state in
      if state.take(cost) { return (nil, ()) }
      return state.closedUntil > now ? (state.closedUntil - now, ()) : nil
    }
  }

  /// Counts a request that was answered or has failed.
  func end(_ cost: Double) { state.withLock { $0.underway = max($0.underway - cost, 0) } }

  /// Tells the other workers what has changed since the last request.
  func flush() async throws {
    guard state.withLock({ $0.held != $0.recorded }) else { return }
    try await reserving.acquire()
    defer { reserving.release() }
    _ = try await exchange(0)
  }

  /// Records the last report of the server and the points that this worker holds, and reserves more of them.
  private func exchange(_ cost: Double) async throws -> (granted: Double, wait: Duration) {
    // Before the report: it counts requests that end meanwhile.
    let held = state.withLock { $0.held }
    let report = budget.takeReport()
    let now = clock.now()
    let answer = try await client.run("reserve points") { [self] connection in
      try connection.transaction {
        try note(report, now: now, connection: connection)
        let left = try left(held, connection)
        let granted = left.granted(cost)
        try connection.run(
          """
          INSERT INTO gq_share (worker, credential, points) VALUES ($1::uuid, $2, $3)
          ON CONFLICT (worker) DO UPDATE SET points = excluded.points
          """, .text(worker), .text(credential), .double(held + granted))
        return (granted: granted, wait: left.wait(cost))
      }
    }
    state.withLock { $0.recorded = held + answer.granted }
    return (answer.granted, min(answer.wait, Self.longestWait))
  }

  /// Locks the row of the server, and updates it if the report is newer.
  ///
  /// A report from the future is older than the moment at which the clock of the database was set back.
  private func note(
    _ report: RequestBudget.Report?, now: Duration, connection: PostgresConnection
  ) throws {
    guard let report else {
      try connection.run(
        """
        INSERT INTO gq_budget (credential) VALUES ($1)
        ON CONFLICT (credential) DO UPDATE SET credential = excluded.credential
        """, .text(credential))
      return
    }
    // Numbers below zero are those that the server did not report.
    try connection.run(
      """
      INSERT INTO gq_budget AS b (credential, points, most, per_second, resets_at, reported_at)
      VALUES ($1, $2, nullif($3, -1), nullif($4, -1), clock_timestamp() + make_interval(secs => $5),
        clock_timestamp() - make_interval(secs => $6))
      ON CONFLICT (credential) DO UPDATE SET (points, most, per_second, resets_at, reported_at) = (
        SELECT n.points, n.most, n.per_second, n.resets_at, n.reported_at
        FROM (VALUES
          (excluded.points, excluded.most, excluded.per_second, excluded.resets_at, excluded.reported_at),
          (b.points, b.most, b.per_second, b.resets_at, b.reported_at)
        ) AS n(points, most, per_second, resets_at, reported_at)
        ORDER BY coalesce(n.reported_at > clock_timestamp(), false), n.reported_at DESC NULLS LAST
        LIMIT 1)
      """, .text(credential), .double(report.left), .double(report.all ?? -1),
      .double(report.perSecond.map { max($0, Self.slowest) } ?? -1),
      .double((report.reset - now).seconds),
      .double((now - report.time).seconds))
  }

  /// The points that no worker has reserved.
  private struct Left {
    /// `nil` if the server has not reported them since the clock of the database was set back.
    var points: Double?
    var most: Double?
    var perSecond: Double?
    var reset: Duration

    /// A request that costs more than the full limit is left to the server to reject.
    private func needed(_ cost: Double) -> Double { min(cost, most ?? cost) }

    /// The points for a group of requests of this cost; zero if there are too few. One worker takes at most half of the
    /// rest, so that the others have some.
    func granted(_ cost: Double) -> Double {
      guard cost > 0 else { return 0 }
      guard let points else { return cost * QueuePoints.groupSize }
      guard points >= needed(cost) else { return 0 }
      return cost * max(min(QueuePoints.groupSize, (points / 2 / cost).rounded(.down)), 1)
    }

    func wait(_ cost: Double) -> Duration {
      guard let points else { return .zero }
      guard let perSecond else { return max(reset, .milliseconds(250)) }
      return max(.bounded(seconds: (needed(cost) - points) / perSecond), .milliseconds(10))
    }
  }

  private func left(_ held: Double, _ connection: PostgresConnection) throws -> Left {
    let rows = try connection.run(
      """
      SELECT CASE
          WHEN b.reported_at > clock_timestamp() THEN NULL
          WHEN b.per_second IS NOT NULL THEN least(b.most, b.points + greatest(b.per_second, $6)
            * extract(epoch FROM clock_timestamp() - b.reported_at)::float8)
          WHEN b.resets_at > clock_timestamp() THEN b.points
          ELSE b.most END - $3 - $4 * coalesce(b.most, 0) - coalesce((
            SELECT sum(s.points) FROM gq_share s JOIN gq_worker w ON w.id = s.worker
            WHERE s.credential = $1 AND s.worker <> $2::uuid AND w.ended_at IS NULL
              AND w.seen_at > now() - make_interval(secs => $5)), 0),
        b.most * (1 - $4), b.per_second,
        coalesce(extract(epoch FROM b.resets_at - clock_timestamp())::float8, 0)
      FROM gq_budget b WHERE b.credential = $1
      """, .text(credential), .text(worker), .double(held), .double(reserve),
      .double(Double(QueueReaper.longestAge)), .double(Self.slowest))
    func number(_ column: Int) -> Double? {
      rows.isNull(0, column) ? nil : rows.double(0, column)
    }
    return Left(
      points: number(0), most: number(1), perSecond: number(2),
      reset: .bounded(seconds: rows.double(0, 3)))
  }
}

/// Keeps the tokens of workers in the database of the queue. One worker renews a token, while it locks the token's row,
/// and the others read it.
actor QueueTokens: SharedTokens {
  private let executor = FileExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let connection: QueueConnection
  private let mutex = AsyncMutex()
  /// The connection whose transaction has the lock.
  private var locked: PostgresConnection?

  init(_ database: QueueDatabase) {
    // Shorter than the time limit of a renewal, whose error would be that of the token endpoint.
    connection = QueueConnection(database.waiting(atMost: .seconds(10)))
  }

  func whileLocked<Value: Sendable>(
    _ name: String, _ work: @Sendable () async throws -> Value
  ) async throws -> Value {
    try await mutex.acquire()
    defer { mutex.release() }
    defer { unlock() }
    try await lock(name)
    return try await work()
  }

  /// Calls `body` with the connection that has the lock of a name, and locks again if that connection was lost.
  private func use<Value>(
    _ action: String, of name: String, _ body: (PostgresConnection) throws -> Value
  ) async throws -> Value {
    while true {
      if locked?.isOpen != true { try await lock(name) }
      let value: Value? = try await run(action) { connection in
        // A new connection does not have the lock.
        guard connection === locked else { return nil }
        return try body(connection)
      }
      if let value { return value }
    }
  }

  /// Locks the row of a name. Waits for another worker that renews the token.
  private func lock(_ name: String) async throws {
    while try await !run("lock a token", { try locks(name, $0) }) {
      try Task.checkCancellation()
    }
  }

  /// Locks the row of a name. Returns `false` if another worker has the lock.
  private func locks(_ name: String, _ connection: PostgresConnection) throws(PostgresError) -> Bool
  {
    locked = connection
    do {
      try connection.run(PostgresConnection.begin)
      // A wait in the database cannot be cancelled, and a worker that vanishes must not keep the lock.
      try connection.run("SET LOCAL lock_timeout = '500ms'")
      try connection.run("SET LOCAL idle_in_transaction_session_timeout = '700s'")
      try connection.run(
        "INSERT INTO gq_token (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name",
        .text(name))
      return true
    } catch {
      unlock()
      guard error.isContention else { throw error }
      return false
    }
  }

  /// Ends the transaction, if it is open.
  private func unlock() {
    guard let locked else { return }
    _ = try? locked.run("ROLLBACK")
    self.locked = nil
  }

  /// Calls `body` with the open connection. Without one, the request of the renewal waits and is sent later, as if the
  /// server were unreachable.
  private func run<Value>(
    _ action: String, _ body: (PostgresConnection) throws -> Value
  ) async throws -> Value {
    do {
      return try await connection.run(action, body)
    } catch let lost as StoppedByStorage {
      throw ChainError(
        .transport, code: .connectionFailed, message: lost.message, delivery: .notSent)
    }
  }

  func read(_ name: String) async throws -> (bytes: [UInt8], age: Duration)? {
    try await use("read a token", of: name) { connection in
      let rows = try connection.run(
        """
        SELECT contents, extract(epoch FROM clock_timestamp() - written_at)::float8
        FROM gq_token WHERE name = $1 AND contents IS NOT NULL
        """, .text(name))
      guard rows.count > 0 else { return nil }
      return (Array(rows.bytes(0, 0)), .bounded(seconds: rows.double(0, 1)))
    }
  }

  /// Stores the bytes and commits; other workers wait until this returns.
  ///
  /// If the connection was lost meanwhile, the row is locked once more: the server may have made the former tokens
  /// invalid, so the new ones must not be lost.
  func write(_ bytes: [UInt8], of name: String) async throws {
    try await use("store a token", of: name) { connection in
      try connection.run(
        "UPDATE gq_token SET contents = $2, written_at = clock_timestamp() WHERE name = $1",
        .text(name), .bytes(bytes))
      try connection.run("COMMIT")
      locked = nil
    }
  }
}
