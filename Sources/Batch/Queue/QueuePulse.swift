import GQLRunPipeline
import GQLRunPostgres
import GQLRunSupport

/// The heartbeat of a worker, by the clock of the database, and the search for workers without one.
final class QueuePulse: Sendable {
  /// The time between two heartbeats.
  static let interval = Duration.seconds(10)
  /// A worker that cannot beat for so long sends nothing.
  static let longestSilence = Duration.seconds(20)

  private let worker: QueueWorker
  private let client: QueueClient
  private let clock: ServiceClock
  private let stop: RunStop
  private let reaper: QueueReaper
  private let lastBeat: Locked<Duration>

  init(
    _ manifest: Manifest, worker: QueueWorker, client: QueueClient, clock: ServiceClock,
    stop: RunStop
  ) {
    self.worker = worker
    self.client = client
    self.clock = clock
    self.stop = stop
    reaper = QueueReaper(manifest, run: worker.run)
    lastBeat = Locked(clock.now())
  }

  /// Whether other workers still count this one as alive.
  var isFresh: Bool { clock.now() - lastBeat.withLock { $0 } < Self.longestSilence }

  /// Beats until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      let hasBeaten = (try? await beat()) != nil
      do { try await clock.sleep(for: hasBeaten ? Self.interval : .seconds(1)) } catch { return }
    }
  }

  /// Beats once, and takes the tasks of workers that do not beat any more.
  func beat() async throws {
    let start = clock.now()
    let state = try await client.run("send a heartbeat") { [worker] connection in
      try connection.run(
        """
        UPDATE gq_worker w SET seen_at = now() FROM gq_run r
        WHERE w.id = $1::uuid AND r.id = w.run RETURNING r.state
        """, .text(worker.id)
      ).text(0, 0)
    }
    lastBeat.withLock { $0 = start }
    if state != "open" { stop.stop(.cancelled) }
    _ = try await client.run("look for lost workers") { [reaper] in try reaper.reap($0) }
  }
}

/// Takes back the tasks of workers that do not beat any more.
struct QueueReaper: Sendable {
  /// The age of a heartbeat after which a worker counts as lost.
  static let longestAge = 30
  /// A task fails after so many lost workers, because it may be the cause of their loss.
  static let maxAttempts = 20
  /// The number of tasks in one transaction.
  static let groupSize = 1_000

  private let run: String
  /// The operations that are safe to repeat.
  private let repeatable: [[UInt8]]

  init(_ manifest: Manifest, run: String) {
    self.run = run
    repeatable = manifest.operations.filter(\.mayRepeat).map { Array($0.id.utf8) }
  }

  /// Takes back tasks, in groups; returns their number.
  ///
  /// Tasks that were not sent, or are safe to repeat, are queued again. Others end as unknown. Several workers may call
  /// this at the same time: each task is locked by one of them, and the others skip it.
  func reap(_ connection: PostgresConnection) throws -> Int {
    // Heartbeats from the future are older than the moment at which the clock of the database was set back. Workers that
    // are alive send others in time.
    try connection.run(
      "UPDATE gq_worker SET seen_at = now() WHERE run = $1::uuid AND seen_at > now()", .text(run))
    // Queued tasks were due then. Their order becomes that of their ids.
    try connection.run(
      """
      UPDATE gq_task SET run_at = now() WHERE run = $1::uuid AND id IN (
        SELECT id FROM gq_task WHERE run = $1::uuid AND state = 'queued' AND run_at > now()
        ORDER BY run_at, id LIMIT $2 FOR UPDATE SKIP LOCKED)
      """, .text(run), .int(Self.groupSize))
    var count = 0
    while true {
      let rows = try connection.run(
        """
        WITH lost AS MATERIALIZED (
          SELECT t.id, w.host FROM gq_worker w
          JOIN gq_task t ON t.worker = w.id AND t.state IN ('leased', 'sent')
          WHERE w.run = $1::uuid AND w.seen_at < now() - make_interval(secs => $3)
          LIMIT $4 FOR UPDATE OF t SKIP LOCKED)
        UPDATE gq_task t SET lease = NULL, worker = NULL, run_at = now(),
          state = CASE WHEN t.state = 'sent' AND t.op <> ALL ($2::text[]) THEN 'unknown'
            WHEN t.attempt >= $5 THEN 'failed' ELSE 'queued' END,
          error = CASE WHEN t.state = 'sent' AND t.op <> ALL ($2::text[])
              THEN 'sent, and the worker on ' || lost.host || ' was lost before it recorded a response'
            WHEN t.attempt >= $5 THEN t.attempt || ' workers were lost during this task' END,
          ended = CASE WHEN t.attempt >= $5 OR t.state = 'sent' AND t.op <> ALL ($2::text[])
            THEN extract(epoch FROM clock_timestamp()) ELSE t.ended END
        FROM lost WHERE t.run = $1::uuid AND t.id = lost.id
        RETURNING t.state
        """, .text(run), .texts(repeatable), .double(Double(Self.longestAge)),
        .int(Self.groupSize), .int(Self.maxAttempts))
      count += rows.count
      if rows.count < Self.groupSize { return count }
    }
  }
}
