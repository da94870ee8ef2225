import GQLRunLanguage
public import GQLRunPipeline
import HTTPTypes
import Logging

/// Sends requests over the network.
public struct FetchPlugin: Plugin {
  public static let description = PluginDescription(
    name: "fetch",
    summary: "Sends the request over the network and hands the response on as it arrives",
    kind: .step, stages: [.http], roles: [.fetch],
    options: [
      OptionDescription(
        "timeout", .duration(in: .milliseconds(1)...(.seconds(86_400))), default: "5m",
        "The longest time from sending the request to the last byte of the body"),
      OptionDescription(
        "connect_timeout", .duration(in: .milliseconds(1)...(.seconds(3_600))), default: "10s",
        "The longest time until a connection stands"),
      OptionDescription(
        "idle_timeout", .duration(in: .milliseconds(1)...(.seconds(3_600))), default: "30s",
        "The longest silence of the server"),
      OptionDescription(
        "max_body", .size(in: ByteSize(bytes: 1)...ByteSize(bytes: 1 << 50)), default: "1GiB",
        "The largest body, after decompression"),
      OptionDescription(
        "max_ratio", .int(in: 1...1_000_000),
        "How many times larger a body may become by decompression; any number when not given"),
      OptionDescription(
        "max_headers", .size(in: ByteSize(bytes: 256)...ByteSize(bytes: 2 << 20)),
        default: "64KiB", "The largest header of a response, in all its fields"),
      OptionDescription(
        "min_throughput", .size(in: ByteSize(bytes: 0)...ByteSize(bytes: 1 << 40)),
        default: "0B",
        "The fewest bytes per second of a body that takes longer than idle_timeout; 0B takes any"),
      OptionDescription(
        "redirects", .choice(RedirectPolicy.Reach.allCases.map(\.rawValue)), default: "none",
        "Which redirects are followed; those of a POST only with 307 and 308, none from https to "
          + "http, and secret fields are not sent to another origin"),
      OptionDescription(
        "max_redirects", .int(in: 1...20), default: "3", "How many redirects follow one another"),
      OptionDescription("tls", .object(tls), default: "{}", "What secure connections ask for"),
      OptionDescription(
        "proxy", .string, default: "environment",
        "The proxy, as http://host:port or socks5h://host:port; `environment` takes https_proxy, "
          + "http_proxy, all_proxy and no_proxy as curl does, `none` takes no proxy. Secure "
          + "connections are tunnelled (CONNECT), plain requests handed to an HTTP proxy as they are; "
          + "the way to the proxy itself is not encrypted"),
      OptionDescription(
        "no_proxy", .list(.string),
        "Hosts that are asked without a proxy, with their subdomains, and addresses or ranges such as "
          + "10.0.0.0/8; * stands for all"),
      OptionDescription(
        "http2", .bool, default: "true", "Whether HTTP/2 is spoken where the server offers it"),
      OptionDescription(
        "max_connections", .int(in: 1...10_000), default: "256",
        "The most connections to one server that speaks HTTP/1.1"),
      OptionDescription(
        "keep_alive", .duration(in: .milliseconds(1)...(.seconds(3_600))), default: "60s",
        "How long a connection without work is kept"),
      OptionDescription(
        "decompress", .bool, default: "true", "Whether compressed bodies are asked for and unpacked"
      ),
    ],
    examples: [
      "fetch", "fetch: { timeout: 30s, max_body: 8GiB }",
      "fetch: { tls: { ca_file: company-ca.pem }, proxy: \"http://proxy.example.com:3128\" }",
    ])

