import AsyncHTTPClient
import Foundation
import GQLRunJSON
import GQLRunLive
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOExtras
import NIOHTTP1
import NIOPosix
import NIOSOCKS
import NIOSSL
import NIOWebSocket

/// How a WebSocket connection is opened: through proxies and TLS, up to the end of the handshake.
///
/// https://www.rfc-editor.org/rfc/rfc6455#section-4.1
struct SocketOpening: Sendable {
  /// The answer to the handshake.
  enum Answer: Sendable {
    /// The connection is open; with the subprotocol that the server chose.
    case open(subprotocol: String?)
    /// The server answered without opening it; with the beginning of the body.
    case refused(HTTPResponseHead, body: ByteBuffer)
  }

  let request: HTTPRequestMessage
  let limits: HTTPLimits
  let failures: TransportFailures
  let userAgent: String
  let meter: ConnectionMeter?
  let observer: (@Sendable (NetworkEvent) -> Void)?

  private var isSecure: Bool { request.head.scheme == "wss" }

  /// Connects and sends the handshake.
  ///
  /// - Parameters:
  ///   - loop: The event loop of the connection.
  ///   - handler: The last handler of the channel.
  func open(
    on loop: any EventLoop, handler: NIOLoopBound<SocketHandler>
  ) -> EventLoopFuture<Answer> {
    connect(on: loop) { handler.value.connected($0) }.flatMapThrowing { channel in
      _ = self.meter?.watch(channel)
      return try self.handshake(channel, handler)
    }.flatMap { $0 }.flatMap { $0 }
  }

  /// Connects to the server, over the socket or through the proxy of the settings, and adds TLS.
  ///
  /// - Parameters:
  ///   - loop: The event loop of the connection.
  ///   - onChannel: Called on the event loop when a connection to the server or to a proxy exists.
  func connect(
    on loop: any EventLoop, onChannel: @escaping @Sendable (any Channel) -> Void
  ) -> EventLoopFuture<any Channel> {
    guard let url = URL(string: "http://\(request.head.authority ?? "")"), let name = url.host(),
      name.utf8.count <= 255
    else {
      return loop.makeFailedFuture(
        failures.notSent(.invalidRequest, "\(failures.origin) is not a URL to connect to"))
    }
    let host = name.filter { $0 != "[" && $0 != "]" }
    let port = url.port ?? (isSecure ? 443 : 80)
    return connect(host, port, on: loop).flatMap { channel in
      onChannel(channel)
      return self.tunnel(channel, host: host, port: port).flatMapThrowing {
        try self.secure(channel, host)
        return channel
      }
    }
  }

  private func connect(
    _ host: String, _ port: Int, on loop: any EventLoop
  ) -> EventLoopFuture<any Channel> {
    let bootstrap = ClientBootstrap(group: loop)
      .connectTimeout(.nanoseconds(limits.connect.nanoseconds))
      .channelOption(.socketOption(.so_keepalive), value: 1)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
    if let path = limits.connection.unixSocket {
      return bootstrap.connect(unixDomainSocketPath: path)
    }
    if let proxy = failures.proxy { return bootstrap.connect(host: proxy.host, port: proxy.port) }
    return bootstrap.connect(host: host, port: port)
  }
}

// MARK: Proxies and TLS

extension SocketOpening {
  private func tunnel(
    _ channel: any Channel, host: String, port: Int
  ) -> EventLoopFuture<Void> {
    guard let proxy = failures.proxy else { return channel.eventLoop.makeSucceededVoidFuture() }
    let opened = channel.eventLoop.makePromise(of: Void.self)
    do {
      switch proxy.kind {
      case .http: try addTunnel(channel, proxy: proxy, host: host, port: port, opened: opened)
      case .socks5:
        let pipeline = channel.pipeline.syncOperations
        let socks = SOCKSClientHandler(targetAddress: .domain(host, port: port))
        try pipeline.addHandlers([socks, SOCKSOpened(opened)])
        let limit = TimeAmount.nanoseconds(limits.connect.nanoseconds)
        let timeout = channel.eventLoop.scheduleTask(in: limit) {
          opened.fail(HTTPClientError.socksHandshakeTimeout)
        }
        opened.futureResult.whenComplete { _ in timeout.cancel() }
      }
    } catch {
      opened.fail(error)
    }
    return opened.futureResult.flatMapErrorThrowing { throw Self.failure($0) }
  }

