import Pipeline
import Testing

/// Fault 38 and how proxies are chosen.
@Suite(.timeLimit(.minutes(1))) struct ProxyTests {
  private func chain(_ fetch: String) -> String {
    "- max-retry: { backoff: { base: 0s } }\n"
      + Bench.plain.replacing("- fetch", with: "- fetch: { \(fetch) }")
  }

  private func refusal(
    _ script: [RawServer.Step], _ part: String
  ) async throws {
    try await RawServer.withServer(script) { proxy in
      let chain = chain("proxy: \"http://127.0.0.1:\(proxy.port)\"")
      try await Bench.with(chain, url: "http://server.invalid/graphql") { bench in
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

  @Test func `requests go through the tunnel of a proxy`() async throws {
    let script: [RawServer.Step] = [
      .request, .send("HTTP/1.1 200 Connection established\r\n\r\n"), .request,
      .send(HTTPText.response()),
    ]
    try await RawServer.withServer(script) { proxy in
      let chain = chain("proxy: \"http://127.0.0.1:\(proxy.port)\"")
      try await Bench.with(chain, url: "http://server.invalid/graphql") { bench in
        let outcome = await bench.run()
        #expect(outcome.texts == [Bench.answered], "\(outcome.message)")
        let requests = await proxy.log.requests
        #expect(requests.first?.hasPrefix("CONNECT server.invalid:80 HTTP/1.1") == true)
        #expect(requests.first?.contains(Bench.canary) == false)
        #expect(requests.last?.hasPrefix("POST /graphql") == true)
      }
    }
  }

  @Test func `fault 38: a proxy that wants credentials`() async throws {
    try await refusal(
      [
        .request,
        .send(
          "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"
        ), .untilClosed,
      ], "wants credentials")
  }

  @Test func `fault 38: a proxy that refuses`() async throws {
    try await refusal(
      [
        .request, .send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
        .untilClosed,
      ], "opened no tunnel to http://server.invalid")
  }

  @Test func `fault 38: a proxy that is not there`() async throws {
    let port = try await RawServer.withServer([]) { $0.port }
    try await Bench.with(
      chain("proxy: \"127.0.0.1:\(port)\""), url: "http://server.invalid/graphql"
    ) { bench in
      let outcome = await bench.run()
      #expect(outcome.code == .proxyFailed)
      #expect(outcome.message.contains("cannot connect to the proxy 127.0.0.1:\(port)"))
      #expect(outcome.message.contains("refused"))
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
    ("https://proxy:1", "plain HTTP"), ("socks5://proxy:1", "socks5"), ("http://:1", "no host"),
    ("proxy:99999", "port"), ("proxy:x", "port"),
  ]) func `what is no proxy is refused with its reason`(_ url: String, _ part: String) {
    expectEntry("fetch: { proxy: \"\(url)\" }", refusedWith: part)
  }

  @Test func `a password in the file is refused`() {
    expectEntry("fetch: { proxy: \"http://user:hunter22@proxy:1\" }", refusedWith: "secret")
  }
}