  private static let tls: [OptionDescription] = [
    OptionDescription(
      "ca_file", .path, "The certificates of trusted authorities (PEM), instead of the system's"),
    OptionDescription(
      "client_certificate", .path, "The certificate chain that is shown to the server (PEM)"),
    OptionDescription("client_key", .path, "The key of that certificate (PEM)"),
    OptionDescription(
      "server_name", .string,
      "The name that is asked for and must stand in the server's certificate, in the place of the "
        + "URL's host"),
    OptionDescription(
      "min_version", .choice(TLSSettings.Version.allCases.map(\.rawValue)), default: "1.2",
      "The oldest version of TLS that is spoken"),
  ]

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    var limits = HTTPLimits()
    limits.total = options.duration("timeout")
    limits.connect = options.duration("connect_timeout")
    limits.idle = options.duration("idle_timeout")
    limits.bodyBytes = options.size("max_body")
    limits.decompressionRatio = options.int(ifGiven: "max_ratio")
    limits.headerBytes = options.size("max_headers")
    limits.minimumThroughput = options.size("min_throughput")
    limits.connection.tls = try tls(options.object("tls"))
    limits.connection.proxies = try proxies(options, environment)
    limits.connection.usesHTTP2 = options.bool("http2")
    limits.connection.maximumPerHost = options.int("max_connections")
    limits.connection.keepAlive = options.duration("keep_alive")
    limits.connection.decompresses = options.bool("decompress")
    let redirects = RedirectPolicy(
      reach: options.choice("redirects"), maximum: options.int("max_redirects"))
    return .fetch(FetchInterceptor(limits: limits, redirects: redirects))
  }

  private static func tls(_ options: PluginOptions) throws(PluginOptionError) -> TLSSettings {
    var tls = TLSSettings()
    tls.authorityFile = options.string(ifGiven: "ca_file")
    tls.certificateFile = options.string(ifGiven: "client_certificate")
    tls.keyFile = options.string(ifGiven: "client_key")
    tls.minimumVersion = options.choice("min_version")
    tls.serverName = options.string(ifGiven: "server_name")
    if let name = tls.serverName, !name.utf8.allSatisfy(isHostCharacter) || name.isEmpty {
      throw PluginOptionError(
        option: "tls.server_name", "this is no name of a host",
        remedy: "write the name that stands in the certificate, such as api.example.com")
    }
    if (tls.certificateFile == nil) != (tls.keyFile == nil) {
      throw PluginOptionError(
        option: tls.keyFile == nil ? "tls.client_certificate" : "tls.client_key",
        "a certificate of this client needs its key, and a key its certificate",
        remedy: "give both client_certificate and client_key")
    }
    return tls
  }

  private static func isHostCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static func proxies(
    _ options: PluginOptions, _ environment: PluginEnvironment
  ) throws(PluginOptionError) -> HTTPProxies {
    let given = options.string(ifGiven: "proxy") ?? "none"
    do throws(HTTPProxy.InvalidURL) {
      var proxies = HTTPProxies()
      switch given {
      case "none": break
      case "environment": proxies = try HTTPProxies(environment: environment.variable)
      default:
        let proxy = try HTTPProxy(url: given)
        proxies = HTTPProxies(http: proxy, https: proxy)
      }
      proxies.exceptions += options.strings("no_proxy")
      return proxies
    } catch {
      throw PluginOptionError(
        option: "proxy", "no proxy can be used: \(error.reason)",
        remedy: "write http://host:port, socks5h://host:port, `environment` or `none`")
    }
  }
}

private struct FetchInterceptor: HTTPInterceptor {
  let limits: HTTPLimits
  let redirects: RedirectPolicy

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let clock = context.services.clock
    let start = clock.now()
    var request = request
    var limits = limits
    var hops = 0
    while true {
      let response = try await send(request, limits, context)
      switch redirects.decision(
        on: response.head, to: request, hops: hops, secrets: context.services.secrets)
      {
      case .deliver: return response
      case .refuse(let reason): throw refusal(response.head, reason, context)
      case .follow(let following):
        // A short body that is read to its end gives the connection back.
        _ = try? await response.body.prefix(16 << 10)
        context.services.logger.debug("\(context.operationLabel): sent on to \(following)")
        hops += 1
        request = following
        // The time counts for all of them.
        limits.total = max(self.limits.total - (clock.now() - start), .milliseconds(1))
      }
    }
  }

  private func refusal(
    _ head: HTTPResponse, _ reason: String, _ context: ChainContext
  ) -> ChainError {
    // The query of an address may hold keys.
    let target = head.headerFields[.location].map { "\($0.prefix { $0 != "?" }.prefix(200))" } ?? ""
    return ChainError(
      .transport, .redirectRefused,
      "the server sends the request on to \(target), which \(reason)", place: context.entryID,
      http: .init(status: head.status.code, headers: head.headerFields), delivery: .answered)
  }

  private func send(
    _ request: HTTPRequestMessage, _ limits: HTTPLimits, _ context: ChainContext
  ) async throws -> HTTPResponseMessage {
    guard let transport = context.services.transport else {
      throw ChainError(
        .transport, .connectionFailed, "there is no network here to send requests over",
        place: context.entryID, delivery: .notSent)
    }
    do {
      return try await transport.send(request, limits: limits)
    } catch let error as ChainError
      where error.cause is KeptConnectionClosed && context.operationType == .query
    {
      // Once, and only what does no harm twice. A mutation may have been carried out.
      context.services.logger.debug("\(context.operationLabel): sent again, \(error)")
      return try await transport.send(request, limits: limits)
    }
  }
}
