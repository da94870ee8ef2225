import Foundation
public import GQLRunCache
import GQLRunSupport
public import Logging

/// The services that outlive requests: transport, store, clock, random numbers, logger.
///
/// Plugins use these instead of the system's, so that a test can replace them. Copying costs one
/// reference count.
public struct Services: Sendable {
  private struct Parts: Sendable {
    var transport: (any HTTPTransport)?
    var store: CacheStore?
    var clock: ServiceClock
    var secondsSince1970: @Sendable () -> Double
    var random: @Sendable () -> Double
    var logger: Logger
    var variable: @Sendable (_ name: String) -> String? = Services.environment
    var secrets = KnownSecrets()
    let shared = SharedState()
    var others: [ObjectIdentifier: any Sendable] = [:]
  }

  private var parts: Shareable<Parts>

  /// Sends HTTP requests; `nil` without a network.
  public var transport: (any HTTPTransport)? {
    get { parts.value.transport }
    set { parts.value.transport = newValue }
  }
  /// The normalized cache's store; `nil` without a cache.
  public var store: CacheStore? {
    get { parts.value.store }
    set { parts.value.store = newValue }
  }
  /// The monotonic clock, for durations, timeouts and delays.
  public var clock: ServiceClock {
    get { parts.value.clock }
    set { parts.value.clock = newValue }
  }
  /// Returns the time of day in seconds since 1970, for dates that servers send.
  ///
  /// It may jump; use ``clock`` for delays.
  public var secondsSince1970: @Sendable () -> Double {
    get { parts.value.secondsSince1970 }
    set { parts.value.secondsSince1970 = newValue }
  }
  /// Returns a random number in `0..<1`.
  public var random: @Sendable () -> Double {
    get { parts.value.random }
    set { parts.value.random = newValue }
  }
  /// The logger of the run.
  public var logger: Logger {
    get { parts.value.logger }
    set { parts.value.logger = newValue }
  }
  /// Returns the value of an environment variable, for plugins that read one per request.
  public var variable: @Sendable (_ name: String) -> String? {
    get { parts.value.variable }
    set { parts.value.variable = newValue }
  }
  /// The secret values of this run. A plugin that receives a secret adds it here, so that no output
  /// shows it.
  public var secrets: KnownSecrets {
    get { parts.value.secrets }
    set { parts.value.secrets = newValue }
  }
  /// State that plugins share between requests and pipelines.
  public var shared: SharedState { parts.value.shared }

  /// Creates services.
  ///
  /// - Parameters:
  ///   - transport: Sends HTTP requests; `nil` has no network.
  ///   - store: The store of the cache; `nil` has no cache.
  ///   - clock: The monotonic clock.
  ///   - secondsSince1970: Returns the time of day.
  ///   - random: Returns a random number in `0..<1`.
  ///   - logger: The logger; discards everything by default.
  public init(
    transport: (any HTTPTransport)? = nil, store: CacheStore? = nil,
    clock: ServiceClock = ServiceClock(ContinuousClock()),
    secondsSince1970: @escaping @Sendable () -> Double = Services.timeOfDay,
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    logger: Logger = Logger(label: "gqlrun") { _ in SwiftLogNoOpLogHandler() }
  ) {
    parts = Shareable(
      Parts(
        transport: transport, store: store, clock: clock, secondsSince1970: secondsSince1970,
        random: random, logger: logger))
  }

  /// Returns the time of day of this machine, in seconds since 1970.
  public static let timeOfDay: @Sendable () -> Double = { Date().timeIntervalSince1970 }

  /// Returns an environment variable of this process; `nil` if it is not set.
  public static let environment: @Sendable (String) -> String? = {
    EnvironmentVariables.value(of: $0)
  }

  /// A further service, under a key that its plugin defines; `nil` if it is not set.
  public subscript<Key: ServiceKey>(key: Key.Type) -> Key.Value? {
    get { parts.value.others[ObjectIdentifier(key)] as? Key.Value }
    set { parts.value.others[ObjectIdentifier(key)] = newValue }
  }
}

/// The key of a further service in ``Services``.
public protocol ServiceKey {
  /// The type of the service.
  associatedtype Value: Sendable
}

/// Sends HTTP requests.
public protocol HTTPTransport: Sendable {
  /// The executors on which tasks with many requests run best: those of the network threads. May be
  /// empty. Tasks on them must not block.
  var executors: [any TaskExecutor] { get }

