import GQLRunSupport
import HTTPTypes
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore

/// A GraphQL server with built-in data, for first runs, examples and tests.
///
/// Serves the countries of the world, a generated feed and a generated shop of any size, and repositories with issues.
/// Responses are streamed, so a
/// gigabyte needs no more memory than a kilobyte. Requests can ask for failures: see
/// ``Misbehaviour``.
///
/// ```swift
/// try await DemoServer.withServer { server in
///   // POST to server.url
/// }
/// ```
///
/// Listens on the loopback address by default, and installs no signal handlers: to stop it, cancel
/// the task that runs it.
public struct DemoServer: Sendable {
  /// The configuration of a server.
  public struct Configuration: Sendable {
    /// The address to listen on; the loopback address by default.
    public var host = "127.0.0.1"
    /// The port to listen on; 0, the default, chooses a free one.
    public var port = 0
    /// The number of posts in the feed; a million by default, a hundred million at most.
    public var feedSize = 1_000_000
    /// The number of customers of the shop; 120 by default, ten million at most. 120 have 1,780 orders with 12,629 lines.
    public var customers = 120
    /// The maximum number of objects that an operation may ask for; `nil`, the default, for no limit.
    public var maxComplexity: Int?
    /// The misbehaviour of requests that ask for none; none by default.
    public var misbehaviour = Misbehaviour()
    /// The maximum size of a request body in bytes; 1 MiB by default.
    public var maxBodyBytes = 1 << 20
    /// The time between two signs of life of an event stream or WebSocket connection; 12 seconds by
    /// default.
    public var heartbeat = Duration.seconds(12)
    /// The time limit for the initialization of a WebSocket connection; 10 seconds by default.
    public var initializationTimeout = Duration.seconds(10)
    /// The maximum number of operations at a time on a WebSocket connection; 1000 by default.
    public var maxOperations = 1000
    /// The maximum number of operations in a request whose body is an array; 0, the default, refuses
    /// arrays.
    public var maxBatch = 0
    /// Documents that requests may identify by `documentId`, by their identifiers; none by default.
    ///
    /// Those that were registered by hash are known, too: with the prefix `sha256:`.
    public var persistedDocuments: [String: String] = [:]
    /// The time between two likes that the server adds to one of the first ten posts by itself; `nil`,
    /// the default, for none.
    public var likeInterval: Duration?
    /// The logger; discards all messages by default.
    public var logger = Logger(label: "gqlrun.demo") { _ in SwiftLogNoOpLogHandler() }
    /// Suspends for a requested delay; `Task.sleep(for:)` by default. Tests inject their clock
    /// here.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Creates the default configuration.
    ///
    /// - Parameter port: The port to listen on; 0, the default, chooses a free one.
    public init(port: Int = 0) {
      self.port = port
    }
  }

