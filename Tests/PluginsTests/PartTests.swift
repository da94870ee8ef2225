import Foundation
import GQLRunPipeline
import GQLRunTestSupport
import HTTPTypes
import Testing

/// Responses with `@defer` and `@stream`, through a whole chain.
@Suite(.timeLimit(.minutes(10))) struct PartTests {
  private static let document = """
    query User { user(id: "1") { id name ... @defer(label: "bio") { bio } } }
    """
  private static let first = """
    {"data":{"user":{"__typename":"User","id":"1","name":"Ada"}},
     "pending":[{"id":"0","path":["user"],"label":"bio"}],"hasNext":true}
    """
  private static let last = """
    {"hasNext":false,"completed":[{"id":"0"}],"incremental":[{"data":{"bio":"…"},"id":"0"}]}
    """

  private static let end = "\r\n-----\r\n"

  /// A response with these parts.
  private static func parts(_ messages: [String], end: String = end) -> FakeNetwork.Answer {
    let parts = messages.map { "\r\n---\r\nContent-Type: application/json\r\n\r\n\($0)" }
    return .body(parts.joined() + end, type: #"multipart/mixed; boundary="-""#)
  }

  private func run(
    _ document: String = document, _ chain: String = Bench.plain, to answers: FakeNetwork.Answer...,
    setup: Bench.Setup = Bench.Setup(),
    change: @escaping @Sendable (inout GraphQLRequest) -> Void = { _ in },
    check: @Sendable (Outcome, Bench, FakeNetwork) async throws -> Void
  ) async throws {
    let network = FakeNetwork(answers)
    var setup = setup
    setup.transport = network
    try await Bench.with(chain, setup: setup) { bench in
      try await check(await bench.run(document, change: change), bench, network)
    }
  }

  @Test func `each part is a result that grows, and its records are in the store`() async throws {
    try await run(to: Self.parts([Self.first, Self.last])) { outcome, bench, _ in
      #expect(outcome.error == nil)
      #expect(
        outcome.texts
          == [Bench.answered, #"{"data":{"user":{"id":"1","name":"Ada","bio":"…"}}}"#])
      #expect(outcome.pending == [["bio"], []])
      #expect(await bench.dump().contains(#""bio":"…""#))
    }
  }

  @Test func `only operations with the directives accept parts`() async throws {
    try await run(to: .ok) { outcome, _, network in
      #expect(outcome.texts.count == 1)
      #expect(
        await network.requests.first?.head.headerFields[.accept]
          == "multipart/mixed;incrementalSpec=v0.2, multipart/mixed;deferSpec=20220824, "
          + "application/graphql-response+json, application/json;q=0.9")
    }
    try await run(Bench.user, to: .ok) { _, _, network in
      #expect(
        await network.requests.first?.head.headerFields[.accept]
          == "application/graphql-response+json, application/json;q=0.9")
    }
  }

  @Test func `parts that were not asked for are read, and a single part is a result`()
    async throws
  {
    try await run(Bench.user, to: Self.parts([HTTPText.user])) { outcome, _, _ in
      #expect(outcome.error == nil)
      #expect(outcome.texts == [Bench.answered])
    }
  }

  @Test(arguments: [
    #"{"errors":[{"message":"no"}]"#, #"{"data":null,"errors":[{"message":"no"}]"#,
  ])
  func `a first part without data has none, and one with null has it`(
    _ part: String
  ) async throws {
    try await run(to: Self.parts([part + #","hasNext":false}"#])) { outcome, _, _ in
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.texts == [part + "}"])
      #expect(outcome.delivered == [[part.contains("data") ? " null" : " "]])
    }
  }

  /// The messages of a streamed list with an element in each later part.
  private static let users =
    [#"{"data":{"users":[]},"pending":[{"id":"0","path":["users"]}],"hasNext":true}"#]
    + (1...3).map {
      #"{"incremental":[{"id":"0","items":[{"__typename":"User","id":"\#($0)","name":"n\#($0)"}]}],"hasNext":true}"#
    }

  private static func texts(_ counts: ClosedRange<Int>) -> [String] {
    counts.map { count in
      #"{"data":{"users":["#
        + (0..<count).map { #"{"id":"\#($0 + 1)","name":"n\#($0 + 1)"}"# }.joined(separator: ",")
        + "]}}"
    }
  }

  @Test(arguments: [
    (#"{"completed":[{"id":"0"}],"hasNext":false}"# + end, nil),
    (#"{"incremental":[{"id":"9","items":[]}],"hasNext":true}"#, "which is not pending"),
    (#"{"incremental":"#, "the response ended without its last boundary"),
  ])
  func `parts that arrive together are stored together, and each is a result`(
    _ last: String, _ message: String?
  ) async throws {
    try await run(
      "query Users { users @stream { id name } }", to: Self.parts(Self.users + [last], end: "")
    ) { outcome, bench, _ in
      let isWhole = message == nil
      // The last message of the whole response adds nothing.
      #expect(outcome.texts == Self.texts(0...3) + (isWhole ? Self.texts(3...3) : []))
      #expect(
        outcome.hasSummary == [true, true, false, false] + (isWhole ? [false] : []))
      #expect(outcome.failure?.message.contains(message ?? "") ?? isWhole, "\(outcome.message)")
      #expect(await bench.dump().contains(#""name":"n3""#))
    }
  }

  @Test func `a request without merged parts has what each part adds`() async throws {
    try await run(
      to: Self.parts([Self.first, Self.last]), change: { $0.mergesParts = false }
    ) { outcome, bench, _ in
      #expect(outcome.texts == ["{}", "{}"])
      #expect(
        outcome.delivered == [[#" {"user":{"id":"1","name":"Ada"}}"#], [#"bio {"bio":"…"}"#]])
      #expect(await bench.dump().contains(#""bio":"…""#))
    }
  }

  @Test(arguments: [
    ("", "the response ended without its last boundary"),
    (end, "the response ended before all its parts had arrived; missing: bio at user"),
  ])
  func `a broken response fails, and keeps what was committed`(
    _ rest: String, _ message: String
  ) async throws {
    try await run(to: Self.parts([Self.first], end: rest)) { outcome, bench, _ in
      #expect(outcome.texts.count == 1)
      #expect(outcome.code == .truncatedResponse)
      let text = outcome.failure?.message ?? ""
      #expect(text.contains(message))
      #expect(await bench.dump().contains(#""name":"Ada""#))
    }
  }

  private static let retrying =
    "- max-retry: { max_retries: 3, backoff: { base: 1ms } }\n" + Bench.bare

  @Test func `a broken query is retried from its start, a mutation is not`() async throws {
    let hurried = Bench.Setup(clock: ServiceClock(TestClock.jumping()))
    let broken = Self.parts([Self.first], end: "")
    let whole = Self.parts([Self.first, Self.last])
    try await run(Self.document, Self.retrying, to: broken, whole, setup: hurried) {
      outcome, _, network in
      #expect(outcome.error == nil)
      #expect(outcome.texts.last == #"{"data":{"user":{"id":"1","name":"Ada","bio":"…"}}}"#)
      #expect(await network.count == 2)
    }
    let mutation = Self.document.replacingOccurrences(of: "query User", with: "mutation Change")
    try await run(mutation, Self.retrying, to: broken, whole, setup: hurried) {
      outcome, _, network in
      #expect(outcome.code == .truncatedResponse)
      #expect(outcome.texts.count == 1)
      #expect(await network.count == 1)
    }
  }

  @Test(arguments: [CachePolicy.cacheFirst, .networkFirst])
  func `a broken stream is requested again, and not answered by the elements that arrived`(
    _ policy: CachePolicy
  ) async throws {
    let hurried = Bench.Setup(clock: ServiceClock(TestClock.jumping()))
    let chain =
      "- max-retry: { max_retries: 1, backoff: { base: 1ms } }\n- cache-read\n" + Bench.bare
    let broken = Self.parts(Array(Self.users.prefix(2)), end: "")
    let whole = Self.parts(Self.users + [#"{"completed":[{"id":"0"}],"hasNext":false}"#])
    for (last, isWhole) in [(whole, true), (broken, false)] {
      try await run(
        "query Users { users @stream { id name } }", chain, to: broken, last, setup: hurried,
        change: { $0.cachePolicy = policy }
      ) { outcome, _, network in
        #expect(await network.count == 2)
        #expect(outcome.results.allSatisfy { $0.source == .server })
        if isWhole {
          #expect(outcome.error == nil && outcome.texts.last == Self.texts(3...3).first)
        } else {
          #expect(outcome.code == .truncatedResponse, "\(outcome.message)")
        }
      }
    }
  }

  @Test func `a part that is longer than the limit is an error`() async throws {
    let long = String(repeating: "x", count: 2000)
    let part = #"{"hasNext":false,"incremental":[{"data":{"bio":"\#(long)"},"id":"0"}]}"#
    let chain = Bench.plain.replacingOccurrences(
      of: "- parse", with: "- parse: { max_event: 1KiB }")
    try await run(Self.document, chain, to: Self.parts([Self.first, part])) { outcome, _, _ in
      #expect(outcome.code == .limitExceeded)
      let text = outcome.failure?.message ?? ""
      #expect(text.contains("a message is longer than 1024 bytes"))
    }
  }
}
