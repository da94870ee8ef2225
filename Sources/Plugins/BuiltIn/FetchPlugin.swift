import GQLRunLanguage
public import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging

/// Sends requests over the network.
public struct FetchPlugin: Plugin {
  /// What `fetch` does, in one sentence.
  public static let summary =
    "Sends the request over the network and receives the response as it arrives"
  /// When to use `fetch`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Every chain that reaches a server has one.",
    position:
      "It is the innermost plugin: everything that changes requests belongs above it, and "
      + "`response-code` and `parse` below it. The other plugins see the first request and the last response of a "
      + "request that is redirected; only `cookies`, the log at the level debug, and `--curl` and `--har` see each "
      + "redirect.",
    example: "fetch: { timeout: 30s, max_body: 8GiB }",
    narration:
      "The request is sent over a connection that later requests reuse. If the body has not "
      + "arrived completely after 30 seconds, or is larger than 8 GiB after decompression, the "
      + "exchange fails.",
    subscriptions:
      "Has no limit of the total time and size. Over HTTP, `event_timeout` limits the time without a "
      + "byte from the server; heartbeats count.",
    uploads:
      "Sends files by POST in a form (`multipart/form-data`), whatever the `method` of the endpoint, "
      + "in pieces and with a known length. An answer before the end is read.",
    moreExamples: [
      "fetch",
      "fetch: { tls: { ca_file: company-ca.pem }, proxy: \"http://proxy.example.com:3128\" }",
      "fetch: { on_error: null }",
    ])

  @Option(
    .milliseconds(1) ... .seconds(86_400),
    "Longest time from sending the request to the last byte of the body")
  package var timeout = Duration.seconds(300)
  @Option(.milliseconds(1) ... .seconds(3_600), "Time limit for connecting")
  var connectTimeout = Duration.seconds(10)
  @Option(.milliseconds(1) ... .seconds(3_600), "Longest time without data from the server")
  package var idleTimeout = Duration.seconds(30)
  @Option(
    .milliseconds(1) ... .seconds(86_400),
    "Longest time without a byte from the server during a subscription over HTTP; heartbeats count. A "
      + "subscription has no limit of its whole time and size")
  var eventTimeout = Duration.seconds(300)
  @Option(
    ByteSize(bytes: 1)...ByteSize(bytes: 1 << 50), "Size limit of a body, after decompression")
  var maxBody = ByteSize.gibibytes(1)
  @Option(
    1...1_000_000, "Largest factor by which decompression may enlarge a body; unlimited by default")
  var maxRatio: Int?
  @Option(
    ByteSize(bytes: 256)...ByteSize(bytes: 2 << 20),
    "Size limit of the header fields of a response together")
  var maxHeaders = ByteSize.kibibytes(64)
  @Option(
    ByteSize(bytes: 1 << 10)...ByteSize(bytes: 1 << 30),
    "Size limit of one message over WebSocket")
  var maxMessage = ByteSize.mebibytes(16)
  @Option(
    ByteSize(bytes: 0)...ByteSize(bytes: 1 << 40),
    "Lowest throughput, in bytes per second, of a body that takes longer than idle_timeout; 0B "
      + "for no limit")
  var minThroughput = ByteSize(bytes: 0)
  @Option(
    "Redirects that are followed; of a POST only 307 and 308, none from https to http, and secret "
      + "fields are not sent to another origin")
  var redirects = RedirectPolicy.Scope.none
  @Option(1...20, "Maximum number of redirects of one request") var maxRedirects = 3
  @Option("Requirements for TLS connections") package var tls = TLS()
  @Option(
    "Proxy, as http://host:port or socks5h://host:port; `environment` uses https_proxy, "
      + "http_proxy, all_proxy and no_proxy as curl does, `none` uses no proxy. TLS connections "
      + "are tunnelled (CONNECT), plain requests are sent to an HTTP proxy; the connection to the "
      + "proxy itself is not encrypted")
  package var proxy = "environment"
  @Option(
    "Hosts that are reached without a proxy, with their subdomains, and addresses or ranges such "
      + "as 10.0.0.0/8; * for all")
  var noProxy: [String] = []
  @Option(
    "Unix domain socket to connect to instead of the URL's host; https uses TLS and HTTP/1.1 on it; no "
      + "proxy is used with it")
  package var unixSocket: OptionPath?
  @Option("Whether HTTP/2 is used where the server offers it") var http2 = true
  @Option(1...10_000, "Maximum number of connections to one HTTP/1.1 server")
  package var maxConnections = 256
  @Option(.milliseconds(1) ... .seconds(3_600), "Time after which an idle connection is closed")
  var keepAlive = Duration.seconds(60)
  @Option("Whether compressed bodies are requested and decompressed") var decompress = true
  @Option(
    "What the server does with the error of a field: null at its position, even if the type is non-null; propagate "
      + "null to the nearest nullable position; or halt, with no data. By default the server decides. Sent only to "
      + "a server that announces the capability graphql.onError, which is asked once")
  var onError: OnError?
  @Option("Whether on_error is sent to a server that does not announce that it supports it")
  var forceOnError = false

  package struct TLS: OptionSection {
    @Option("Certificates of trusted authorities (PEM), instead of the system's")
    package var caFile: OptionPath?
    @Option("Certificate chain of this client (PEM)") package var clientCertificate: OptionPath?
    @Option("Key of that certificate (PEM)") package var clientKey: OptionPath?
    @Option(
      "Whether connections are used although the server's certificate cannot be verified; anyone on "
        + "the network can then read and change what is sent")
    package var insecure = false
    @Option(
      "Name that is requested and that the server's certificate must have, instead of the URL's "
        + "host"
    )
    var serverName: String?
    @Option("Oldest version of TLS that is accepted") var minVersion = TLSSettings.Version.tls12

    package init() {}

    package func validate() throws(OptionError) {
      func isHostCharacter(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "-._".utf8.contains(byte)
      }
      if let serverName, serverName.isEmpty || !serverName.utf8.allSatisfy(isHostCharacter) {
        throw $serverName.error(
          "this is not a host name",
          remedy: "write the name that is in the certificate, such as api.example.com")
      }
      if (clientCertificate == nil) != (clientKey == nil) {
        let message = "a certificate of this client needs its key, and a key its certificate"
        let remedy = "give both client_certificate and client_key"
        throw clientKey == nil
          ? $clientCertificate.error(message, remedy: remedy)
          : $clientKey.error(message, remedy: remedy)
      }
    }

    var settings: TLSSettings {
      var settings = TLSSettings()
      settings.authorityFile = caFile?.path
      settings.certificateFile = clientCertificate?.path
      settings.keyFile = clientKey?.path
      settings.serverName = serverName
      settings.minimumVersion = minVersion
      settings.verifiesServer = !insecure
      return settings
    }
  }

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Sends requests over the network.
  public var traits: PluginTraits { .fetches }

  /// One per chain, in the HTTP stage; requires an endpoint and a parser.
  public var placement: Placement {
    .step(
      .http,
      rules: [
        .once(.fetches, code: .fetch, verb: "fetches"),
        .requires(
          .parses, atChain: true, code: .parse, message: "nothing parses the responses of {self}",
          remedy: "add `- parse` below {self}"),
        .requires(
          .endpoint, code: .wrongValue, message: "{self} needs the key `endpoint`",
          remedy: "add `endpoint: { url: … }` to the file"),
      ])
  }

  /// Checks that a forced `on_error` is given, and that a socket has a name.
  ///
  /// - Throws: `OptionError` for `force_on_error` without `on_error`, and an empty `unix_socket`.
  public func validate() throws(OptionError) {
    // An empty path in a file is the file's folder.
    if let path = unixSocket?.path, path.isEmpty || path.hasSuffix("/") {
      throw $unixSocket.error(
        "the Unix domain socket has no name", remedy: "write its path, or remove the option")
    }
    guard forceOnError, onError == nil else { return }
    throw $forceOnError.error(
      "there is no `on_error` that would be sent", remedy: "add on_error, or remove force_on_error")
  }

  /// Creates the interceptor that sends requests with these limits, and one that adds `on_error` to them.
  ///
  /// - Throws: `OptionError` for a proxy that is not a URL, in the option or in the environment.
  public func parts(_ environment: PluginEnvironment) throws(OptionError) -> [ChainPart] {
    let asking = onError.map {
      ChainPart.graphQL(OnErrorInterceptor(value: $0, isForced: forceOnError))
    }
    return [asking].compactMap(\.self) + [
      .fetch(
        FetchInterceptor(
          limits: try limits(environment), eventTimeout: eventTimeout,
          redirects: RedirectPolicy(scope: redirects, maximum: maxRedirects)))
    ]
  }

  /// The limits of an exchange, with the settings of its connection.
  package func limits(_ environment: PluginEnvironment) throws(OptionError) -> HTTPLimits {
    var limits = HTTPLimits()
    limits.total = timeout
    limits.connect = connectTimeout
    limits.idle = idleTimeout
    limits.bodyBytes = maxBody
    limits.decompressionRatio = maxRatio
    limits.headerBytes = maxHeaders
    limits.messageBytes = maxMessage
    limits.minimumThroughput = minThroughput
    limits.connection.tls = tls.settings
    limits.connection.proxies = try proxies(environment)
    limits.connection.unixSocket = unixSocket?.path
    limits.connection.usesHTTP2 = http2
    limits.connection.maxPerHost = maxConnections
    limits.connection.keepAlive = keepAlive
    limits.connection.decompresses = decompress
    return limits
  }

  private func proxies(_ environment: PluginEnvironment) throws(OptionError) -> HTTPProxies {
    do throws(HTTPProxy.InvalidURL) {
      var proxies = HTTPProxies()
      switch proxy {
      case "none": break
      case "environment": proxies = try HTTPProxies(environment: environment.variable)
      default:
        let proxy = try HTTPProxy(url: proxy)
        proxies = HTTPProxies(http: proxy, https: proxy)
      }
      proxies.exceptions += noProxy
      return proxies
    } catch {
      throw $proxy.error(
        "no proxy can be used: \(error.reason)",
        remedy: "write http://host:port, socks5h://host:port, `environment` or `none`")
    }
  }
}