  private func addTunnel(
    _ channel: any Channel, proxy: HTTPProxy, host: String, port: Int,
    opened: EventLoopPromise<Void>
  ) throws {
    var fields: HTTPHeaders = ["Host": "\(host.contains(":") ? "[\(host)]" : host):\(port)"]
    if let credentials = proxy.authorization {
      fields.add(name: "Proxy-Authorization", value: credentials)
    }
    let pipeline = channel.pipeline.syncOperations
    let encoder = HTTPRequestEncoder()
    let decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes))
    let answered = channel.eventLoop.makePromise(of: Void.self)
    try pipeline.addHandlers([
      encoder, decoder,
      NIOHTTP1ProxyConnectHandler(
        targetHost: host.contains(":") ? "[\(host)]" : host, targetPort: port, headers: fields,
        deadline: .now() + .nanoseconds(limits.connect.nanoseconds), promise: answered),
    ])
    answered.futureResult.assumeIsolated().flatMap {
      pipeline.removeHandler(decoder).assumeIsolated().flatMap { pipeline.removeHandler(encoder) }
        .nonisolated()
    }.nonisolated().cascade(to: opened)
  }

  /// The error in the terms of the HTTP client, which ``TransportFailures`` knows.
  private static func failure(_ error: any Error) -> any Error {
    guard let refusal = error as? NIOHTTP1ProxyConnectHandler.Error else { return error }
    if refusal == .proxyAuthenticationRequired() {
      return HTTPClientError.proxyAuthenticationRequired
    }
    return refusal == .httpProxyHandshakeTimeout()
      ? HTTPClientError.httpProxyHandshakeTimeout : HTTPClientError.invalidProxyResponse
  }

  private func secure(_ channel: any Channel, _ host: String) throws {
    guard isSecure else { return }
    let settings = limits.connection.tls
    var configuration = try settings.configuration()
    configuration.applicationProtocols = ["http/1.1"]
    try channel.pipeline.syncOperations.addHandler(
      NIOSSLClientHandler(
        context: NIOSSLContext(configuration: configuration),
        serverHostname: settings.name(of: host)))
  }
}

// MARK: The handshake

extension SocketOpening {
  /// Sends the handshake. After the upgrade, a handler may still read the answer.
  private func handshake(
    _ channel: any Channel, _ handler: NIOLoopBound<SocketHandler>
  ) throws -> EventLoopFuture<EventLoopFuture<Answer>> {
    let upgrader = NIOTypedWebSocketClientUpgrader(
      maxFrameSize: min(limits.messageBytes.bytes, Int(UInt32.max)),
      enableAutomaticErrorHandling: false
    ) { channel, head in
      channel.eventLoop.makeCompletedFuture {
        observe(head)
        try channel.pipeline.syncOperations.addHandler(handler.value)
        return channel.eventLoop.makeSucceededFuture(
          Answer.open(subprotocol: head.headers["Sec-WebSocket-Protocol"].first))
      }
    }
    let head = requestHead()
    observer?(.connected(NetworkConnection(channel, http: "HTTP/1.1")))
    observer?(
      .sent(
        HTTPTypes.HTTPRequest(
          method: .get, scheme: nil, authority: nil, path: head.uri,
          headerFields: HTTPFields(head.headers))))
    var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
      upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
        upgradeRequestHead: head, upgraders: [upgrader]
      ) { channel in
        channel.eventLoop.makeCompletedFuture {
          let answer = channel.eventLoop.makePromise(of: Answer.self)
          let reader = RefusalReader(answer) { head in
            handler.value.refusal = head
            observe(head)
          }
          try channel.pipeline.syncOperations.addHandler(reader)
          return answer.futureResult
        }
      })
    // The server may send its first message together with the end of the handshake.
    configuration.leftOverBytesStrategy = .forwardBytes
    return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
      configuration: configuration)
  }

  /// The fields that belong to the handshake itself, or to a body.
  private static let ownFields: Set<String> = [
    "connection", "upgrade", "sec-websocket-key", "sec-websocket-version",
    "sec-websocket-extensions", "content-type", "content-length", "transfer-encoding", "accept",
    "accept-encoding",
  ]

  private func requestHead() -> HTTPRequestHead {
    var headers: HTTPHeaders = ["Host": request.head.authority ?? ""]
    headers.add(
      fields: request.head.headerFields.filter {
        !Self.ownFields.contains($0.name.canonicalName)
      })
    if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: userAgent) }
    headers.replaceOrAdd(
      name: "Sec-WebSocket-Protocol",
      value: (request.webSocket?.subprotocols ?? []).joined(separator: ", "))
    return HTTPRequestHead(
      version: .http1_1, method: .GET, uri: request.head.path ?? "/", headers: headers)
  }

  private func observe(_ head: HTTPResponseHead) {
    observer?(.received(HTTPTypes.HTTPResponse(head), version: "HTTP/1.1"))
  }
}

