import AsyncHTTPClient
import Foundation
import GQLRunPipeline
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// The route of a request to its server: direct, through a tunnel, or forwarded by a proxy.
struct ConnectionRoute: Sendable {
  /// The settings of a client and its connections.
  struct Setting: Sendable, Hashable {
    /// The proxy that opens a tunnel.
    var tunnel: HTTPProxy?
    /// The server name for TLS, and the host to connect to.
    var certificate: Certificate?
    /// Whether a proxy forwards the requests, which then contain their full URL.
    var isPassedOn = false
    /// The server name for TLS on a Unix domain socket.
    var socket: SocketName?

    struct SocketName: Sendable, Hashable {
      /// `nil` for an address, which TLS cannot name.
      var name: String?
    }

    struct Certificate: Sendable, Hashable {
      var name: String
      var host: String
    }
  }

  private(set) var setting = Setting()
  /// The proxy, in either mode; `nil` without one.
  let proxy: HTTPProxy?
  /// The peer of the connection.
  let peer: String
  private let origin: String
  private let authority: Authority
  /// Whether the name in the certificate of a server on a Unix domain socket cannot be verified.
  private var isUnverifiable = false
  let unixSocket: String?

  init(_ head: HTTPRequest, _ connection: HTTPConnection) {
    let scheme = head.scheme ?? "http"
    origin = head.origin
    authority = Authority(head.authority ?? "")
    unixSocket = connection.unixSocket
    proxy =
      unixSocket == nil
      ? connection.proxies.proxy(
        scheme: scheme == "wss" ? "https" : scheme == "ws" ? "http" : scheme,
        authority: head.authority ?? "")
      : nil
    if let unixSocket {
      peer = "unix:\(unixSocket)"
    } else if let proxy, proxy.kind == .http, scheme == "http" {
      setting.isPassedOn = true
      peer = "http://\(proxy)"
    } else {
      setting.tunnel = proxy
      peer = origin
    }
    guard scheme == "https" else { return }
    let host = authority.host.isEmpty ? nil : authority.host
    if unixSocket != nil {
      let name = connection.tls.serverName ?? host
      let isAddress = name?.isAddress ?? true
      isUnverifiable = isAddress && connection.tls.verifiesServer
      setting.socket = .init(name: isAddress ? nil : name)
    } else if let name = connection.tls.serverName, let host {
      setting.certificate = .init(name: name, host: host)
    }
  }

  /// The header fields of a request for the client.
  func headers(_ head: HTTPRequest, userAgent: String, decompresses: Bool) -> HTTPHeaders {
    var headers = HTTPHeaders()
    headers.reserveCapacity(head.headerFields.count + 4)
    headers.add(fields: head.headerFields)
    if !headers.contains(name: "User-Agent") {
      headers.add(name: "User-Agent", value: userAgent)
    }
    if decompresses, !headers.contains(name: "Accept-Encoding") {
      headers.add(name: "Accept-Encoding", value: "gzip, deflate")
    }
    if setting.isPassedOn || setting.certificate != nil || unixSocket != nil,
      !headers.contains(name: "Host")
    {
      headers.add(name: "Host", value: head.authority ?? "")
    }
    if setting.isPassedOn, let credentials = proxy?.authorization {
      headers.replaceOrAdd(name: "Proxy-Authorization", value: credentials)
    }
    return headers
  }

  /// A request for the client, without header fields and body.
  func request(_ method: HTTPRequest.Method, _ path: String) throws -> HTTPClient.Request {
    if let unixSocket {
      guard !isUnverifiable else {
        throw invalid(
          "the certificate of \(origin) cannot be verified over the Unix domain socket \(unixSocket): "
            + "the URL has an address; write a host name, or name the server with the option "
            + "tls.server_name of fetch")
      }
      guard let url = URL(httpURLWithSocketPath: unixSocket, uri: path) else {
        throw invalid(
          "the Unix domain socket \(unixSocket) with the path \(path) is not a URL to send to")
      }
      return try HTTPClient.Request(url: url, method: HTTPMethod(rawValue: method.rawValue))
    }
    do {
      return try HTTPClient.Request(url: url(path), method: HTTPMethod(rawValue: method.rawValue))
    } catch {
      throw invalid("\(origin) is not a URL to send to")
    }
  }

  private func invalid(_ message: String) -> ChainError {
    ChainError(.transport, code: .invalidRequest, message: message, delivery: .notSent)
  }

  private func url(_ path: String) -> String {
    // ``AbsoluteFormHandler`` removes the first slash.
    if setting.isPassedOn { return "\(peer)/\(origin)\(path)" }
    guard let certificate = setting.certificate else { return origin + path }
    let port = authority.port.map { ":\($0)" } ?? ""
    return "https://\(certificate.name)\(port)\(path)"
  }
}

extension HTTPProxy {
  /// The value of the field `Proxy-Authorization`; `nil` without a user.
  var authorization: String? {
    user.map { "Basic " + Data("\($0):\(password?.reveal() ?? "")".utf8).base64EncodedString() }
  }
}

extension ConnectionRoute.Setting {
  /// - Throws: An error of the TLS library for certificates that it cannot use.
  func apply(to configuration: inout HTTPClient.Configuration) throws {
    configuration.proxy = tunnel.map { proxy in
      switch proxy.kind {
      case .socks5: .socksServer(host: proxy.host, port: proxy.port)
      case .http:
        .server(
          host: proxy.host, port: proxy.port,
          authorization: proxy.user.map {
            .basic(username: $0, password: proxy.password?.reveal() ?? "")
          })
      }
    }
    if let certificate { configuration.dnsOverride = [certificate.name: certificate.host] }
    if let socket {
      let tls = try SocketTLS(
        configuration.tlsConfiguration, name: socket.name,
        timeout: configuration.timeout.connect ?? .seconds(10))
      configuration.http1_1ConnectionDebugInitializer = { tls.add(to: $0) }
    }
    guard isPassedOn else { return }
    configuration.http1_1ConnectionDebugInitializer = { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.add(AbsoluteFormHandler(), after: HTTPRequestEncoder.self)
      }
    }
  }
}

