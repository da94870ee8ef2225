import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore

/// A GraphQL server with data of its own, for first runs, examples and tests.
///
/// It knows the countries of the world and a generated feed of any size; answers are streamed, so a
/// gigabyte costs no memory. On request it misbehaves: see ``Misbehaviour``.
///
/// ```swift
/// try await DemoServer.withServer { server in
///   // POST to server.url
/// }
/// ```
///
/// It listens on the loopback address, and installs no signal handlers: cancel the task that runs it.
public struct DemoServer: Sendable {
  /// How a server is set up.
  public struct Configuration: Sendable {
    /// The address to listen on; the loopback address by default.
    public var host = "127.0.0.1"
    /// The port to listen on; 0, the default, takes a free one.
    public var port = 0
    /// How many posts the feed has; a million by default, a hundred million at most.
    public var feedSize = 1_000_000
    /// How the server misbehaves when a request does not say; not at all by default.
    public var misbehaviour = Misbehaviour()
    /// The largest request body in bytes; one MiB by default.
    public var maxBodyBytes = 1 << 20
    /// Where the server logs to; nowhere by default.
    public var logger = Logger(label: "gqlrun.demo") { _ in SwiftLogNoOpLogHandler() }
    /// How the server waits when a delay is asked for. Tests put their own clock here.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    public init(port: Int = 0) {
      self.port = port
    }
  }

  /// Why a server does not run.
  public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    public var message: String
    public var description: String { message }
  }

  public let configuration: Configuration
  private let state: ServerState
  private let executor: DemoExecutor

  public init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
    state = ServerState(misbehaviour: configuration.misbehaviour)
    executor = DemoExecutor(feedSize: configuration.feedSize)
  }

  /// What the server was asked so far.
  public var log: RequestLog { state.log }

  /// Serves until the task is cancelled, then closes all connections and returns.
  ///
  /// - Parameter onReady: Called once, with the URL of the GraphQL endpoint, when requests can come.
  /// - Throws: ``Failure`` when it cannot listen, or when the server ends for another reason.
  public func run(onReady: @escaping @Sendable (String) -> Void) async throws {
    try await serve { onReady($0.url) }
  }

  /// Runs a server for as long as a piece of work takes.
  ///
  /// - Throws: What the work throws, and ``Failure`` when the server cannot listen.
  public static func withServer<Result>(
    _ configuration: Configuration = Configuration(),
    isolation: isolated (any Actor)? = #isolation,
    _ body: (LiveDemoServer) async throws -> Result
  ) async throws -> Result {
    let server = DemoServer(configuration)
    let (ready, continuation) = AsyncStream.makeStream(of: LiveDemoServer.self)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        defer { continuation.finish() }
        try await server.serve { continuation.yield($0) }
      }
      guard let live = await ready.first(where: { _ in true }) else {
        try await group.next()
        try Task.checkCancellation()
        throw Failure(message: "The demo server ended before it was ready.")
      }
      // The group waits for the server, whichever way the work ends.
      defer { group.cancelAll() }
      return try await body(live)
    }
  }

  private func serve(_ onReady: @escaping @Sendable (LiveDemoServer) -> Void) async throws {
    let host = configuration.host
    let state = state
    let connections = HeldConnections()
    defer { connections.close() }
    let application = Application(
      responder: DemoResponder(executor: executor, state: state, configuration: configuration),
      server: HTTPServerBuilder { responder in
        HeldChannel(base: HTTP1Channel(responder: responder), connections: connections)
      },
      configuration: ApplicationConfiguration(
        address: .hostname(host, port: configuration.port), serverName: "gqlrun-demo"),
      onServerRunning: { channel in
        let port = channel.localAddress?.port ?? 0
        onReady(LiveDemoServer(host: host, port: port, state: state))
      },
      logger: configuration.logger)
    do {
      try await application.run()
    } catch is CancellationError {
      return
    } catch {
      if Task.isCancelled { return }
      throw Failure(
        message: "The demo server cannot listen on \(host):\(configuration.port): \(error)")
    }
  }
}

/// A demo server that listens.
public struct LiveDemoServer: Sendable {
  public let host: String
  public let port: Int
  private let state: ServerState

  init(host: String, port: Int, state: ServerState) {
    self.host = host
    self.port = port
    self.state = state
  }

  /// The URL of the GraphQL endpoint, such as `http://127.0.0.1:8080/graphql`.
  public var url: String { "\(origin)/graphql" }
  /// The URL without a path.
  public var origin: String { "http://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
  /// What the server was asked so far.
  public var log: RequestLog { state.log }
  /// How many requests to GraphQL there were.
  public var requestCount: Int { log.requestCount }

  /// Misbehaves for all requests from now on, or not at all again; counts of `times` start anew.
  public func misbehave(_ misbehaviour: Misbehaviour?) {
    state.misbehaviour = misbehaviour ?? Misbehaviour()
  }
}