  /// The reason why a server could not start or continue.
  public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The operation that failed, and why.
    public var message: String
    /// The message.
    public var description: String { message }
  }

  /// The configuration that the server was created with.
  public let configuration: Configuration
  private let state: ServerState
  private let executor: DemoExecutor

  /// Creates a server. It does not listen before it is run.
  ///
  /// - Parameter configuration: The configuration.
  public init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
    state = ServerState(
      misbehaviour: configuration.misbehaviour,
      persistedQueries: PersistedQueries(known: configuration.persistedDocuments))
    executor = DemoExecutor(
      feedSize: configuration.feedSize, customers: configuration.customers,
      maxComplexity: configuration.maxComplexity)
  }

  /// The requests received so far.
  public var log: RequestLog { state.log }

  /// Serves until the task is cancelled; then closes all connections and returns.
  ///
  /// - Parameter onReady: Called once, with the URL of the GraphQL endpoint, when the server
  ///   accepts requests.
  /// - Throws: ``Failure`` if the server cannot listen, or stops for another reason than
  ///   cancellation.
  public func run(onReady: @escaping @Sendable (String) -> Void) async throws {
    try await serve { onReady($0.url) }
  }

  /// Runs a server for the duration of `body`, with a higher priority: it answers when other tasks keep the processors busy.
  ///
  /// - Parameters:
  ///   - configuration: The configuration; by default a free port on the loopback address.
  ///   - isolation: The actor that `body` runs on; the caller's by default.
  ///   - body: Called with the running server.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`, or ``Failure`` if the server cannot listen.
  public static func withServer<Result>(
    _ configuration: Configuration = Configuration(),
    isolation: isolated (any Actor)? = #isolation,
    _ body: (LiveDemoServer) async throws -> Result
  ) async throws -> Result {
    let server = DemoServer(configuration)
    let (ready, continuation) = AsyncStream.makeStream(of: LiveDemoServer.self)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask(priority: .high) {
        defer { continuation.finish() }
        try await server.serve { continuation.yield($0) }
      }
      guard let live = await ready.first(where: { _ in true }) else {
        try await group.next()
        try Task.checkCancellation()
        throw Failure(message: "The demo server ended before it was ready.")
      }
      // The group waits for the server, however `body` ends.
      defer { group.cancelAll() }
      return try await body(live)
    }
  }

  private func serve(_ onReady: @escaping @Sendable (LiveDemoServer) -> Void) async throws {
    let host = configuration.host
    let state = state
    let connections = HeldConnections()
    defer { connections.close() }
    let application = connections.application(
      DemoResponder(executor: executor, state: state, configuration: configuration),
      at: .hostname(host, port: configuration.port), name: "gqlrun-demo",
      logger: configuration.logger
    ) { responder in
      DemoSocketChannel(
        http: HTTP1Channel(responder: responder), executor: executor, state: state,
        configuration: configuration)
    } onReady: { port in
      onReady(LiveDemoServer(host: host, port: port, state: state))
    }
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        if let interval = configuration.likeInterval {
          group.addTask { try await addLikes(every: interval) }
        }
        defer { group.cancelAll() }
        try await application.run()
      }
    } catch is CancellationError {
      return
    } catch {
      if Task.isCancelled { return }
      throw Failure(
        message:
          "The demo server cannot listen on \(host):\(configuration.port): \(Failure.reason(error))"
      )
    }
  }
}

extension DemoServer.Failure {
  /// The reason of an error that ends a server; that of the system without the names of functions.
  static func reason(_ error: any Error) -> String {
    guard let error = error as? IOError else { return "\(error)" }
    return SystemError("listen", path: "", code: error.errnoCode).reason
  }
}

extension DemoServer {
  /// Adds likes to the first ten posts in turn, until the task is cancelled.
  private func addLikes(every interval: Duration) async throws {
    for number in 0... {
      try await configuration.sleep(interval)
      // A refusal is that of a number of likes that no feed reaches.
      try? executor.like(number % 10)
    }
  }
}

/// A running demo server.
public struct LiveDemoServer: Sendable {
  /// The address that the server listens on.
  public let host: String
  /// The port that the server listens on.
  public let port: Int
  let state: ServerState

  /// The URL of the GraphQL endpoint, such as `http://127.0.0.1:8080/graphql`.
  public var url: String { "\(origin)/graphql" }
  /// The URL without a path.
  public var origin: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
  /// The requests received so far.
  public var log: RequestLog { state.log }
  /// The number of GraphQL requests received so far.
  public var requestCount: Int { log.requestCount }

  /// Sets the misbehaviour of all further requests and resets the counts of ``Misbehaviour/times``.
  ///
  /// - Parameter misbehaviour: The misbehaviour; `nil` for none.
  public func misbehave(_ misbehaviour: Misbehaviour?) {
    state.misbehaviour = misbehaviour ?? Misbehaviour()
  }
}

/// The state of a server apart from the feed.
final class ServerState: Sendable {
  /// The maximum number of keys of requests that are counted.
  static let maxKeys = 10_000

  let log = RequestLog()
  let persistedQueries: PersistedQueries
  let eventStreams = ReservedEventStreams()

  private struct Contents {
    var misbehaviour: Misbehaviour
    var counts: [String: Int] = [:]
  }

  private let contents: Locked<Contents>