/// Writes the absolute URL into the request line, for proxies that forward requests.
///
/// The client only sends paths, so ``ConnectionRoute`` puts the URL into the path.
///
/// https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2
private final class AbsoluteFormHandler: ChannelOutboundHandler {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .head(var head) = unwrapOutboundIn(data) else {
      return context.write(data, promise: promise)
    }
    if head.uri.hasPrefix("/http://") { head.uri.removeFirst() }
    context.write(wrapOutboundOut(.head(head)), promise: promise)
  }
}

extension HTTPHeaders {
  /// Adds fields, and all cookies as one: `HTTPFields` has one field for each, and HTTP/1.1 allows one only.
  ///
  /// https://www.rfc-editor.org/rfc/rfc6265#section-5.4
  mutating func add(fields: some Sequence<HTTPField>) {
    var cookies: [String] = []
    for field in fields {
      if field.name.rawName.utf8.count == 6, field.name == .cookie {
        cookies.append(field.value)
      } else {
        add(name: field.name.rawName, value: field.value)
      }
    }
    if !cookies.isEmpty { add(name: "Cookie", value: cookies.joined(separator: "; ")) }
  }
}

/// Distinguishes streams that a closing server never processed from streams that it cancelled, and refuses responses
/// with a status that the libraries cannot read.
///
/// After GOAWAY, the HTTP/2 library ends unprocessed streams with the code CANCEL, which a server
/// could also have sent for a stream that it has processed. Only in the second case does an
/// RST_STREAM arrive. The first is reported as REFUSED_STREAM, which has the same meaning: nothing
/// was executed.
///
/// https://www.rfc-editor.org/rfc/rfc9113#section-6.8
final class GoAwayHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias InboundOut = HTTP2Frame.FramePayload

  private var wasReset = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .rstStream: wasReset = true
    case .headers(let head):
      let status = head.headers.first { $0.name == ":status" }?.value
      if let status, !Self.isReadable(status, endsStream: head.endStream) {
        return context.fireErrorCaught(NIOHTTP2Errors.invalidStatusValue(status))
      }
    default: break
    }
    context.fireChannelRead(data)
  }

  /// Whether the HTTP/2 library and the client agree on what a status is, and that it is final at the end of a stream.
  ///
  /// The library takes every status with a leading 1 as informational. The client compares the number, and takes 101 as
  /// final.
  private static func isReadable(_ status: String, endsStream: Bool) -> Bool {
    guard status.utf8.count == 3, let code = Int(status), code >= 100, code != 101 else {
      return false
    }
    return code >= 200 || !endsStream
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let closed = error as? NIOHTTP2Errors.StreamClosed, closed.errorCode == .cancel, !wasReset
    else { return context.fireErrorCaught(error) }
    context.fireErrorCaught(
      NIOHTTP2Errors.streamClosed(streamID: closed.streamID, errorCode: .refusedStream))
  }
}

/// Ends all streams of an HTTP/2 connection when the server violates the protocol, and closes one without streams when
/// the server goes away.
///
/// The HTTP/2 library reports such an error and sends GOAWAY, but leaves the connection and its
/// streams open, so requests would wait for the idle timeout. This handler is between the library's
/// handler and the client's multiplexer: it fails each open stream with the error, passes a GOAWAY
/// frame to the client's pool so that the connection is not reused, and closes it.
///
/// After GOAWAY the client closes a connection with its last stream. One that has none is left to the server, and the
/// client's shutdown would wait for it.
///
/// https://www.rfc-editor.org/rfc/rfc9113#section-5.4.1
final class HTTP2ErrorHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias InboundOut = HTTP2Frame

  private var openStreams: Set<HTTP2StreamID> = []
  private var hasFailed = false

  static func add(to channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      try channel.add(HTTP2ErrorHandler(), after: NIOHTTP2Handler.self)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let event as NIOHTTP2StreamCreatedEvent: openStreams.insert(event.streamID)
    case let event as StreamClosedEvent: openStreams.remove(event.streamID)
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !hasFailed else { return }
    // The library allows pushes until the server has acknowledged that there are none. The client takes a pushed stream
    // for one of its own, and stops the program when that ends.
    if case .pushPromise = unwrapInboundIn(data).payload {
      return errorCaught(context: context, error: NIOHTTP2Errors.pushInViolationOfSetting())
    }
    context.fireChannelRead(data)
    guard openStreams.isEmpty, case .goAway = unwrapInboundIn(data).payload else { return }
    context.close(mode: .all, promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A stream error does not affect other streams, and a socket error closes the connection
    // anyway.
    guard error is any NIOHTTP2Error, !(error is NIOHTTP2Errors.StreamError), !hasFailed else {
      return context.fireErrorCaught(error)
    }
    hasFailed = true
    let goAway = HTTP2Frame.FramePayload.goAway(
      lastStreamID: .maxID, errorCode: .protocolError, opaqueData: nil)
    context.fireChannelRead(wrapInboundOut(HTTP2Frame(streamID: .rootStream, payload: goAway)))
    for stream in openStreams {
      context.fireErrorCaught(NIOHTTP2Errors.streamError(streamID: stream, baseError: error))
    }
    context.fireErrorCaught(error)
    context.close(mode: .all, promise: nil)
  }
}
