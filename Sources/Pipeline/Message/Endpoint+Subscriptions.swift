import GQLRunLanguage

extension Endpoint {
  /// How subscriptions are sent.
  public struct Subscriptions: Sendable, Hashable {
    /// A protocol for subscriptions.
    public enum Transport: String, Sendable, Hashable, CaseIterable {
      /// WebSocket with either subprotocol; if the server opens none, server-sent events or multipart HTTP. The
      /// answer is remembered.
      case auto
      /// WebSocket with the current subprotocol.
      ///
      /// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
      case graphQLTransportWS = "graphql-transport-ws"
      /// WebSocket with the legacy subprotocol.
      ///
      /// https://github.com/apollographql/subscriptions-transport-ws/blob/master/PROTOCOL.md
      case graphQLWS = "graphql-ws"
      /// Server-sent events.
      case sse
      /// Multipart HTTP.
      case multipart

      /// The subprotocols that are offered, the preferred one first; empty for transports over HTTP.
      var subprotocols: [String] {
        switch self {
        case .auto: [Self.graphQLTransportWS.rawValue, Self.graphQLWS.rawValue]
        case .graphQLTransportWS, .graphQLWS: [rawValue]
        case .sse, .multipart: []
        }
      }
    }

    /// The URL; `nil` uses that of the endpoint, with the scheme of the transport.
    public let url: String?
    /// The protocol. `auto` by default.
    public var transport: Transport
    /// Whether all subscriptions share one event stream, with the transport `sse`: "single connection mode" of
    /// graphql-sse. Otherwise each one has its own response.
    ///
    /// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
    public var usesSingleConnection: Bool
    /// The payload of `connection_init` for connections over WebSocket; `nil` sends none.
    public var connectionParameters: ConnectionParameters?
    let target: Target?

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - url: The absolute URL with the scheme `http`, `https`, `ws` or `wss`; `nil` uses that of the endpoint.
    ///   - transport: The protocol.
    ///   - usesSingleConnection: Whether all subscriptions share one event stream, with the transport `sse`.
    ///   - connectionParameters: The payload of `connection_init`.
    /// - Throws: ``Endpoint/InvalidURL``.
    public init(
      url: String? = nil, transport: Transport = .auto, usesSingleConnection: Bool = false,
      connectionParameters: ConnectionParameters? = nil
    ) throws(InvalidURL) {
      self.url = url
      self.transport = transport
      self.usesSingleConnection = usesSingleConnection
      self.connectionParameters = connectionParameters
      guard let url else {
        target = nil
        return
      }
      let parsed = try Endpoint(url: url)
      target = Target(scheme: parsed.scheme, authority: parsed.authority, path: parsed.path)
    }
  }

  /// The parts of a URL.
  struct Target: Sendable, Hashable {
    var scheme: String
    var authority: String
    var path: String

    /// The same URL for WebSocket or for HTTP.
    func with(isSocket: Bool) -> Target {
      var target = self
      let isSecure = scheme == "https" || scheme == "wss"
      target.scheme = (isSocket ? "ws" : "http") + (isSecure ? "s" : "")
      return target
    }
  }

  /// The URL for operations of a type.
  func target(for type: OperationType, isSocket: Bool) -> Target {
    let own = Target(scheme: scheme, authority: authority, path: path)
    let target = type == .subscription ? subscriptions?.target ?? own : own
    return target.with(isSocket: isSocket)
  }

  /// The subprotocols that are offered for operations of a type; empty if they are sent over HTTP.
  func subprotocols(for type: OperationType) -> [String] {
    guard let subscriptions, type == .subscription || isWebSocket else {
      return isWebSocket ? Subscriptions.Transport.auto.subprotocols : []
    }
    let offered = subscriptions.transport.subprotocols
    return offered.isEmpty && type != .subscription
      ? Subscriptions.Transport.auto.subprotocols : offered
  }
}
