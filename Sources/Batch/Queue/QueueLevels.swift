import GQLRunJSON
import GQLRunPipeline
import GQLRunPostgres
import GQLRunSupport

/// The operations of a run, level by level: those with `needs` are added when the tasks of all earlier ones have ended.
struct QueueLevels: Sendable {
  let manifest: Manifest
  /// The id of the run.
  let run: String

  /// What ``addNext(_:)`` found.
  enum Progress: Sendable {
    case added(BatchQueue.Enqueued)
    /// Tasks are left, or another process adds some at the moment.
    case isBusy
    /// Nothing is to be added.
    case nothing
  }

  /// The operations whose tasks were not all added.
  private func missing(_ connection: PostgresConnection) throws -> Set<String> {
    let rows = try connection.run(
      """
      SELECT op FROM unnest($2::text[]) AS op
      WHERE op <> ALL (SELECT unnest(added) FROM gq_run WHERE id = $1::uuid)
      """, .text(run), .texts(manifest.operations.map { Array($0.id.utf8) }))
    return Set((0..<rows.count).map { rows.text($0, 0) })
  }

  /// The number of operations with needs whose tasks are not added yet.
  func waiting(_ connection: PostgresConnection) throws -> Int {
    let later = Set(manifest.operations.filter { !$0.needs.isEmpty }.map(\.id))
    guard !later.isEmpty else { return 0 }
    return try missing(connection).intersection(later).count
  }

  /// Adds the tasks of operations without needs.
  func addFirst(_ connection: PostgresConnection) throws -> BatchQueue.Enqueued {
    var total = BatchQueue.Enqueued()
    let state = try StateFile.read(manifest.stateFile)
    for operation in manifest.operations where operation.needs.isEmpty {
      try add(operation, state: state, journal: nil, connection: connection, total: &total)
    }
    return total
  }

  /// Adds the tasks of the operations whose needs have ended, in one transaction.
  func addNext(_ connection: PostgresConnection) throws -> Progress {
    guard manifest.operations.contains(where: { !$0.needs.isEmpty }) else { return .nothing }
    return try connection.transaction {
      // Several workers find at the same moment that a level has ended.
      let rows = try connection.run(
        "SELECT state FROM gq_run WHERE id = $1::uuid FOR UPDATE SKIP LOCKED", .text(run))
      guard rows.count == 1,
        // Another worker may have added a level since this one found no tasks.
        try connection.run("SELECT \(QueueRun.hasOpenTasks)", .text(run)).int(0, 0) == 0
      else { return .isBusy }
      let missing = try missing(connection)
      let next = manifest.operations.filter { operation in
        missing.contains(operation.id) && !operation.needs.isEmpty
          && operation.needs.allSatisfy { !missing.contains(manifest.operations[$0].id) }
      }
      guard rows.text(0, 0) == "open", !next.isEmpty else { return .nothing }
      var total = BatchQueue.Enqueued()
      let state = try StateFile.read(manifest.stateFile)
      try withCaptures(of: next, connection) { journal in
        for operation in next {
          try add(operation, state: state, journal: journal, connection: connection, total: &total)
        }
      }
      return .added(total)
    }
  }

  private func add(
    _ operation: BatchOperation, state: JSONObject, journal: Journal?,
    connection: PostgresConnection, total: inout BatchQueue.Enqueued
  ) throws {
    let missing = try missingNeed(of: operation, connection)
    if missing == nil, !operation.needs.isEmpty {
      // They were skipped before tasks that it needs were added, and succeeded.
      try connection.run(
        "DELETE FROM gq_task WHERE run = $1::uuid AND op = $2 AND state = 'skipped'", .text(run),
        .text(operation.id))
    }
    var started = operation
    if operation.tables?.since != nil {
      started.start(from: try QueueSince.values(ofRun: run, connection))
    }
    var rows = TaskRows(
      TaskMaker(started, state: state),
      RowContext(
        manifest: manifest, journal: journal, numbers: Array(manifest.operations.indices)))
    var group = QueueTaskGroup(run: run)
    while var item = try rows.next() {
      if let missing { item.skip(missing: missing) }
      try group.add(item, operation.id)
      if group.isFull { try group.insert(connection, &total) }
    }
    // The time of a statement orders the operations.
    try group.insert(connection, &total)
    try connection.runInTransaction(
      """
      UPDATE gq_run SET added = array_append(added, $2) WHERE id = $1::uuid AND $2 <> ALL (added)
      """, [.text(run), .text(operation.id)])
  }

  /// A needed operation of which no task succeeded.
  private func missingNeed(
    of operation: BatchOperation, _ connection: PostgresConnection
  ) throws -> String? {
    guard !operation.needs.isEmpty else { return nil }
    let rows = try connection.run(
      """
      SELECT op FROM gq_task WHERE run = $1::uuid AND op = ANY ($2::text[])
      GROUP BY op HAVING count(*) FILTER (WHERE state = 'done') = 0 ORDER BY op LIMIT 1
      """, .text(run), .texts(operation.needs.map { Array(manifest.operations[$0].id.utf8) }))
    return rows.count > 0 ? rows.text(0, 0) : nil
  }

