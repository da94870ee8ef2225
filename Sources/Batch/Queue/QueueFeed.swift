import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPostgres
import GQLRunSupport

/// The tasks that a worker claims from a queue, in groups.
final class QueueFeed: TaskSupply {
  private struct State {
    var ready: [TaskItem] = []
    /// Tasks to be returned with the next claim.
    var returned: [(id: TaskID, lease: Int)] = []
    var counters = RunCounters()
    var isExhausted = false
  }

  let time: RunTime
  private let manifest: Manifest
  private let operations: [String: Int]
  private let worker: QueueWorker
  private let client: QueueClient
  private let leases: LeaseTable
  private let pulse: QueuePulse
  private let clock: ServiceClock
  private let stop: RunStop
  private let claiming = AsyncMutex()
  private let state = Locked(State())
  /// Learns of delays that other workers were asked for.
  private let learnDelays: @Sendable () async throws -> Void
  /// The largest number of tasks in one claim.
  private let limit: Int

  init(
    _ manifest: Manifest, worker: QueueWorker, client: QueueClient, leases: LeaseTable,
    pulse: QueuePulse, services: Services, stop: RunStop, concurrency: Int,
    learnDelays: @escaping @Sendable () async throws -> Void
  ) {
    self.learnDelays = learnDelays
    self.manifest = manifest
    self.worker = worker
    self.client = client
    self.leases = leases
    self.pulse = pulse
    self.stop = stop
    clock = services.clock
    time = RunTime(services, after: 0)
    limit = min(max(concurrency, 32), 1_000)
    operations = Dictionary(
      manifest.operations.map { ($0.id, $0.index) }, uniquingKeysWith: { first, _ in first })
  }

  var counters: RunCounters { state.withLock { $0.counters } }
  var maySend: Bool { pulse.isFresh }

  func holds(_ item: TaskItem) -> Bool { leases.holds(item.id, item.lease) }

  func next(_ barrier: @Sendable () async throws -> Void) async throws -> TaskItem? {
    while stop.reason == nil {
      if let item = pop() { return item }
      guard !state.withLock({ $0.isExhausted }) else { return nil }
      try await claiming.acquire()
      defer { claiming.release() }
      // Another caller may have claimed tasks meanwhile.
      if stop.reason != nil { return nil }
      if let item = pop() { return item }
      try await fill()
    }
    return nil
  }

  /// The next claimed task that is still this worker's.
  private func pop() -> TaskItem? {
    state.withLock { state in
      while let item = state.ready.popLast() {
        guard holds(item) else { continue }
        state.counters.started += 1
        return item
      }
      return nil
    }
  }

  /// Claims tasks; waits if there are none now, and notes when there will be none any more.
  private func fill() async throws {
    let returned = state.withLock { state in
      defer { state.returned = [] }
      return state.returned
    }
    try await release(returned)
    // Without a heartbeat, claimed tasks could soon be another worker's.
    if pulse.isFresh {
      try await learnDelays()
      let found = try await claim()
      guard found.isEmpty else {
        return state.withLock { $0.ready = found.reversed() }
      }
      let isOver = try await client.run("look for tasks") { [worker] connection in
        try connection.run("SELECT NOT (\(QueueRun.hasOpenTasks))", .text(worker.run)).int(0, 0)
          == 1
      }
      if isOver {
        let levels = QueueLevels(manifest, run: worker.run)
        switch try await client.run("add tasks", { try levels.addNext($0) }) {
        case .added: return
        case .isBusy: break
        case .nothing: return state.withLock { $0.isExhausted = true }
        }
      }
    }
    // NOTIFY would take a lock of the whole server at each commit.
    try await clock.sleep(for: .milliseconds(Int.random(in: 190...310)))
  }

  private func claim() async throws -> [TaskItem] {
    let rows = try await client.run("claim tasks") { [worker, limit] connection in
      try QueueClaim.take(limit, for: worker, connection)
    }
    return try rows.map { row in
      guard let operation = operations[row.operation] else {
        throw JournalError("the queue has a task of the unknown operation `\(row.operation)`")
      }
      leases.add(row.id, row.lease)
      var scope = Scope()
      scope.key = row.key
      scope.operation = row.operation
      let variables = try JSONValue(parsing: row.variables).objectValue ?? JSONObject()
      var item = TaskItem(
        id: row.id, operation: operation, key: row.key, variables: variables, scope: scope)
      item.uploads = try TaskUpload.list(parsing: row.uploads)
      item.record = row.record
      item.lease = row.lease
      return item
    }
  }

