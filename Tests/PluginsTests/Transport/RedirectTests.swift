import GQLRunPipeline
import HTTPTypes
import Testing

/// Faults 27 to 29, and redirects that are followed.
@Suite(.timeLimit(.minutes(10))) struct RedirectTests {
  private func moved(_ status: Int, _ location: String) -> [UInt8] {
    HTTPText.response(
      "\(status) Moved", type: nil, headers: ["Location: \(location)"], body: "")
  }

  @Test(arguments: [307, 308])
  func `a POST is followed to the same origin, as it was`(_ status: Int) async throws {
    let script: [RawServer.Step] = [
      .request, .send(moved(status, "/v2/graphql?x=1")), .request, .send(HTTPText.response()),
    ]
    try await Bench.withServer(script, chain: Bench.fetching("redirects: same-origin")) {
      bench, server in
      let outcome = await bench.run(Bench.rename)
      #expect(outcome.failure == nil || outcome.code == .malformedResponse)
      let requests = await server.log.requests
      #expect(requests.count == 2 && requests[1].hasPrefix("POST /v2/graphql?x=1 HTTP/1.1"))
      #expect(requests[1].contains("Bearer \(Bench.canary)") && requests[1].contains("rename"))
      #expect(await server.log.connections == 1, "the connection is used again")
    }
  }

  @Test(arguments: [301, 302, 303])
  func `fault 27: no redirect turns a POST into a GET`(_ status: Int) async throws {
    try await Bench.withServer(
      [.request, .send(moved(status, "/v2"))], chain: Bench.fetching("redirects: any-origin")
    ) { bench, server in
      let outcome = await bench.run()
      #expect(outcome.code == .redirectRefused)
      #expect(outcome.failure?.http?.status == status)
      #expect(outcome.message.contains("would turn the POST into a GET (\(status))"))
      #expect(await server.log.requests.count == 1)
      #expect(await bench.dump() == "")
      expectNoSecrets(outcome, bench)
    }
  }

  @Test func `a GET is followed by any status`() async throws {
    let script: [RawServer.Step] = [
      .request, .send(moved(302, "/elsewhere")), .request, .send(HTTPText.response()),
    ]
    try await Bench.withServer(script, chain: Bench.fetching("redirects: same-origin")) {
      bench, server in
      let outcome = await bench.run { $0.method = .get }
      #expect(outcome.texts == [Bench.answered], "\(outcome.message)")
      #expect(await server.log.requests.last?.hasPrefix("GET /elsewhere") == true)
    }
  }

  @Test(arguments: [(301, "QUERY"), (302, "QUERY"), (303, "GET"), (307, "QUERY"), (308, "QUERY")])
  func `a QUERY is followed by any status, to its result with GET`(
    _ status: Int, _ method: String
  ) async throws {
    let script: [RawServer.Step] = [
      .request, .send(moved(status, "/elsewhere")), .request, .send(HTTPText.response()),
    ]
    try await Bench.withServer(script, chain: Bench.fetching("redirects: same-origin")) {
      bench, server in
      let outcome = await bench.run { $0.method = .query }
      #expect(outcome.texts == [Bench.answered], "\(outcome.message)")
      let requests = await server.log.requests
      #expect(requests.first?.hasPrefix("QUERY /graphql") == true)
      #expect(requests.last?.hasPrefix("\(method) /elsewhere") == true)
      #expect(requests.last?.contains(#""query":"#) == (method == "QUERY"))
    }
  }

  private static let secretFields = [
    "X-Auth-Key", "X-JWT", "X-Session", "Ocp-Apim-Subscription-Key",
  ]

  @Test func `fault 28: a redirect to another origin needs the option, and gets no secrets`()
    async throws
  {
    try await RawServer.withServer([.request, .send(HTTPText.response())]) { other in
      try await RawServer.withServer(
        [.request, .send(moved(307, "\(other.url)?key=hidden")), .untilClosed]
      ) { server in
        try await Bench.with(Bench.fetching("redirects: same-origin"), url: server.url) { bench in
          let outcome = await bench.run()
          #expect(outcome.code == .redirectRefused)
          #expect(outcome.message.contains("is another server"), "\(outcome.message)")
          #expect(!outcome.message.contains("hidden"))
          #expect(await other.log.connections == 0)
        }
        try await Bench.with(Bench.fetching("redirects: any-origin"), url: server.url) { bench in
          let outcome = await bench.run {
            $0.additionalHeaders[.cookie] = "session=1"
            $0.additionalHeaders[.acceptLanguage] = "pt"
            for name in Self.secretFields {
              $0.additionalHeaders[HTTPField.Name(name) ?? .cookie] = "field-secret"
            }
            // Open by its name, and secret as the run knows its value.
            $0.additionalHeaders[HTTPField.Name("X-Plain") ?? .cookie] = "id \(Bench.canary)"
          }
          #expect(outcome.texts == [Bench.answered], "\(outcome.message)")
          let request = await other.log.requests.first ?? ""
          #expect(request.hasPrefix("POST /graphql?key=hidden"))
          #expect(!request.contains(Bench.canary) && !request.lowercased().contains("cookie"))
          #expect(request.contains("pt"))
          #expect(!request.contains("field-secret"), "\(request)")
          #expect(await server.log.requests.last?.contains("field-secret") == true)
        }
      }
    }
  }

  @Test func `fault 29: a redirect loop ends after as many as the file allows`() async throws {
    let hop: [RawServer.Step] = [.request, .send(moved(308, "/graphql"))]
    try await Bench.withServer(
      hop + hop + hop + hop + hop, chain: Bench.fetching("redirects: same-origin, max_redirects: 2")
    ) { bench, server in
      let outcome = await bench.run()
      #expect(outcome.code == .redirectRefused)
      #expect(outcome.message.contains("exceeds the limit of 2 redirects"))
      #expect(await server.log.requests.count == 3)
    }
  }

  @Test(arguments: [
    ("file:///etc/passwd", "neither https nor http"), ("ftp://x/", "neither https nor http"),
    ("http://", "is not a URL"),
    ("http://ada:hidden@localhost/@", "to http://•••@localhost/@, which contains credentials"),
    ("//ada@localhost/#hidden", "to //•••@localhost/, which contains credentials"),
  ]) func `fault 29: other schemes are not followed`(_ target: String, _ part: String)
    async throws
  {
    try await Bench.withServer(
      [.request, .send(moved(307, target))], chain: Bench.fetching("redirects: any-origin")
    ) { bench, _ in
      let outcome = await bench.run()
      #expect(outcome.code == .redirectRefused)
      #expect(outcome.message.contains(part), "\(outcome.message)")
      #expect(!outcome.message.contains("hidden"))
    }
  }

  @Test func `fault 29: no redirect leads from https to http`() async throws {
    let network = FakeNetwork(
      .response(307, headers: ["Location": "http://localhost/graphql"]), .ok)
    try await Bench.with(
      Bench.fetching("redirects: any-origin"), url: "https://localhost/graphql",
      setup: .init(transport: network)
    ) { bench in
      let outcome = await bench.run()
      #expect(outcome.code == .redirectRefused)
      #expect(outcome.message.contains("would continue without encryption"))
      #expect(await network.count == 1)
    }
  }
}
