import AsyncHTTPClient
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOHTTP2

/// The HTTP clients, one per combination of settings that async-http-client has per client, and the
/// cached origins (``OriginClient``) of requests.
final class Clients: Sendable {
  private struct Key: Hashable {
    var connect: Duration
    var connection: HTTPConnection
    var route: ConnectionRoute.Setting
  }

  private struct State {
    var clients: [Key: HTTPClient] = [:]
    var isShutDown = false
    var peers: [String: Peer] = [:]
    /// The most recently used origins, the newest first.
    var origins: [OriginClient] = []
  }

  private let state = Locked(State())
  private let meter: ConnectionMeter?
  private let traces: Bool
  private let observer: (@Sendable (NetworkEvent) -> Void)?
  private let names = FieldNames()
  /// The most cached origins.
  private static let maxOrigins = 16
  /// The longest time for a client to close its connections.
  private static let shutdownTime = TimeAmount.seconds(2)

  /// - Parameters:
  ///   - meter: Counts bytes and connections.
  ///   - traces: Whether each request is a span of the process's bootstrapped tracer.
  ///   - observer: Called with connections, requests and responses.
  init(
    meter: ConnectionMeter?, traces: Bool, observer: (@Sendable (NetworkEvent) -> Void)? = nil
  ) {
    self.meter = meter
    self.observer = observer
    self.traces = traces
  }

  /// The cached client, proxy and URL parts for a request; `nil` after the shutdown.
  func origin(for head: HTTPRequest, _ limits: HTTPLimits) throws -> OriginClient? {
    try state.withLock { state in
      guard !state.isShutDown else { return nil }
      if let origin = state.origins.first, origin.matches(head, limits) { return origin }
      if let location = state.origins.firstIndex(where: { $0.matches(head, limits) }) {
        let origin = state.origins.remove(at: location)
        state.origins.insert(origin, at: 0)
        return origin
      }
      let origin = try makeOrigin(head, limits: limits, state: &state)
      if state.origins.count == Self.maxOrigins { state.origins.removeLast() }
      state.origins.insert(origin, at: 0)
      return origin
    }
  }

  private func makeOrigin(
    _ head: HTTPRequest, limits: HTTPLimits, state: inout State
  ) throws -> OriginClient {
    let route = ConnectionRoute(head, limits.connection)
    let key = Key(
      connect: limits.connect, connection: limits.connection, route: route.setting)
    let client = try state.clients[key] ?? make(limits, route)
    state.clients[key] = client
    let peer = state.peers[route.peer] ?? Peer()
    state.peers[route.peer] = peer
    return OriginClient(
      head, limits: limits, route: route, client: client, peer: peer, names: names,
      observer: observer)
  }

  private func make(
    _ limits: HTTPLimits, _ route: ConnectionRoute
  ) throws -> HTTPClient {
    let connection = limits.connection
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    configuration.timeout.connect = .nanoseconds(limits.connect.nanoseconds)
    configuration.tlsConfiguration = try connection.tls.configuration()
    configuration.httpVersion = connection.usesHTTP2 ? .automatic : .http1Only
    try route.setting.apply(to: &configuration)
    // A refused connection fails at once; `max-retry` decides about retries.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
      connection.maxPerHost
    // The HTTP client calls its tracer for every request, even one that discards everything.
    if let tracer = configuration.tracing.tracer, !traces || "\(type(of: tracer))" == "NoOpTracer" {
      configuration.tracing.tracer = nil
    }
    configuration.http2StreamChannelDebugInitializer = { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(GoAwayHandler(), position: .first)
        try channel.add(
          ResponsePartHandler(isStream: true), after: HTTP2FramePayloadToHTTP1ClientCodec.self)
      }
    }
    let ownOfRoute = configuration.http1_1ConnectionDebugInitializer
    configuration.http1_1ConnectionDebugInitializer = { [meter, observer] channel in
      // TLS on a socket is complete after the first step.
      [ownOfRoute, meter.map { $0.watch }, WholeRequestHandler.add, ResponsePartHandler.add(to:)]
        .compactMap { $0 }
        .reduce(channel.eventLoop.makeSucceededVoidFuture()) { done, add in
          done.flatMap { add(channel) }
        }.map { observer?(.connected(NetworkConnection(channel, http: "HTTP/1.1"))) }
    }
    configuration.http2ConnectionDebugInitializer = { [meter, observer] channel in
      observer?(.connected(NetworkConnection(channel, http: "HTTP/2")))
      let failsAtOnce = HTTP2ErrorHandler.add(to: channel)
      guard let meter else { return failsAtOnce }
      return failsAtOnce.flatMap { meter.watch(channel) }
    }
    configuration.connectionPool.idleTimeout = .nanoseconds(connection.keepAlive.nanoseconds)
    return HTTPClient(
      eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
  }

  func shutdown() async {
    let open = state.withLock { state in
      state.isShutDown = true
      defer {
        state.clients = [:]
        state.origins = []
      }
      return Array(state.clients.values)
    }
    for client in open { await Self.shutDown(client) }
  }

  /// Waits until a client has closed its connections, for a limited time: it does not close one on which the server
  /// negotiated HTTP/2 and then sent no valid settings.
  private static func shutDown(_ client: HTTPClient) async {
    let loop = HTTPClient.defaultEventLoopGroup.any()
    let over = loop.makePromise(of: Void.self)
    let limit = loop.scheduleTask(in: shutdownTime) { over.succeed(()) }
    client.shutdown { _ in over.succeed(()) }
    try? await over.futureResult.get()
    limit.cancel()
  }
}