  /// Sends a request, and returns when the head of its response has arrived.
  ///
  /// Ends soon when its task is cancelled, as the reading of the body does: the operation, its time limits and the shutdown
  /// of the client wait for it.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - limits: The limits of the exchange; they also apply to the body.
  /// - Throws: ``ChainError`` of the layer `transport`, with ``ChainError/delivery`` set.
  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage
}

extension HTTPTransport {
  /// Empty: tasks run on the default executor.
  public var executors: [any TaskExecutor] { [] }
}

/// The limits of one HTTP exchange.
public struct HTTPLimits: Sendable, Hashable {
  /// Time limit from sending the request to the last byte of the body. 300 s by default.
  public var total: Duration = .seconds(300)
  /// Time limit for connecting. 10 s by default.
  public var connect: Duration = .seconds(10)
  /// The longest time without data from the server. 30 s by default.
  public var idle: Duration = .seconds(30)
  /// The lowest throughput of the body, in bytes per second; 0, the default, has no limit.
  public var minimumThroughput = ByteSize(bytes: 0)
  /// The largest body, after decompression. 1 GiB by default.
  public var bodyBytes: ByteSize = .gibibytes(1)
  /// The largest message over WebSocket. 16 MiB by default.
  public var messageBytes: ByteSize = .mebibytes(16)
  /// The largest head of a response. 64 KiB by default.
  public var headerBytes: ByteSize = .kibibytes(64)
  /// The largest ratio of decompressed to compressed size; `nil`, the default, has no limit.
  public var decompressionRatio: Int?
  /// Whether the exchange is a subscription, whose time without data the option `event_timeout` of `fetch` limits.
  package var isSubscription = false
  /// The settings of the connection.
  public var connection: HTTPConnection {
    _read { yield sharedConnection.value }
    _modify { yield &sharedConnection.value }
  }
  private var sharedConnection = Shareable(HTTPConnection())

  /// Creates limits with the default values.
  public init() {}
}

/// A clock for measurements and delays.
public struct ServiceClock: Sendable {
  private let reading: @Sendable () -> Duration
  private let wait: @Sendable (Duration) async throws -> Void

  /// Creates a clock that starts at zero.
  ///
  /// - Parameter clock: The clock that measures and sleeps.
  public init<Base: Clock>(_ clock: Base) where Base.Duration == Duration {
    let start = clock.now
    reading = { start.duration(to: clock.now) }
    if clock is ContinuousClock {
      wait = { duration in try await SharedTimer.shared.sleep(for: duration) }
    } else {
      wait = { duration in try await clock.sleep(for: duration) }
    }
  }

  /// Returns the time since this value was created; never decreases.
  public func now() -> Duration { reading() }

  /// Suspends the task for a duration.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  public func sleep(for duration: Duration) async throws { try await wait(duration) }
}

/// State that outlives requests and that plugins share by type and name: tokens, budgets, features
/// that an endpoint is known to lack.
///
/// A value is created on first access and lives as long as the services. Copies of ``Services``
/// share one state.
public final class SharedState: Sendable {
  private struct Key: Hashable {
    var type: ObjectIdentifier
    var name: String
  }

  private let values = Locked<[Key: any Sendable]>([:])

  /// Creates an empty state.
  public init() {}

  /// Returns the value of a type and a name; creates it with `make` if there is none.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - name: The name of the value, unique per type.
  ///   - make: Creates the value. Called with a lock held, so it must be short and not access
  ///     shared state.
  public func value<Value: Sendable>(
    _ type: Value.Type, named name: String, make: () -> Value
  ) -> Value {
    let key = Key(type: ObjectIdentifier(type), name: name)
    return values.withLock { values in
      if let value = values[key] as? Value { return value }
      let value = make()
      values[key] = value
      return value
    }
  }

  /// Returns all values of a type, in no particular order.
  public func all<Value: Sendable>(_ type: Value.Type) -> [Value] {
    values.withLock { $0.values.compactMap { $0 as? Value } }
  }
}

/// The state of the connections of a client's subscriptions, whatever their transport is.
public enum ConnectionState: Sendable, Hashable {
  /// No subscription runs, or all are paused.
  case idle
  /// A subscription connects, and none is connected.
  case connecting
  /// At least one subscription is connected.
  case open
  /// All subscriptions wait before they connect again, the first one until this time, in seconds since 1970.
  case waiting(until: Double)
}
