import GQLRunPipeline
import GQLRunPostgres
import GQLRunSupport

/// What the workers of a database share about a server: the rate of requests, the points of its rate limit, and the
/// delays that it asked for.
final class QueueLimits: Sendable {
  /// The largest number of requests that one worker reserves at a time.
  private static let mostSlots = 64

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
    let count = min(max(Int(rate.perSecond / 4), 1), Self.mostSlots)
    let left = try await client.run("reserve requests") { [credential] connection in
      try connection.run(
        """
        INSERT INTO gq_budget AS b (credential, remaining) VALUES ($1, $3 - $4)
        ON CONFLICT (credential) DO UPDATE SET updated_at = clock_timestamp(),
          remaining = least($3, coalesce(b.remaining, $3)
            + $2 * extract(epoch FROM clock_timestamp() - b.updated_at)) - $4
        RETURNING remaining
        """, .text(credential), .double(rate.perSecond), .double(Double(rate.burst)),
        .double(Double(count))
      ).double(0, 0)
    }
    let now = clock.now()
    // The request of a token that is still missing waits until it is there.
    let times = (1...count).map { number in
      now + .seconds(max(Double(number) - (left + Double(count)), 0) / rate.perSecond)
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
    return try await pauseLeft()
  }

  /// The rest of the delay that the server asked for; zero or less without one.
  func pauseLeft() async throws -> Duration {
    try await client.run("read the delays") { [credential] connection in
      let rows = try connection.run(
        """
        SELECT extract(epoch FROM paused_until - clock_timestamp())::float8 FROM gq_budget
        WHERE credential = $1
        """, .text(credential))
      return rows.count > 0 ? .seconds(rows.double(0, 0)) : .zero
    }
  }
}