/// Waits for the end of the SOCKS handshake.
private final class SOCKSOpened: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let opened: EventLoopPromise<Void>

  init(_ opened: EventLoopPromise<Void>) { self.opened = opened }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard event is SOCKSProxyEstablishedEvent else {
      return context.fireUserInboundEventTriggered(event)
    }
    opened.succeed(())
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    opened.fail(error)
    context.fireErrorCaught(error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    opened.fail(HTTPClientError.invalidProxyResponse)
    context.fireChannelInactive()
  }
}

/// Reads the head and the beginning of the body of an answer that opens no connection.
private final class RefusalReader: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  private let answer: EventLoopPromise<SocketOpening.Answer>
  private let observe: (HTTPResponseHead) -> Void
  private var head: HTTPResponseHead?
  private var body = ByteBuffer()

  init(
    _ answer: EventLoopPromise<SocketOpening.Answer>,
    _ observe: @escaping (HTTPResponseHead) -> Void
  ) {
    self.answer = answer
    self.observe = observe
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      observe(head)
    case .body(var part):
      body.writeBuffer(&part)
      if body.readableBytes >= 16 << 10 { finish(context) }
    case .end: finish(context)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if head == nil { answer.fail(error) } else { finish(context) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    finish(context)
    context.fireChannelInactive()
  }

  private func finish(_ context: ChannelHandlerContext) {
    if let head { answer.succeed(.refused(head, body: body)) }
    answer.fail(HTTPClientError.remoteConnectionClosed)
    context.close(promise: nil)
  }
}

extension HTTPTypes.HTTPResponse {
  /// The head with the fields that are valid.
  init(_ head: HTTPResponseHead) {
    let code = Int(head.status.code)
    self.init(
      status: .init(
        code: (100...999).contains(code) ? code : 500, reasonPhrase: head.status.reasonPhrase),
      headerFields: HTTPFields(head.headers))
  }
}

extension HTTPFields {
  /// The fields that are valid.
  init(_ headers: HTTPHeaders) {
    self.init()
    for (name, value) in headers {
      if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
    }
  }
}

/// Maps the ends of WebSocket connections.
extension TransportFailures {
  /// The end of a connection, for people.
  func reason(_ end: SocketHandler.End) -> String {
    switch end {
    case .closed(let close) where close.isOwn && close.code == SocketClose.OwnCode.normal: "closed"
    case .closed(let close) where close.isOwn: "closed with \(close.code): \(own(close).message)"
    case .closed(let close): "the server closed it with \(close)"
    case .lost(let error): "lost: " + (error.map(Self.reason(anyOf:)) ?? "it was closed")
    case .rejected(let payload): "the server rejected it\(message(in: payload))"
    case .notOpened(let error): "not opened: \(error)"
    case .shutDown: "closed"
    }
  }

  /// The error of an operation whose connection has ended.
  func error(_ end: SocketHandler.End, isBegun: Bool, isSubscription: Bool) -> any Error {
    if case .notOpened(let error) = end { return error }
    var failure = failure(of: end)
    failure.delivery = isBegun ? .unknown : .notSent
    guard isBegun, !isSubscription, failure.isTransient else { return failure }
    // A lost HTTP request may be repeated by its client; the servers of this protocol do not expect it.
    failure.code = .webSocketClosed
    failure.message += "; it is not sent again, because the server may have executed it"
    return failure
  }

