import GQLRunDemoServer
import GQLRunPipeline
import GQLRunTestSupport
import HTTPTypes
import Testing

/// The method QUERY (RFC 10008), and POST where an endpoint refuses a method or a URL.
@Suite(.timeLimit(.minutes(10))) struct QueryMethodTests {
  struct Run: Sendable {
    var methods: [String]
    var outcomes: [Outcome]
  }

  private static func setup(_ method: Endpoint.Method) -> Bench.Setup {
    var setup = Bench.Setup(clock: ServiceClock(TestClock.jumping()))
    setup.change = { $0.endpoint?.method = method }
    return setup
  }

  private func run(
    _ method: Endpoint.Method, _ answers: FakeNetwork.Answer..., chain: String = Bench.plain,
    documents: [String] = [Bench.user]
  ) async throws -> Run {
    let network = FakeNetwork(answers)
    var setup = Self.setup(method)
    setup.transport = network
    return try await Bench.with(chain, setup: setup) { bench in
      var outcomes: [Outcome] = []
      for document in documents { outcomes.append(await bench.run(document)) }
      return Run(
        methods: await network.requests.map(\.head.method.rawValue), outcomes: outcomes)
    }
  }

  @Test(
    arguments: [405, 501], ["application/json", "application/graphql-response+json", "text/html"])
  func `an endpoint without QUERY gets POST, at once for all later queries`(
    _ status: Int, _ type: String
  ) async throws {
    let refusal = FakeNetwork.Answer.body(
      #"{"errors":[{"message":"no"}]}"#, status: status, type: type, headers: ["Allow": "POST"])
    let run = try await run(.query, refusal, .ok, documents: [Bench.user, Bench.user])
    #expect(run.methods == ["QUERY", "POST", "POST"])
    #expect(run.outcomes.map(\.texts) == [[Bench.answered], [Bench.answered]])
  }

  @Test(arguments: [400, 404, 414, 415, 500])
  func `other statuses are those of the query`(_ status: Int) async throws {
    let run = try await run(.query, .response(status), .ok)
    #expect(run.methods == ["QUERY"])
    #expect(run.outcomes[0].failure?.http?.status == status)
  }

  @Test func `the status of the POST is final`() async throws {
    let run = try await run(.query, .response(405))
    #expect(run.methods == ["QUERY", "POST"])
    #expect(run.outcomes[0].failure?.http?.status == 405)
  }

  @Test func `a URL that is too long for the server becomes a POST, for this query only`()
    async throws
  {
    let run = try await run(
      .get, .response(414), .ok, .ok, documents: [Bench.user, Bench.user])
    #expect(run.methods == ["GET", "POST", "GET"])
    #expect(run.outcomes.map(\.texts) == [[Bench.answered], [Bench.answered]])
    let refused = try await self.run(.get, .response(405), .ok)
    #expect(refused.methods == ["GET"])
  }

  @Test func `mutations are sent by POST`() async throws {
    let run = try await run(
      .query, .body(#"{"data":{"rename":{"__typename":"User","id":"1","name":"Eva"}}}"#),
      documents: [Bench.rename])
    #expect(run.methods == ["POST"] && run.outcomes[0].error == nil)
  }

  @Test func `a QUERY is retried like any query`() async throws {
    let run = try await run(
      .query, .response(503), .failure(.connectionClosed, .unknown), .ok, chain: Bench.retrying)
    #expect(run.methods == ["QUERY", "QUERY", "QUERY"])
    #expect(run.outcomes[0].texts == [Bench.answered])
  }

  @Test func `a server gets a QUERY with a body, and a POST after it has refused it`() async throws
  {
    let query = #"query User { user(id: "U_1") { id login } }"#
    try await DemoServer.withServer { server in
      try await Bench.with(url: server.url, setup: Self.setup(.query)) { bench in
        for _ in 0..<2 { #expect(await bench.run(query).error == nil) }
      }
      #expect(server.log.requests.map(\.method) == ["QUERY", "QUERY"])
      #expect(server.log.requests.allSatisfy { $0.bodyText.contains("login") })
      server.log.clear()
      let url = "\(server.url)?status=405&times=1"
      try await Bench.with(url: url, setup: Self.setup(.query)) { bench in
        for _ in 0..<2 { #expect(await bench.run(query).error == nil) }
      }
      #expect(server.log.requests.map(\.method) == ["QUERY", "POST", "POST"])
    }
  }
}
