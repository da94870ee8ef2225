import Foundation
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes
import NIOSSL
import Testing

/// How WebSocket connections are opened and shared: transports, credentials, proxies, TLS.
@Suite(.timeLimit(.minutes(10))) struct SocketConnectionTests {
  private static let complete = SocketTests.complete()
  private static let whole = RawServer.Step.greeted(
    .message(SocketTests.next("Ada")), .message(complete))

  private func run(
    _ chain: String = Bench.plain, _ url: String,
    _ change: @escaping @Sendable (inout Pipeline) -> Void = { _ in }, times: Int = 1
  ) async throws -> Outcome {
    try await Bench.with(chain, url: url, setup: .init(change: change)) { bench in
      var outcome = Outcome()
      for _ in 0..<times {
        outcome = await bench.run(SocketTests.document)
        expectNoSecrets(outcome, bench)
      }
      return outcome
    }
  }

  // MARK: The transport

  private static func subscriptions(
    _ transport: Endpoint.Subscriptions.Transport, url: String? = nil,
    parameters: ConnectionParameters? = nil
  ) -> @Sendable (inout Pipeline) -> Void {
    { pipeline in
      pipeline.endpoint?.subscriptions = try? .init(
        url: url, transport: transport, connectionParameters: parameters)
    }
  }

  private static let events: [RawServer.Step] = [
    .request,
    .send(
      HTTPText.response(
        type: "text/event-stream",
        body: "event: next\ndata: \(SocketTests.payload("Bo"))\n\nevent: complete\n\n")),
  ]

  @Test(arguments: [
    (Endpoint.Subscriptions.Transport.auto, "graphql-transport-ws, graphql-ws"),
    (.graphQLTransportWS, "graphql-transport-ws"),
  ]) func `subscriptions of an HTTP endpoint are sent over WebSocket`(
    _ transport: Endpoint.Subscriptions.Transport, _ offered: String
  ) async throws {
    try await RawServer.withServer(Self.whole) { server in
      let outcome = try await run(
        server.url,
        transport: transport)
      #expect(outcome.texts == [SocketTests.payload("Ada")], "\(outcome.message)")
      let request = await server.log.requests.first
      #expect(request?.contains("Sec-WebSocket-Protocol: \(offered)\r\n") == true)
    }
  }

  private func run(
    _ url: String, transport: Endpoint.Subscriptions.Transport, times: Int = 1
  ) async throws -> Outcome {
    try await run(Bench.plain, url, Self.subscriptions(transport), times: times)
  }

  @Test func `auto asks once, and remembers that the server opens no WebSocket`() async throws {
    let refusal: [RawServer.Step] = [
      .request, .send(HTTPText.response("404 Not Found", body: "nothing")),
    ]
    try await RawServer.withServer(refusal, Self.events) { server in
      let outcome = try await run(server.url, transport: .auto, times: 2)
      #expect(outcome.texts == [SocketTests.payload("Bo")], "\(outcome.message)")
      #expect(
        await server.log.requests.map { $0.prefix { $0 != " " } } == ["GET", "POST", "POST"])
    }
  }

  @Test(arguments: ["401 Unauthorized", "503 Service Unavailable"])
  func `auto does not take a refusal of credentials or load for an answer`(_ status: String)
    async throws
  {
    let refusal: [RawServer.Step] = [.request, .send(HTTPText.response(status, body: "no"))]
    try await RawServer.withServer(refusal) { server in
      let outcome = try await run(server.url, transport: .auto)
      #expect(outcome.code == .webSocketRefused, "\(outcome.message)")
      #expect(outcome.failure?.http?.status == Int(status.prefix(3)))
      #expect(await server.log.connections == 1)
    }
  }

  @Test(arguments: [
    (Endpoint.Subscriptions.Transport.sse, "text/event-stream, "),
    (.multipart, "multipart/mixed;subscriptionSpec=1.0, "),
  ]) func `one transport over HTTP accepts no other`(
    _ transport: Endpoint.Subscriptions.Transport, _ accepted: String
  ) async throws {
    try await RawServer.withServer(Self.events) { server in
      _ = try await run(server.url, transport: transport)
      let request = await server.log.requests.first
      #expect(request?.hasPrefix("POST /graphql ") == true)
      #expect(request?.contains("Accept: \(accepted)application/graphql-response") == true)
    }
  }

  @Test func `subscriptions may have a URL of their own`() async throws {
    try await RawServer.withServer(Self.whole) { server in
      let outcome = try await run(
        Bench.plain, "https://server.invalid/graphql",
        Self.subscriptions(.auto, url: "http://127.0.0.1:\(server.port)/live"))
      #expect(outcome.texts == [SocketTests.payload("Ada")], "\(outcome.message)")
      #expect(await server.log.requests.first?.hasPrefix("GET /live ") == true)
    }
  }

  // MARK: Credentials

  @Test(arguments: [4401, 4403]) func `a rejected connection renews the token once`(
    _ code: Int
  ) async throws {
    let token =
      #"- token-refresh: { command: "touch ${env:DIR}/n; wc -l < ${env:DIR}/n | sed s/^/t/; "#
      + #"echo >> ${env:DIR}/n" }"# + "\n"
    let first: [RawServer.Step] = [
      .handshake("graphql-transport-ws"), .frame, .close(code, "Forbidden"), .closing,
    ]
    let yaml = """
      version: 1
      endpoint:
        url: "${env:URL}"
        subscriptions: { connection_params: { token: "${context:api_token}", deep: [1, { a: x }] } }
      chain:
        - max-retry
      \(token.split(separator: "\n").map { "  \($0)" }.joined())
        - fetch
        - parse
      """
    try await RawServer.withServer(first, Self.whole) { server in
      let url = server.socketURL
      var setup = Bench.Setup()
      let folder = NSTemporaryDirectory() + "socket-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let pipeline = try Bench.load(yaml, variables: ["URL": url, "DIR": folder])
      setup.change = { $0 = pipeline }
      try await Bench.with(url: url, setup: setup) { bench in
        let outcome = await bench.run(SocketTests.document)
        #expect(outcome.texts == [SocketTests.payload("Ada")], "\(outcome.message)")
        let frames = await server.log.frames.filter { $0.contains("connection_init") }
        #expect(
          frames
            == ["t0", "t1"].map {
              #"{"type":"connection_init","payload":{"token":"\#($0)","deep":[1,{"a":"x"}]}}"#
            })
        let requests = await server.log.requests
        #expect(requests.last?.contains("Authorization: Bearer t1\r\n") == true)
      }
    }
  }

  @Test func `connection parameters without a value are an error before anything is sent`()
    async throws
  {
    let yaml = """
      version: 1
      endpoint:
        url: "ws://127.0.0.1:1/"
        subscriptions: { connection_params: { token: "${context:missing}" } }
      chain: [fetch, parse]
      """
    var setup = Bench.Setup()
    let pipeline = try Bench.load(yaml)
    setup.change = { $0 = pipeline }
    try await Bench.with(url: "ws://127.0.0.1:1/", setup: setup) { bench in
      let outcome = await bench.run(SocketTests.document)
      #expect(outcome.code == .invalidRequest)
      #expect(outcome.message.contains("no value `missing`"), "\(outcome.message)")
    }
  }

  // MARK: Sharing

  @Test func `operations that differ in their header fields have connections of their own`()
    async throws
  {
    let script = RawServer.Step.greeted(.message(Self.complete))
    try await Bench.withServer(script, chain: "- correlation-id\n" + Bench.plain, isSocket: true) {
      bench, server in
      _ = await bench.run(SocketTests.document)
      #expect(await server.log.connections == 1)
      var request = try Bench.request(SocketTests.document)
      request.additionalHeaders[.cookie] = "other"
      _ = await bench.outcome(of: request)
      #expect(await server.log.connections == 2)
    }
  }

  @Test func `a correlation id of each operation does not open a connection`() async throws {
    let script = RawServer.Step.greeted(
      .message(Self.complete), .frame, .message(SocketTests.complete(2)))
    try await RawServer.withServer(script) { server in
      let outcome = try await run(
        "- correlation-id\n" + Bench.plain, server.socketURL, times: 2)
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(await server.log.connections == 1)
    }
  }

  // MARK: Pause

  /// Pauses a subscription after its first event, resumes it once the server has seen that, and checks its results.
  private func pauseAndResume(
    _ bench: Bench, when isSeen: @escaping @Sendable (SubscriptionRegister) async -> Void
  ) async throws {
    let register = SubscriptionRegister.of(bench.runner.services)
    let resuming = Task {
      await isSeen(register)
      register.resume()
    }
    var outcome = Outcome()
    for try await response in bench.runner.execute(try Bench.request(SocketTests.document)) {
      outcome.add(response)
      if outcome.results.count == 1 { register.pause() }
    }
    await resuming.value
    #expect(outcome.results.map(\.gap) == [nil, 784_111_777, nil])
    #expect(outcome.texts.last == SocketTests.payload("Bo"))
  }

  @Test func `a paused subscription begins again when it is resumed`() async throws {
    let script = RawServer.Step.greeted(
      .message(SocketTests.next("Ada")), .frame, .frame, .message(SocketTests.next("Bo", id: 2)),
      .message(SocketTests.complete(2)))
    try await Bench.withServer(script, isSocket: true) { bench, server in
      try await pauseAndResume(bench) { register in
        _ = await server.log.frame(containing: "complete")
        #expect(register.current == .idle)
      }
      #expect(await server.log.connections == 1)
    }
  }

  @Test func `a subscription over HTTP is paused, too`() async throws {
    let stream =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: next\ndata: "
      + SocketTests.payload("Ada") + "\n\n"
    let first: [RawServer.Step] = [.request, .send(stream), .untilClosed]
    try await Bench.withServer(first, Self.events) { bench, server in
      try await pauseAndResume(bench) { _ in await server.log.closure() }
    }
  }

  // MARK: Proxies and TLS

  private func through(_ proxy: String) -> String { Bench.fetching("proxy: \"\(proxy)\"") }

  @Test func `connections go through the tunnel of a proxy`() async throws {
    let script: [RawServer.Step] =
      [.request, .send("HTTP/1.1 200 Connection established\r\n\r\n")] + Self.whole
    try await RawServer.withServer(script) { proxy in
      let setup = Bench.Setup(variables: [
        "http_proxy": "http://user:p%40ss@127.0.0.1:\(proxy.port)"
      ])
      let outcome = try await Bench.with(url: "ws://server.invalid:81/graphql", setup: setup) {
        await $0.run(SocketTests.document)
      }
      #expect(outcome.texts == [SocketTests.payload("Ada")], "\(outcome.message)")
      let requests = await proxy.log.requests
      #expect(requests.first?.hasPrefix("CONNECT server.invalid:81 HTTP/1.1\r\n") == true)
      #expect(requests.first?.contains("Proxy-Authorization: Basic dXNlcjpwQHNz") == true)
      #expect(requests.first?.contains(Bench.canary) == false)
    }
  }

  @Test func `connections go through a SOCKS proxy`() async throws {
    let script: [RawServer.Step] =
      [
        .bytes(3), .send([5, 0]), .bytes(4 + 1 + 14 + 2),
        .send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
      ] + Self.whole
    try await RawServer.withServer(script) { proxy in
      let outcome = try await run(
        through("socks5h://127.0.0.1:\(proxy.port)"), "ws://server.invalid/graphql")
      #expect(outcome.texts == [SocketTests.payload("Ada")], "\(outcome.message)")
    }
  }

  @Test(arguments: [
    (
      "http",
      [
        RawServer.Step.request,
        .send("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"),
        .untilClosed,
      ], "requires credentials"
    ),
    (
      "http",
      [
        .request, .send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
        .untilClosed,
      ], "opened no tunnel"
    ),
    ("socks5h", [.bytes(3), .send([5, 255]), .untilClosed], "requires credentials"),
  ]) func `a proxy that refuses is an error`(
    _ kind: String, _ script: [RawServer.Step], _ part: String
  ) async throws {
    try await RawServer.withServer(script) { proxy in
      let outcome = try await run(
        through("\(kind)://127.0.0.1:\(proxy.port)"), "wss://server.invalid/graphql")
      #expect(outcome.code == .proxyFailed, "\(outcome.message)")
      #expect(outcome.message.contains(part), "\(outcome.message)")
      #expect(outcome.failure?.delivery == .notSent)
    }
  }

  @Test func `a SOCKS proxy that does not answer is an error of the proxy`() async throws {
    // On a busy machine, finding the address takes the 50 ms sometimes: such a run is repeated.
    while try await !isGivenUpInTunnel() {}
  }

  /// Runs a subscription through a SOCKS proxy that does not answer, and returns whether there was time to connect.
  private func isGivenUpInTunnel() async throws -> Bool {
    try await RawServer.withServer([.bytes(3), .untilClosed]) { proxy in
      let outcome = try await run(
        SocketTests.retrying.replacing(
          "- fetch",
          with: "- fetch: { connect_timeout: 50ms, proxy: \"socks5h://127.0.0.1:\(proxy.port)\" }"),
        "wss://server.invalid/graphql")
      #expect(outcome.code == .proxyFailed, "\(outcome.message)")
      #expect(outcome.message.contains("within 50ms"), "\(outcome.message)")
      let connections = try await proxy.connections()
      if outcome.message.contains("no connection to the proxy") {
        #expect(connections <= 1)
        return false
      }
      #expect(outcome.message.contains("opened no tunnel"), "\(outcome.message)")
      #expect(connections == 1)
      return true
    }
  }

  @Test func `the handshake of doctor goes through the proxy, and over the socket`() async throws {
    let head = HTTPRequest(
      method: .get, scheme: "http", authority: "server.invalid", path: "/graphql")
    let handshake: [RawServer.Step] = [.handshake("graphql-ws"), .untilClosed]
    let tunnel: [RawServer.Step] = [.request, .send("HTTP/1.1 200 OK\r\n\r\n")]
    try await RawServer.withServer(tunnel + handshake) { proxy in
      var limits = HTTPLimits()
      limits.connect = .seconds(3_600)
      limits.connection.proxies.http = try HTTPProxy(url: "http://127.0.0.1:\(proxy.port)")
      let answer = try await WebSocketProbe.answer(
        to: head, offering: ["graphql-ws"], limits: limits)
      #expect(answer?.status == 101 && answer?.subprotocol == "graphql-ws")
      #expect(await proxy.log.requests.first?.hasPrefix("CONNECT server.invalid:80 ") == true)
    }
    let path = NSTemporaryDirectory() + "doctor-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await RawServer.withServer(handshake, socket: path) { server in
      var limits = HTTPLimits()
      limits.connect = .seconds(3_600)
      limits.connection.unixSocket = path
      let answer = try await WebSocketProbe.answer(
        to: head, offering: ["graphql-ws"], limits: limits)
      #expect(answer?.status == 101 && answer?.subprotocol == "graphql-ws")
      #expect(await server.log.requests.first?.contains("Host: server.invalid\r\n") == true)
    }
  }

  @Test(arguments: [
    ("429 Too Many Requests", true), ("503 Service Unavailable\r\nRetry-After: 9", true),
    ("503 Service Unavailable", false),
  ]) func `the answer to the handshake of doctor may be a limit of requests`(
    _ head: String, _ isLimited: Bool
  ) async throws {
    let script: [RawServer.Step] = [.request, .send("HTTP/1.1 \(head)\r\n\r\n"), .untilClosed]
    try await RawServer.withServer(script) { server in
      var limits = HTTPLimits()
      limits.connect = .seconds(3_600)
      let answer = try await WebSocketProbe.answer(
        to: HTTPRequest(
          method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/graphql"),
        offering: ["graphql-ws"], limits: limits)
      #expect(answer?.isLimited == isLimited)
    }
  }

  @Test(.enabled(if: TestCertificates.shared != nil, "there is no openssl"))
  func `TLS has the settings of fetch`() async throws {
    let certificates = try #require(TestCertificates.shared)
    let chain = Bench.fetching("tls: { ca_file: \(certificates.path("ca.pem")) }")
    try await RawServer.withServer(Self.whole, tls: certificates.server(.good)) { server in
      let outcome = try await run(chain, "wss://localhost:\(server.port)/graphql")
      #expect(outcome.texts == [SocketTests.payload("Ada")], "\(outcome.message)")
    }
    for (name, part) in [
      (TestCertificates.Name.other, "for another name"), (.expired, "expired on 2021-01-01"),
    ] {
      try await RawServer.withServer(Self.whole, tls: certificates.server(name)) { server in
        let outcome = try await run(chain, "wss://localhost:\(server.port)/graphql")
        #expect(outcome.code == .tlsFailed, "\(outcome.message)")
        #expect(outcome.message.contains(part), "\(outcome.message)")
      }
    }
  }

  @Test(.enabled(if: TestCertificates.shared != nil, "there is no openssl"))
  func `a connection that is cut without the end of TLS is lost, and opened again`() async throws {
    let certificates = try #require(TestCertificates.shared)
    let chain = SocketTests.retrying.replacing(
      "- fetch", with: "- fetch: { tls: { ca_file: \(certificates.path("ca.pem")) } }")
    let first = RawServer.Step.greeting + [.message(SocketTests.next("Ada")), .cut()]
    let tls = try certificates.server(.good)
    try await RawServer.withServer(
      first, RawServer.Step.greeted(.message(Self.complete)), tls: tls
    ) { server in
      let outcome = try await run(chain, "wss://localhost:\(server.port)/graphql")
      #expect(outcome.texts.first == SocketTests.payload("Ada"), "\(outcome.message)")
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(await server.log.connections == 2)
    }
    try await RawServer.withServer(RawServer.Step.greeting + [.cut()], tls: tls) { server in
      let url = "wss://localhost:\(server.port)/graphql"
      let outcome = try await Bench.with(chain, url: url) { await $0.run(Bench.rename) }
      #expect(outcome.code == .webSocketClosed, "\(outcome.message)")
      #expect(outcome.failure?.leavesOutcomeUnknown == true)
      #expect(await server.log.connections == 1)
    }
  }

  @Test(.enabled(if: TestCertificates.shared != nil, "there is no openssl"))
  func `a client certificate is sent if required, and its lack is reported`() async throws {
    let certificates = try #require(TestCertificates.shared)
    let strict = try certificates.server(.good) {
      $0.certificateVerification = .noHostnameVerification
      $0.trustRoots = .file(certificates.path("ca.pem"))
      $0.maximumTLSVersion = .tlsv12
    }
    let trusting = "ca_file: \(certificates.path("ca.pem"))"
    let own =
      "client_certificate: \(certificates.path("client.pem")), "
      + "client_key: \(certificates.path("client.key"))"
    try await RawServer.withServer(Self.whole, tls: strict) { server in
      let url = "wss://localhost:\(server.port)/graphql"
      let refused = try await run(Bench.fetching("tls: { \(trusting) }"), url)
      #expect(refused.code == .tlsFailed, "\(refused.message)")
      #expect(refused.message.contains("tls.client_certificate"), "\(refused.message)")
    }
    try await RawServer.withServer(Self.whole, tls: strict) { server in
      let url = "wss://localhost:\(server.port)/graphql"
      let outcome = try await run(Bench.fetching("tls: { \(trusting), \(own) }"), url)
      #expect(outcome.texts == [SocketTests.payload("Ada")], "\(outcome.message)")
    }
  }

  @Test func `connections go over a Unix domain socket`() async throws {
    let path = NSTemporaryDirectory() + "socket-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let chain = Bench.fetching("unix_socket: \(path)")
    try await RawServer.withServer(Self.whole, socket: path) { server in
      let outcome = try await run(chain, "ws://server.invalid/graphql")
      #expect(outcome.texts == [SocketTests.payload("Ada")], "\(outcome.message)")
      let request = await server.log.requests.first ?? ""
      #expect(request.contains("Host: server.invalid\r\n"), "\(request)")
    }
    let outcome = try await run(chain, "ws://server.invalid/graphql")
    #expect(outcome.code == .connectionFailed, "\(outcome.message)")
    #expect(outcome.message.contains(path), "\(outcome.message)")
  }
}
