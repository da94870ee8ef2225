import GQLRunPipeline
import GQLRunTestSupport
import Testing

/// Fault 38 and how proxies are chosen.
@Suite(.timeLimit(.minutes(10))) struct ProxyTests {
  private func chain(_ fetch: String) -> String {
    Bench.retrying.replacing("- fetch", with: "- fetch: { \(fetch) }")
  }

  /// What a proxy of a kind answers to a request for a URL with this scheme, and a part of the message.
  @Test(
    arguments: [
      (
        "http", "http",
        [
          .request, .send(HTTPText.response("407 Proxy Authentication Required", body: "")),
          .untilClosed,
        ], "requires credentials"
      ),
      (
        "http", "https",
        [
          .request,
          .send(
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"
          ), .untilClosed,
        ], "requires credentials"
      ),
      (
        "http", "https",
        [
          .request, .send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
          .untilClosed,
        ], "opened no tunnel to https://server.invalid"
      ),
      ("http", "https", [.request, .end], "opened no tunnel to https://server.invalid"),
      ("socks5h", "http", [.bytes(3), .send([5, 255]), .untilClosed], "requires credentials"),
      (
        "socks5h", "http",
        [
          .bytes(3), .send([5, 0]), .bytes(21), .send([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]),
          .untilClosed,
        ], "connection refused"
      ),
      (
        "socks5h", "http",
        [.bytes(3), .send("HTTP/1.1 400 Bad Request\r\n\r\n"), .untilClosed],
        "does not answer with SOCKS 5"
      ),
      (
        "socks5h", "http", [.bytes(3), .send([5, 0]), .bytes(21), .end],
        "opened no tunnel to http://server.invalid"
      ),
    ] as [(String, String, [RawServer.Step], String)])
  func `fault 38: a proxy that refuses is an error, without a retry`(
    _ kind: String, _ scheme: String, _ script: [RawServer.Step], _ part: String
  ) async throws {
    try await RawServer.withServer(script) { proxy in
      let chain = chain("proxy: \"\(kind)://127.0.0.1:\(proxy.port)\"")
      try await Bench.with(chain, url: "\(scheme)://server.invalid/graphql") { bench in
        try await bench.prime()
        let before = await bench.dump()
        let outcome = await bench.run(policy: .networkOnly)
        #expect(outcome.code == .proxyFailed, "\(outcome.message)")
        #expect(outcome.failure?.delivery == .notSent)
        #expect(outcome.message.contains(part), "\(outcome.message)")
        #expect(outcome.message.contains("127.0.0.1:\(proxy.port)"))
        #expect(await proxy.log.connections == 1, "the proxy's failures are not retried")
        #expect(await bench.dump() == before)
        expectNoSecrets(outcome, bench)
      }
    }
  }

  @Test func `secure connections go through the tunnel of a proxy`() async throws {
    let script: [RawServer.Step] = [
      .request, .send("HTTP/1.1 200 Connection established\r\n\r\n"), .bytes(5),
    ]
    try await RawServer.withServer(script) { proxy in
      let chain = chain("proxy: \"http://127.0.0.1:\(proxy.port)\"")
      try await Bench.with(chain, url: "https://server.invalid/graphql") { bench in
        async let outcome = bench.run()
        let hello = await proxy.log.bytes()
        #expect(hello.first == 22, "what follows in the tunnel is a TLS handshake")
        let requests = await proxy.log.requests
        #expect(requests.first?.hasPrefix("CONNECT server.invalid:443 HTTP/1.1") == true)
        #expect(requests.first?.contains(Bench.canary) == false)
        _ = await outcome
      }
    }
  }

  @Test func `plain requests are sent to a proxy with their full URL`() async throws {
    let script: [RawServer.Step] = [
      .request, .send(HTTPText.response()), .request, .send(HTTPText.response()),
    ]
    try await RawServer.withServer(script) { proxy in
      let setup = Bench.Setup(variables: [
        "http_proxy": "http://user:p%40ss@127.0.0.1:\(proxy.port)"
      ])
      let chain = chain("proxy: environment")
      let url = "http://server.invalid:8080/graphql?a=b"
      try await Bench.with(chain, url: url, setup: setup) { bench in
        for _ in 0..<2 {
          let outcome = await bench.run(policy: .networkOnly)
          #expect(outcome.texts == [Bench.answered], "\(outcome.message)")
          expectNoSecrets(outcome, bench)
        }
        let requests = await proxy.log.requests
        #expect(requests.count == 2)
        for request in requests {
          let lines = request.split(separator: "\r\n").map(String.init)
          #expect(lines.first == "POST http://server.invalid:8080/graphql?a=b HTTP/1.1")
          #expect(lines.contains { $0.lowercased() == "host: server.invalid:8080" })
          #expect(lines.contains("Proxy-Authorization: Basic dXNlcjpwQHNz"))
        }
        #expect(await proxy.log.connections == 1, "the connection to the proxy is kept")
      }
    }
  }

  @Test func `a SOCKS proxy receives the name of the server`() async throws {
    let script: [RawServer.Step] = [
      // Greeting, and the choice of no credentials.
      .bytes(3), .send([5, 0]),
      // CONNECT by name, and that it stands.
      .bytes(4 + 1 + 14 + 2), .send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
      .request, .send(HTTPText.response()),
    ]
    try await RawServer.withServer(script) { proxy in
      let chain = chain("proxy: \"socks5h://127.0.0.1:\(proxy.port)\"")
      try await Bench.with(chain, url: "http://server.invalid/graphql") { bench in
        let outcome = await bench.run()
        #expect(outcome.texts == [Bench.answered], "\(outcome.message)")
        #expect(
          await proxy.log.bytes(1) == [5, 1, 0, 3, 14] + Array("server.invalid".utf8) + [0, 80])
        #expect(await proxy.log.requests.first?.hasPrefix("POST /graphql") == true)
      }
    }
  }

  @Test(arguments: ["https", "wss"])
  func `fault 38: a proxy that does not answer CONNECT`(_ scheme: String) async throws {
    try await RawServer.withServer([.request, .untilClosed]) { proxy in
      let chain = chain("connect_timeout: 50ms, proxy: \"http://127.0.0.1:\(proxy.port)\"")
      try await Bench.with(chain, url: "\(scheme)://server.invalid/graphql") { bench in
        let outcome = await bench.run()
        #expect(outcome.code == .proxyFailed)
        for part in ["did not answer CONNECT for server.invalid", "within 50ms"] {
          #expect(outcome.message.contains(part), "\(outcome.message)")
        }
      }
    }
  }

  @Test func `fault 38: a proxy that is not there`() async throws {
    try await HeldPort.with { port in
      try await Bench.with(
        chain("proxy: \"127.0.0.1:\(port)\""), url: "http://server.invalid/graphql"
      ) { bench in
        let outcome = await bench.run()
        #expect(outcome.code == .proxyFailed)
        #expect(outcome.message.contains("cannot connect to the proxy 127.0.0.1:\(port)"))
        #expect(outcome.message.contains("refused"))
      }
    }
  }

  private func proxies(_ variables: [String: String]) throws -> HTTPProxies {
    try HTTPProxies(environment: { variables[$0] })
  }

  @Test func `the environment is read as curl reads it`() throws {
    let all = try proxies([
      "HTTPS_PROXY": "http://user:p%40ss@Secure:8080/", "http_proxy": "plain:3128",
      "HTTP_PROXY": "http://attacker:1", "NO_PROXY": "localhost, .internal.example,[::1]",
    ])
    let secure = all.proxy(scheme: "https", authority: "api.example.com")
    #expect(secure?.host == "Secure" && secure?.port == 8080 && secure?.user == "user")
    #expect(secure?.password?.reveal() == "p@ss")
    #expect("\(secure.map { "\($0)" } ?? "")" == "Secure:8080")
    #expect(all.proxy(scheme: "http", authority: "api.example.com:80")?.host == "plain")
    for host in ["localhost:4000", "INTERNAL.example", "a.internal.example:1", "[::1]:80"] {
      #expect(all.proxy(scheme: "https", authority: host) == nil, "\(host)")
    }
    #expect(all.proxy(scheme: "https", authority: "notinternal.example") != nil)
    #expect(try proxies(["HTTP_PROXY": "x"]).proxy(scheme: "http", authority: "a") == nil)
    let some = try proxies(["ALL_PROXY": "all", "no_proxy": "*"])
    #expect(some.https?.port == 1080 && some.proxy(scheme: "https", authority: "a") == nil)
  }

  @Test(arguments: [
    ("p%40ss%3a", "p@ss:"), ("100%", "100%"), ("%", "%"), ("50%zz%41%2", "50%zzA%2"),
    ("%%41%c3%bc", "%Aü"), ("a:b", "a:b"), ("", ""),
  ]) func `a percent sign in a password that begins no escape is itself`(
    _ written: String, _ password: String
  ) throws {
    let all = try proxies(["ALL_PROXY": "http://user:\(written)@proxy:1"])
    #expect(all.https?.password?.reveal() == password)
  }

  @Test(arguments: [
    ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.1", false),
    ("192.168.7.128/25", "192.168.7.200", true), ("192.168.7.128/25", "192.168.7.100", false),
    ("fd00::/8", "[fd12::1]:80", true), ("[fd00::1]", "[fd00:0::1]", true),
    ("0.0.0.0/0", "8.8.8.8:1", true), ("0.0.0.0/0", "[::1]", false),
    ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "210.0.0.1", false), ("0.0.1", "10.0.0.1", false),
    ("10.0.0.0/33", "10.0.0.0", false), ("10.0.0.0/x", "10.0.0.0", false),
    ("10.0.0.0/8", "10.example.com", false),
  ]) func `ranges of addresses are asked without a proxy`(
    _ exception: String, _ authority: String, _ isDirect: Bool
  ) throws {
    let all = try proxies(["ALL_PROXY": "http://proxy:1", "NO_PROXY": exception])
    #expect((all.proxy(scheme: "https", authority: authority) == nil) == isDirect)
  }

  @Test(arguments: [
    ("https://proxy:1", "not https"), ("socks4://proxy:1", "not socks4"),
    ("socks5://user@proxy:1", "SOCKS"), ("http://:1", "no host"),
    ("proxy:99999", "port"), ("proxy:x", "port"),
  ]) func `what is no proxy is refused with its reason`(_ url: String, _ part: String) {
    expectEntry("fetch: { proxy: \"\(url)\" }", refusedWith: part)
  }

  @Test func `a password in the file is refused`() {
    expectEntry("fetch: { proxy: \"http://user:hunter22@proxy:1\" }", refusedWith: "secret")
  }
}