  /// Returns tasks that were not sent.
  private func release(_ tasks: [(id: TaskID, lease: Int)]) async throws {
    let held = tasks.filter(leases.holds)
    guard !held.isEmpty else { return }
    try await client.run("return tasks") { [worker] connection in
      try QueueClaim.release(held, of: worker, connection)
    }
    leases.remove(held)
  }

  /// Returns all tasks of this worker that did not end.
  func close() async throws { try await release(leases.all()) }

  func finished(
    _ item: TaskItem, end: TaskState, barrier: @Sendable () async throws -> Void
  ) async throws {
    let counters = state.withLock { state in
      state.counters.note(end)
      return state.counters
    }
    if manifest.settings.failureLimit?.isExceeded(by: counters) == true {
      stop.stop(.tooManyFailures)
    }
  }

  func note(bytes: Int, records: Int) {
    state.withLock { $0.counters.note(bytes: bytes, records: records) }
  }

  func putBack(_ item: TaskItem) { state.withLock { $0.returned.append((item.id, item.lease)) } }
  func noteGap() { state.withLock { $0.counters.gaps += 1 } }
}

/// A claimed task.
struct QueueClaim: Sendable {
  var id: TaskID
  var operation: String
  var key: String
  var variables: String
  /// The files, as JSON; empty if there are none.
  var uploads: String
  var lease: Int
  /// The progress of earlier workers.
  var record: TaskRecord?

  /// Claims the next tasks that are due; tasks that another worker claims at the moment are skipped.
  static func take(
    _ limit: Int, for worker: QueueWorker, _ connection: PostgresConnection
  ) throws -> [QueueClaim] {
    let rows = try connection.run(
      """
      WITH next AS MATERIALIZED (
        SELECT id FROM gq_task WHERE run = $1::uuid AND state = 'queued' AND run_at <= now()
          AND EXISTS (SELECT FROM gq_run WHERE id = $1::uuid AND state = 'open')
        ORDER BY run_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
      UPDATE gq_task t SET state = 'leased', attempt = attempt + 1, lease = nextval('gq_lease'),
        worker = $2::uuid
      FROM next WHERE t.run = $1::uuid AND t.id = next.id
      RETURNING t.id, op, key, variables, lease, page, requests, ended, cursor, ms, bytes, records,
        coalesce(uploads, '')
      """, .text(worker.run), .text(worker.id), .int(limit))
    return (0..<rows.count).map { row in
      let record = TaskRecord(
        state: .queued, page: rows.int(row, 5), attempts: rows.int(row, 6),
        ended: rows.double(row, 7), cursor: rows.isNull(row, 8) ? nil : rows.text(row, 8),
        milliseconds: rows.double(row, 9), bytes: rows.int(row, 10), records: rows.int(row, 11))
      return QueueClaim(
        id: TaskID(rows.bytes(row, 0)), operation: rows.text(row, 1), key: rows.text(row, 2),
        variables: rows.text(row, 3), uploads: rows.text(row, 12), lease: rows.int(row, 4),
        record: record.page + record.attempts > 0 ? record : nil)
    }
  }

  /// Returns tasks whose leases the worker still has. After a cancellation, they are skipped.
  static func release(
    _ tasks: [(id: TaskID, lease: Int)], of worker: QueueWorker, _ connection: PostgresConnection
  ) throws {
    try connection.run(
      """
      UPDATE gq_task t SET lease = NULL, worker = NULL, attempt = attempt - 1,
        state = CASE r.state WHEN 'open' THEN 'queued' ELSE 'skipped' END,
        error = CASE r.state WHEN 'open' THEN NULL ELSE '\(QueueRun.cancelled)' END
      FROM unnest($2::bytea[], $3::bigint[]) AS u(id, lease), gq_run r
      WHERE r.id = $1::uuid AND t.run = $1::uuid AND t.id = u.id AND t.lease = u.lease
        AND t.worker = $4::uuid AND t.state = 'leased'
      """, .text(worker.run), .byteStrings(tasks.map(\.id.bytes)), .ints(tasks.map(\.lease)),
      .text(worker.id))
  }
}
