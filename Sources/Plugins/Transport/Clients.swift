import AsyncHTTPClient
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTPCompression
import Pipeline

/// One client per combination of what async-http-client keeps per client.
final class Clients: Sendable {
  private struct Key: Hashable {
    var connect: Duration
    var bodyBytes: Int
    var ratio: Int?
    var connection: HTTPConnection
    var passage: Passage.Setting
  }

  private struct State {
    var clients: [Key: HTTPClient] = [:]
    var isShutDown = false
    /// Where a connection was left open after an answer.
    var keptPeers: Set<String> = []
  }

  private let state = NIOLockedValueBox(State())
  private let meter: ConnectionMeter?

  /// - Parameter meter: Watches the connections.
  init(meter: ConnectionMeter?) { self.meter = meter }

  /// `nil` after the shutdown.
  func client(
    for limits: HTTPLimits, passage: Passage
  ) throws -> HTTPClient? {
    let key = Key(
      connect: limits.connect, bodyBytes: limits.bodyBytes.bytes, ratio: limits.decompressionRatio,
      connection: limits.connection, passage: passage.setting)
    return try state.withLockedValue { state in
      guard !state.isShutDown else { return nil }
      if let client = state.clients[key] { return client }
      let client = try make(limits, passage)
      state.clients[key] = client
      return client
    }
  }

  private func make(
    _ limits: HTTPLimits, _ passage: Passage
  ) throws(TLSSettings.UnusableFile) -> HTTPClient {
    let connection = limits.connection
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    configuration.timeout.connect = .nanoseconds(limits.connect.nanoseconds)
    configuration.tlsConfiguration = try connection.tls.configuration()
    configuration.httpVersion = connection.usesHTTP2 ? .automatic : .http1Only
    passage.setting.apply(to: &configuration)
    if connection.decompresses {
      // The size is measured by the exchange, too; here it stops a bomb before it is unpacked.
      configuration.decompression = .enabled(
        limit: limits.decompressionRatio.map { .ratio($0) } ?? .size(limits.bodyBytes.bytes))
    }
    // A refused connection is told at once; waiting is the business of max-retry.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
      connection.maximumPerHost
    configuration.http2StreamChannelDebugInitializer = { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(GoAwayHandler(), position: .first)
      }
    }
    if let meter {
      let passesOn = configuration.http1_1ConnectionDebugInitializer
      configuration.http1_1ConnectionDebugInitializer = { channel in
        let watched = meter.watch(channel)
        guard let passesOn else { return watched }
        return watched.flatMap { passesOn(channel) }
      }
      configuration.http2ConnectionDebugInitializer = { meter.watch($0) }
    }
    configuration.connectionPool.idleTimeout = .nanoseconds(connection.keepAlive.nanoseconds)
    return HTTPClient(
      eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
  }

  func keepsConnection(to peer: String) -> Bool {
    state.withLockedValue { $0.keptPeers.contains(peer) }
  }

  func note(connectionIsKept: Bool, to peer: String) {
    state.withLockedValue { state in
      if connectionIsKept {
        state.keptPeers.insert(peer)
      } else {
        state.keptPeers.remove(peer)
      }
    }
  }

  func shutdown() async {
    let open = state.withLockedValue { state in
      state.isShutDown = true
      defer { state.clients = [:] }
      return Array(state.clients.values)
    }
    for client in open { try? await client.shutdown() }
  }
}