  init(
    misbehaviour: Misbehaviour, persistedQueries: PersistedQueries = PersistedQueries()
  ) {
    self.persistedQueries = persistedQueries
    contents = Locked(Contents(misbehaviour: misbehaviour))
  }

  /// The misbehaviour of all requests. Setting it resets the counts of `times`.
  var misbehaviour: Misbehaviour {
    get { contents.withLock { $0.misbehaviour } }
    set { contents.withLock { $0 = Contents(misbehaviour: newValue) } }
  }

  /// The misbehaviour of a request, with the options of its URL and header fields.
  ///
  /// - Parameter isCounted: Whether the request counts for ``Misbehaviour/times`` and ``Misbehaviour/every``.
  func misbehaviour(
    parameters: QueryParameters, headers: HTTPFields, isCounted: Bool = true
  ) throws(Misbehaviour.Failure) -> Misbehaviour {
    var misbehaviour = self.misbehaviour
    try misbehaviour.add(parameters: parameters, headers: headers)
    guard misbehaviour.times != nil || misbehaviour.every != nil else { return misbehaviour }
    let number = number(ofKey: misbehaviour.key ?? "", isCounted: isCounted)
    let every = misbehaviour.every ?? 1
    let isMeant = number.isMultiple(of: every) && number / every <= misbehaviour.times ?? .max
    return isMeant ? misbehaviour : Misbehaviour()
  }

  /// The number of a request among those with its key, from 1.
  private func number(ofKey key: String, isCounted: Bool) -> Int {
    contents.withLock { contents in
      if contents.counts.count >= Self.maxKeys { contents.counts.removeAll() }
      let count = contents.counts[key, default: 0] + 1
      if isCounted { contents.counts[key] = count }
      return count
    }
  }
}

/// References to all open connections of a server.
///
/// SwiftNIO traps when the last reference to an open connection's `NIOAsyncChannel` is released.
/// That happens to a connection that is accepted while the server stops, because it is never taken
/// from the sequence of connections. With a reference here it is closed instead.
final class HeldConnections: Sendable {
  private struct State: Sendable {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var isOver = false
  }

  private let state = Locked(State())

  /// Keeps a connection and the objects created for it until it is closed.
  func hold(_ value: some Sendable, of channel: any Channel) {
    let isOver = state.withLock { state in
      if !state.isOver { state.channels[ObjectIdentifier(channel)] = channel }
      return state.isOver
    }
    channel.closeFuture.whenComplete { _ in
      withExtendedLifetime(value) {
        self.state.withLock { state in state.channels[ObjectIdentifier(channel)] = nil }
      }
    }
    if isOver { channel.close(promise: nil) }
  }

  /// An application whose connections are held.
  ///
  /// - Parameters:
  ///   - responder: Answers requests.
  ///   - address: The address to listen on.
  ///   - name: The header field `Server`.
  ///   - channel: Creates the channel type of connections.
  ///   - onReady: Called with the port when the application listens.
  func application<Responder: HTTPResponder, Base: ServerChildChannel>(
    _ responder: Responder, at address: BindAddress, name: String, logger: Logger,
    channel: @escaping @Sendable (@escaping HTTPChannelHandler.Responder) -> Base,
    onReady: @escaping @Sendable (Int) -> Void
  ) -> Application<Responder>
  where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
    Application(
      responder: responder,
      server: HTTPServerBuilder { HeldChannel(base: channel($0), connections: self) },
      configuration: ApplicationConfiguration(address: address, serverName: name),
      onServerRunning: { channel in onReady(channel.localAddress?.port ?? 0) }, logger: logger)
  }

  /// Closes all connections, including later ones.
  func close() {
    let channels = state.withLock { state in
      state.isOver = true
      return Array(state.channels.values)
    }
    for channel in channels { channel.close(promise: nil) }
  }
}

/// A channel type whose connections are referenced until they are closed.
struct HeldChannel<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base
  let connections: HeldConnections

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    base.setup(channel: channel, logger: logger).map { value in
      connections.hold(value, of: channel)
      return value
    }
  }

  func handle(value: Base.Value, logger: Logger) async {
    await base.handle(value: value, logger: logger)
  }
}
