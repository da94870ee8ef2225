import Foundation
public import GQLRunCache
import GQLRunSupport
public import Logging

/// What outlives requests and is handed to every chain: network, store, time, chance, log.
///
/// Plugins reach the world through these and nothing else, so a test replaces them.
///
/// A copy costs as much as one reference, since each step of a chain has one.
public struct Services: Sendable {
  private struct Parts: Sendable {
    var transport: (any HTTPTransport)?
    var store: (any RecordStore)?
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

  public var transport: (any HTTPTransport)? {
    get { parts.value.transport }
    set { parts.value.transport = newValue }
  }
  public var store: (any RecordStore)? {
    get { parts.value.store }
    set { parts.value.store = newValue }
  }
  public var clock: ServiceClock {
    get { parts.value.clock }
    set { parts.value.clock = newValue }
  }
  /// The time of day in seconds since 1970, for dates that servers send. May jump: never used for
  /// waiting.
  public var secondsSince1970: @Sendable () -> Double {
    get { parts.value.secondsSince1970 }
    set { parts.value.secondsSince1970 = newValue }
  }
  /// A random number from 0 up to, but not including, 1.
  public var random: @Sendable () -> Double {
    get { parts.value.random }
    set { parts.value.random = newValue }
  }
  public var logger: Logger {
    get { parts.value.logger }
    set { parts.value.logger = newValue }
  }
  /// The value of an environment variable, for plugins that read one per request.
  public var variable: @Sendable (_ name: String) -> String? {
    get { parts.value.variable }
    set { parts.value.variable = newValue }
  }
  /// The secret values of this run. A plugin that receives one adds it here, so that no output shows it.
  public var secrets: KnownSecrets {
    get { parts.value.secrets }
    set { parts.value.secrets = newValue }
  }
  /// What plugins share among requests and pipelines.
  public var shared: SharedState { parts.value.shared }

  public init(
    transport: (any HTTPTransport)? = nil, store: (any RecordStore)? = nil,
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

  /// The time of day of this machine.
  public static let timeOfDay: @Sendable () -> Double = { Date().timeIntervalSince1970 }

  /// The environment variables of this process.
  public static let environment: @Sendable (String) -> String? = {
    // Asked for tokens of every attempt: one variable, and not a dictionary of all.
    getenv($0).map { String(cString: $0) }
  }

  /// Services that single plugins need, such as the state of a token.
  public subscript<Key: ServiceKey>(key: Key.Type) -> Key.Value? {
    get { parts.value.others[ObjectIdentifier(key)] as? Key.Value }
    set { parts.value.others[ObjectIdentifier(key)] = newValue }
  }
}

/// The key of a further service in ``Services``.
public protocol ServiceKey {
  associatedtype Value: Sendable
}

/// Sends HTTP requests.
public protocol HTTPTransport: Sendable {
  /// Where tasks that send many requests run best: in the threads that the answers come in on. Empty
  /// when it makes no difference. Nothing that makes a thread wait belongs there.
  var executors: [any TaskExecutor] { get }

  /// Sends a request and returns when the head of its response has arrived.
  ///
  /// - Throws: ``ChainError`` of the layer `transport`, with ``ChainError/delivery`` set.
  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage
}

extension HTTPTransport {
  public var executors: [any TaskExecutor] { [] }
}

/// The bounds of one HTTP exchange.
public struct HTTPLimits: Sendable, Hashable {
  /// From sending the request to the last byte of the body.
  public var total: Duration = .seconds(300)
  public var connect: Duration = .seconds(10)
  /// The longest silence of the server.
  public var idle: Duration = .seconds(30)
  /// The fewest bytes per second, once the body has begun; 0 does not measure.
  public var minimumThroughput = ByteSize(bytes: 0)
  /// After decompression.
  public var bodyBytes: ByteSize = .gibibytes(1)
  public var headerBytes: ByteSize = .kibibytes(64)
  /// How many times larger a body may become; `nil` does not measure.
  public var decompressionRatio: Int?
  public var connection = HTTPConnection()

  public init() {}
}

/// A clock that plugins measure and wait with.
public struct ServiceClock: Sendable {
  private let reading: @Sendable () -> Duration
  private let wait: @Sendable (Duration) async throws -> Void

  public init<Base: Clock>(_ clock: Base) where Base.Duration == Duration {
    let start = clock.now
    reading = { start.duration(to: clock.now) }
    if clock is ContinuousClock {
      wait = { duration in try await SharedTimer.shared.sleep(for: duration) }
    } else {
      wait = { duration in try await clock.sleep(for: duration) }
    }
  }

  /// The time since this value was made; never goes back.
  public func now() -> Duration { reading() }

  /// Waits, unless the task is cancelled.
  public func sleep(for duration: Duration) async throws { try await wait(duration) }
}
