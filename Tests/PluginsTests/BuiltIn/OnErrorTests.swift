import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes
import Testing

/// The options `on_error` and `force_on_error` of `fetch`.
@Suite(.timeLimit(.minutes(10))) struct OnErrorTests {
  private static let supported = FakeNetwork.Answer.body(
    """
    {"data":{"__service":{"capabilities":[{"identifier":"other"},{"identifier":"graphql.onError"}]}}}
    """)
  private static let unsupported = FakeNetwork.Answer.body(
    #"{"data":{"__service":{"capabilities":[{"identifier":"other"}]}}}"#)

  private struct Run: Sendable {
    var outcomes: [Outcome]
    var requests: [HTTPRequestMessage]
    /// The members of each request's body or URL.
    var members: [JSONObject]

    /// Which requests ask for capabilities, and the `onError` of the others.
    var forms: [String] {
      members.map { members in
        members["query"]?.stringValue?.contains("__service") == true
          ? "question" : members["onError"]?.stringValue ?? "none"
      }
    }
  }

  private func run(
    _ options: String, _ answers: FakeNetwork.Answer..., documents: [String] = [Bench.user],
    above: String = "", change: @Sendable (inout GraphQLRequest) -> Void = { _ in }
  ) async throws -> Run {
    let network = FakeNetwork(answers)
    let chain = Bench.plain.replacing("- fetch", with: "\(above)- fetch: { \(options) }")
    let outcomes = try await Bench.with(chain, setup: .init(transport: network)) { bench in
      var outcomes: [Outcome] = []
      for document in documents { outcomes.append(await bench.run(document, change: change)) }
      return outcomes
    }
    let requests = await network.requests
    let bodies = try requests.map { request in
      try JSONValue(parsing: request.body ?? Array("{}".utf8)).objectValue ?? [:]
    }
    return Run(outcomes: outcomes, requests: requests, members: bodies)
  }

  @Test(arguments: [("null", "NULL"), ("propagate", "PROPAGATE"), ("halt", "HALT")])
  func `the value is sent to a server that announces its support`(
    option: String, value: String
  ) async throws {
    let run = try await run(
      "on_error: \(option)", Self.supported, .ok, documents: [Bench.user, Bench.user])
    #expect(run.forms == ["question", value, value])
    #expect(run.outcomes.map(\.texts) == [[Bench.answered], [Bench.answered]])
  }

  @Test func `nothing is asked without the option`() async throws {
    let run = try await run("timeout: 1s", .ok)
    #expect(run.forms == ["none"])
  }

  @Test func `a forced value is sent without a question`() async throws {
    let run = try await run("on_error: \"null\", force_on_error: true", .ok)
    #expect(run.forms == ["NULL"])
  }

  @Test(arguments: [
    Self.unsupported,
    .body(#"{"errors":[{"message":"Cannot query field \"__service\" on type \"Query\"."}]}"#),
    .body(
      #"{"errors":[{"message":"no","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}],"data":null}"#
    ),
    .body(
      #"{"errors":[{"message":"field '__service' not found in type: 'query_root'"}]}"#, status: 422),
  ])
  func `a request is refused if the server does not announce its support`(
    answer: FakeNetwork.Answer
  ) async throws {
    let run = try await run(
      "on_error: null", answer, documents: [Bench.user, Bench.rename])
    #expect(run.forms == ["question"])
    #expect(run.outcomes.map(\.code) == [.onErrorNotSupported, .onErrorNotSupported])
    let failure = try #require(run.outcomes[1].failure)
    #expect(failure.entry == "fetch")
    #expect(failure.delivery == .notSent)
    #expect(
      failure.message
        == "Rename is not sent with `on_error: null`: the server does not announce the capability graphql.onError; "
        + "remove the option, or add `force_on_error: true` if the server supports it nevertheless")
  }

  /// A proxy may have answered, which does not know what the server supports.
  @Test(
    arguments: [
      .body(#"{"data":{"__service":null}}"#),
      .body("<h1>Bad Request</h1>", status: 400, type: "text/html"),
    ] as [FakeNetwork.Answer])
  func `an unclear answer refuses a request, and the question is asked again`(
    answer: FakeNetwork.Answer
  ) async throws {
    let run = try await run(
      "on_error: null", answer, Self.supported, .ok, documents: [Bench.user, Bench.user])
    #expect(run.forms == ["question", "question", "NULL"])
    #expect(run.outcomes[0].code == .onErrorNotSupported)
    #expect(run.outcomes[1].texts == [Bench.answered])
  }

  @Test func `a failure to ask is that of the request, and the question is asked again`()
    async throws
  {
    let run = try await run(
      "on_error: halt", .response(503), Self.supported, .ok, documents: [Bench.user, Bench.user])
    #expect(run.forms == ["question", "question", "HALT"])
    #expect(run.outcomes[0].code == .httpStatus)
    #expect(run.outcomes[1].texts == [Bench.answered])
  }

  @Test func `errors of credentials are those of the request`() async throws {
    let refusal = FakeNetwork.Answer.body(
      #"{"errors":[{"message":"who?","extensions":{"code":"UNAUTHENTICATED"}}]}"#)
    let run = try await run("on_error: null", refusal)
    #expect(run.forms == ["question"])
    #expect(run.outcomes[0].results.first?.errors.first?.code == "UNAUTHENTICATED")
  }

  @Test(
    arguments: [
      .body(#"{"errors":[{"message":"who?","extensions":{"code":"UNAUTHENTICATED"}}]}"#),
      .response(401),
    ] as [FakeNetwork.Answer])
  func `a refusal is for the request that asked, and not for concurrent ones`(
    refusal: FakeNetwork.Answer
  ) async throws {
    // The other request waits for the first answer meanwhile.
    let network = FakeNetwork(refusal, Self.supported, .ok) {
      for _ in 0..<1_000 { await Task.yield() }
    }
    let chain = Bench.fetching("on_error: null")
    let outcomes = try await Bench.with(chain, setup: .init(transport: network)) { bench in
      async let first = bench.run { $0.additionalHeaders[.userAgent] = "a" }
      async let second = bench.run { $0.additionalHeaders[.userAgent] = "b" }
      return await [first, second]
    }
    #expect(outcomes.filter { $0.texts == [Bench.answered] }.count == 1)
    let fields = await network.requests.map { $0.head.headerFields[.userAgent] }
    #expect(fields.count == 3)
    #expect(Set(fields.prefix(2)) == ["a", "b"])
    #expect(fields.last == fields.dropFirst().first)
  }

  @Test func `the question has the header fields of the request`() async throws {
    let run = try await run("on_error: null", Self.supported, .ok) {
      $0.additionalHeaders[.userAgent] = "a"
    }
    #expect(run.requests.map { $0.head.headerFields[.userAgent] } == ["a", "a"])
  }

  @Test func `a GET has the value in its URL`() async throws {
    let run = try await run("on_error: null", Self.supported, .ok) { $0.method = .get }
    #expect(run.outcomes[0].texts == [Bench.answered])
    let last = try #require(run.requests.last)
    #expect(last.head.method == .get)
    #expect(last.head.path?.hasSuffix("&onError=NULL") == true)
  }

  @Test func `a batch of requests has the value in each`() async throws {
    let run = try await run(
      "on_error: null", Self.supported, .ok, above: "- http-batch: { window: 0s }\n")
    #expect(run.outcomes[0].texts == [Bench.answered])
    let last = try #require(run.requests.last)
    #expect(String(decoding: last.body ?? [], as: UTF8.self).contains(#""onError":"NULL""#))
  }

  @Test(arguments: [
    ("force_on_error: true", "there is no `on_error` that would be sent"),
    ("on_error: nothing", "null"), ("on_error:", "write a value"),
  ])
  func `wrong options are found`(options: String, message: String) {
    let findings = Bench.findings(Bench.fetching(options))
    #expect(findings.count == 1)
    #expect(findings.first?.contains(message) == true, "\(findings)")
  }
}