private struct FetchInterceptor: HTTPInterceptor {
  let limits: HTTPLimits
  let eventTimeout: Duration
  let redirects: RedirectPolicy

  private func limits(of context: ChainContext) -> HTTPLimits {
    guard context.operationType == .subscription else { return limits }
    var limits = limits
    limits.total = .seconds(100 * 365 * 86_400)
    limits.idle = eventTimeout
    limits.isSubscription = true
    limits.bodyBytes = ByteSize(bytes: .max)
    limits.minimumThroughput = ByteSize(bytes: 0)
    return limits
  }

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let clock = context.services.clock
    let start = clock.now()
    var request = request
    let operationFields = context.values[CorrelationID.FieldNames.self] ?? []
    request.webSocket?.operationFields = operationFields
    request.eventStream?.operationFields = operationFields
    if context.operationType == .subscription {
      let (label, logger) = (context.operationLabel, context.services.logger)
      request.waits = { logger.warning("\(label) \($0)") }
    }
    var limits = limits(of: context)
    let total = limits.total
    var (hops, hasLeftOrigin) = (0, false)
    while true {
      var response = try await send(request, limits: limits, context: context)
      guard
        let decision = redirects.decision(
          on: response.head, to: request, hops: hops, secrets: context.services.secrets)
      else {
        if hops > 0 { response.redirectedRequest = request.head }
        return response
      }
      for observer in request.redirectObservers {
        observer.receive(response.head, to: request.head)
      }
      switch decision {
      case .refuse(let reason): throw refusal(response.head, reason: reason, context: context)
      case .follow(let following, let isSameOrigin):
        // Reading a short body to its end returns the connection to the pool.
        _ = try? await response.body.prefix(16 << 10)
        context.services.logger.debug("\(context.operationLabel): redirected to \(following)")
        hops += 1
        hasLeftOrigin = hasLeftOrigin || !isSameOrigin
        request = following
        for observer in request.redirectObservers {
          observer.follow(&request.head, hasLeftOrigin: hasLeftOrigin)
        }
        // The time limit covers all redirects together.
        limits.total = max(total - (clock.now() - start), .milliseconds(1))
      }
    }
  }

  private func refusal(
    _ head: HTTPResponse, reason: String, context: ChainContext
  ) -> ChainError {
    ChainError(
      .transport, code: .redirectRefused,
      message: "the server redirects the request to \(head.shownLocation ?? ""), which \(reason)",
      entry: context.entryID,
      http: .init(status: head.status.code, headers: head.headerFields), delivery: .answered)
  }

  private func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits, context: ChainContext
  ) async throws -> HTTPResponseMessage {
    guard let transport = context.services.transport else {
      throw ChainError(
        .transport, code: .connectionFailed,
        message: "the client has no transport to send requests with",
        entry: context.entryID, delivery: .notSent)
    }
    do {
      return try await transport.send(request, limits: limits)
    } catch let error as ChainError
      where error.cause is ReusedConnectionClosed
      && (context.operationType == .query || error.delivery == .notSent)
    {
      // One retry. The server may have executed a mutation that was sent.
      context.services.logger.debug("\(context.operationLabel): retried, \(error)")
      return try await transport.send(request, limits: limits)
    }
  }
}