  private func failure(of end: SocketHandler.End) -> ChainError {
    switch end {
    case .notOpened, .shutDown: return failure(.shutDown)
    case .lost(let error):
      // TLS errors, too: the handshake has succeeded before, and a server that crashes does not end TLS.
      return unanswered(
        .connectionClosed,
        "the WebSocket connection to \(origin) was lost: "
          + (error.map(Self.reason(anyOf:)) ?? "it was closed"))
    case .rejected(let payload):
      return notSent(
        .connectionRejected, "\(origin) rejected the connection\(message(in: payload))",
        remedy: "are the credentials in the header fields or in `connection_params` right?")
    case .closed(let close) where close.isOwn && close.code == SocketClose.OwnCode.normal:
      return failure(.shutDown)
    case .closed(let close) where !close.isOwn: return ChainError(close, by: origin)
    case .closed(let close): return own(close)
    }
  }

  /// The failure of a connection that this side has closed.
  private func own(_ close: SocketClose) -> ChainError {
    var failure =
      switch close.code {
      case SocketClose.OwnCode.noAcknowledgement:
        unanswered(
          .timedOut,
          "\(origin) did not acknowledge the WebSocket connection (connection_ack) within 10s")
      case SocketClose.OwnCode.noPong:
        unanswered(
          .timedOut, "\(origin) did not answer a ping on the WebSocket connection within 10s")
      case SocketClose.OwnCode.tooLarge:
        unanswered(
          .limitExceeded, "\(origin) sent too much: \(close.reason)",
          remedy: "raise the option max_message of fetch if it may be")
      case SocketClose.OwnCode.subprotocol:
        unanswered(
          .malformedResponse,
          "\(origin) chose a WebSocket subprotocol that was not offered; "
            + "\(offered) was offered: is it a GraphQL endpoint?")
      default:
        unanswered(
          .malformedResponse, "\(origin) violated the WebSocket protocol: \(close.reason)")
      }
    failure.closeCode = close.code
    return failure
  }

  private var offered: String {
    (request.webSocket?.subprotocols ?? []).joined(separator: " or ")
  }

  /// The member `message` of the payload of `connection_error`.
  private func message(in payload: String?) -> String {
    guard
      let text = payload.flatMap({ (try? JSONValue(parsing: Array($0.utf8)))?["message"] })?
        .stringValue
    else { return "" }
    let shown = SecretHiding(request.secrets).text(text).prefix(200)
    // A question follows.
    return ": \(shown.hasSuffix(".") ? shown.dropLast() : shown)"
  }
}

// MARK: The handshake

extension TransportFailures {
  /// The error for an upgrade that failed.
  func notUpgraded(_ error: any Error) -> any Error {
    guard let error = error as? NIOHTTPClientUpgradeError else {
      return beforeSending(error, hasTunnel: true)
    }
    let reason =
      switch error {
      case .upgraderDeniedUpgrade: "without the right field Sec-WebSocket-Accept"
      case .responseProtocolNotFound: "without the field Upgrade: websocket"
      default: "with an answer that violates HTTP (\(ErrorWords.text(error)))"
      }
    return notSent(
      .webSocketRefused, "\(origin) accepted the WebSocket handshake \(reason)")
  }

  /// The error for an answer that opens no connection.
  func refusal(by head: HTTPResponseHead, body: ByteBuffer) -> ChainError {
    refusal(
      by: HTTPTypes.HTTPResponse(head), body: String(buffer: body), .webSocketRefused,
      of: "the WebSocket handshake", expected: "101 Switching Protocols")
  }

  /// The error for an answer that opens no connection.
  func refusal(
    by response: HTTPTypes.HTTPResponse, body: String, _ code: ChainError.Code, of step: String,
    expected: String
  ) -> ChainError {
    let shown = SecretHiding(request.secrets).text(body)
    let prefix = Array(shown.utf8.prefix(ResponseCheck.keptBytes))
    var error = notSent(
      code,
      "\(origin) answered \(step) with \(response.status.shown), where \(expected) was "
        + "expected" + (ChainError.quoted(of: prefix).map { ": \($0)" } ?? ""))
    error.http = .init(
      status: response.status.code, headers: response.headerFields, bodyPrefix: prefix)
    return error
  }
}