  /// Calls `body` with a temporary journal that has the values that the needs of operations captured.
  private func withCaptures(
    of operations: [BatchOperation], _ connection: PostgresConnection,
    _ body: (Journal) throws -> Void
  ) throws {
    let needs = Set(operations.flatMap(\.needs)).filter { !manifest.operations[$0].capture.isEmpty }
    try Journal.withTemporary { journal in
      var last: [UInt8] = []
      while !needs.isEmpty {
        let rows = try connection.run(
          """
          SELECT id, op, key, captured FROM gq_task
          WHERE run = $1::uuid AND id > $2 AND captured IS NOT NULL AND op = ANY ($3::text[])
          ORDER BY id LIMIT 10000
          """, .text(run), .bytes(last),
          .texts(needs.map { Array(manifest.operations[$0].id.utf8) }))
        guard rows.count > 0 else { break }
        let numbers = Dictionary(
          uniqueKeysWithValues: needs.map { (manifest.operations[$0].id, $0) })
        var step = JournalStep()
        step.captures = (0..<rows.count).map { row in
          (numbers[rows.text(row, 1)] ?? 0, rows.text(row, 2), rows.text(row, 3))
        }
        try journal.record(step)
        last = Array(rows.bytes(rows.count - 1, 0))
      }
      try body(journal)
    }
  }
}

/// What the workers of a database share about a server: the rate of requests, the points of its rate limit, and the
/// delays that it asked for.
final class QueueLimits: Sendable {
  /// The largest number of requests that one worker reserves at a time.
  private static let maxSlots = 64

  private let client: QueueClient
  private let clock: ServiceClock
  /// The server; all requests of a manifest have the same credential.
  private let credential: String
  private let rate: (perSecond: Double, burst: Int)?
  private let slots = Locked<[Duration]>([])
  private let reserving = AsyncMutex()
  /// The points of the server's rate limit; `nil` if it reports none.
  let points: QueuePoints?

  init(
    _ client: QueueClient, clock: ServiceClock, credential: String,
    rate: (perSecond: Double, burst: Int)?, points: QueuePoints? = nil
  ) {
    self.points = points
    self.client = client
    self.clock = clock
    self.credential = credential
    self.rate = rate
  }

  /// Reserves a request; returns the time at which it may be sent, by the clock of this worker.
  func slot() async throws -> Duration {
    guard let rate else { return .zero }
    if let slot = pop() { return slot }
    try await reserving.acquire()
    defer { reserving.release() }
    if let slot = pop() { return slot }
    // As many as are sent in a quarter of a second, so that a worker that ends wastes few.
    let count = min(max(Int(rate.perSecond / 4), 1), Self.maxSlots)
    // No time has passed since a moment that is in the future, because the clock of the database was set back.
    let left = try await client.run("reserve requests") { [credential] connection in
      try connection.run(
        """
        INSERT INTO gq_budget AS b (credential, remaining) VALUES ($1, $3 - $4)
        ON CONFLICT (credential) DO UPDATE SET updated_at = clock_timestamp(),
          remaining = least($3, coalesce(b.remaining, $3)
            + $2 * greatest(extract(epoch FROM clock_timestamp() - b.updated_at), 0)) - $4
        RETURNING remaining
        """, .text(credential), .double(rate.perSecond), .double(Double(rate.burst)),
        .double(Double(count))
      ).double(0, 0)
    }
    let now = clock.now()
    // The request of a token that is still missing waits until it is there.
    let times = (1...count).map { number in
      now + .bounded(seconds: max(Double(number) - (left + Double(count)), 0) / rate.perSecond)
    }
    slots.withLock { $0 = times.dropFirst().reversed() }
    return times[0]
  }

  private func pop() -> Duration? { slots.withLock { $0.popLast() } }

  /// Makes all workers wait, because the server asked for a delay.
  func pause(for duration: Duration) async throws {
    try await client.run("record a delay") { [credential] connection in
      try connection.run(
        """
        INSERT INTO gq_budget AS b (credential, paused_until)
        VALUES ($1, clock_timestamp() + make_interval(secs => $2))
        ON CONFLICT (credential) DO UPDATE
        SET paused_until = greatest(b.paused_until, excluded.paused_until)
        """, .text(credential), .double(duration.seconds))
      return
    }
  }

  /// Exchanges what has changed with the other workers.
  ///
  /// - Returns: The rest of the delay that the server asked for; zero or less without one.
  func update() async throws -> Duration {
    try await points?.flush()
    return try await client.run("read the delays") { [credential] connection in
      let rows = try connection.run(
        """
        SELECT extract(epoch FROM paused_until - clock_timestamp())::float8 FROM gq_budget
        WHERE credential = $1
        """, .text(credential))
      return rows.count > 0 ? .bounded(seconds: rows.double(0, 0)) : .zero
    }
  }
}
