import GQLRunSupport

/// When a subscription connects again, and when it gives up: one policy for all transports.
///
/// Until it was connected for the first time, a subscription is retried like a query: as often as `max-retry` permits.
/// From then on, ``SubscriptionSettings/patience`` limits the time in which neither an event nor a lasting connection
/// comes. Only a lasting connection resets the delays: a server that closes each connection after one event is asked
/// ever more rarely.
///
/// `Execution` notes what happens; `max-retry` asks for the number of the retry and the rest of the patience.
package final class Reconnection: RequestContextKey, Sendable {
  package typealias Value = Reconnection

  /// The duration from which on a connection counts as one that worked.
  package static let lasting = Duration.seconds(30)
  /// The shortest delay after as many retries as are permitted before the first connection, whatever the backoff is.
  package static let leastDelay = Duration.seconds(1)

  /// A connection, and its loss.
  struct Connection: Sendable {
    /// The time of its beginning, on the services' clock.
    let begin: Duration
    /// The time of its loss on the services' clock, and in seconds since 1970; `nil` before.
    var loss: (time: Duration, date: Double)?

    /// Whether it lasted.
    var isLasting: Bool { loss.map { $0.time - begin >= Reconnection.lasting } ?? false }
  }

  /// A time without events, and the attempts to end it.
  private struct Outage {
    var first: any Error
    var begin: Duration
    var failures = 0
  }

  private struct State {
    /// The connection that is open or was just lost; `nil` until the next one.
    var connection: Connection?
    var wasConnected = false
    /// The number of retries since the last lasting connection.
    var retries = 0
    var outage: Outage?
    var events = 0
    /// Whether the next attempt is a retry that this policy permitted.
    var isPermitted = false

    mutating func noteLasting() {
      guard connection?.isLasting == true else { return }
      retries = 0
      outage = nil
    }

    func begin(at now: Duration) -> Duration {
      outage?.begin ?? connection?.loss?.time ?? now
    }
  }

  private let patience: Duration
  private let state = Locked(State())

  init(patience: Duration) { self.patience = patience }
}

// MARK: What happens

extension Reconnection {
  /// Notes that a connection is open.
  func connected(at time: Duration) {
    state.withLock { state in
      state.connection = Connection(begin: time)
      state.wasConnected = true
    }
  }

  /// Notes that the connection was lost, which may be long before the next attempt.
  func lost(at time: Duration, date: Double) {
    state.withLock { if $0.connection?.loss == nil { $0.connection?.loss = (time, date) } }
  }

  /// Notes an event.
  func received() {
    state.withLock { state in
      state.events += 1
      state.outage = nil
    }
  }

  /// Notes that an attempt has failed. Call it before ``takeConnection()``.
  func failed(_ error: (any Error)?, at now: Duration) {
    state.withLock { state in
      state.noteLasting()
      guard let error else { return }
      var outage = state.outage ?? Outage(first: error, begin: state.begin(at: now))
      outage.failures += 1
      state.outage = outage
    }
  }

  /// Begins to count again, because the subscription was paused.
  func reset() {
    state.withLock { state in
      state.retries = 0
      state.outage = nil
      state.isPermitted = false
    }
  }

  /// Whether a connection is open, or was since the last call of ``takeConnection()``.
  var isConnected: Bool { state.withLock { $0.connection != nil } }

  /// The connection that was opened since the last call.
  func takeConnection() -> Connection? { state.withLock { $0.connection.take() } }

  /// Whether this policy permitted the next attempt since the last call.
  func takePermission() -> Bool {
    state.withLock { state in
      defer { state.isPermitted = false }
      return state.isPermitted
    }
  }
}

// MARK: What may happen next

extension Reconnection {
  /// The number of the next retry, from 0, and the rest of the patience; `nil` before the first connection.
  package func next(at now: Duration) -> (retry: Int, rest: Duration)? {
    state.withLock { state in
      guard state.wasConnected else { return nil }
      state.noteLasting()
      return (state.retries, patience - (now - state.begin(at: now)))
    }
  }

  /// Permits the next attempt, as the first one of a request.
  package func permitRetry() {
    state.withLock { state in
      state.retries += 1
      state.isPermitted = true
    }
  }

  /// The error that ends the subscription, with the first failure and what was tried since.
  func concluded(_ error: any Error, at now: Duration) -> any Error {
    failed(error, at: now)
    let (outage, wasConnected, events) = state.withLock { ($0.outage, $0.wasConnected, $0.events) }
    guard var failure = error as? ChainError, wasConnected, let outage, outage.failures > 1 else {
      return error
    }
    let attempts = outage.failures - 1
    let first = (outage.first as? ChainError)?.message ?? ErrorWords.text(outage.first)
    failure.message +=
      "; the subscription has received \(Quantity.count(events, "event")) and gave up after "
      + "\(Quantity.count(attempts, "attempt")) to connect again within \((now - outage.begin).shown); its "
      + "connection was lost at first because: \(first)"
    return failure
  }
}
