import GQLRunPipeline
import Testing

@Suite(.timeLimit(.minutes(10))) struct ParsePluginTests {
  private func run(_ entry: String, _ body: String) async throws -> (
    Outcome, before: String, after: String
  ) {
    let chain = Bench.plain.replacing("- parse", with: "- \(entry)")
    return try await Bench.with(chain, setup: .init(transport: FakeNetwork(.body(body)))) { bench in
      try await bench.prime()
      let before = await bench.dump()
      return (await bench.run(), before, await bench.dump())
    }
  }

  private static let deep =
    #"{"data":{"user":null},"x":\#(String(repeating: "[", count: 9))1\#(String(repeating: "]", count: 9))}"#
  private static let long = HTTPText.user.replacing("Ada", with: String(repeating: "A", count: 100))

  /// An option, the highest value that refuses a body, and its unit.
  @Test(arguments: [("max_depth", 9, "", deep), ("max_string", 99, "B", long)])
  func `nesting and strings are limited`(
    _ option: String, _ limit: Int, _ unit: String, _ body: String
  ) async throws {
    let (refused, before, after) = try await run("parse: { \(option): \(limit)\(unit) }", body)
    #expect(refused.code == .malformedResponse)
    #expect(refused.message.contains("\(limit)"), "\(refused.message)")
    #expect(!refused.message.contains("not valid JSON"), "\(refused.message)")
    #expect(
      refused.message.contains("; raise `\(option)` of the plugin `parse`; the server answered"),
      "\(refused.message)")
    #expect(after == before)
    let (read, _, _) = try await run("parse: { \(option): \(limit + 1)\(unit) }", body)
    #expect(read.results.count == 1, "\(read.message)")
  }

  @Test func `errors that are too large name the option that limits them`() async throws {
    let body = #"{"data":{"user":null},"errors":[{"message":"short"},{"message":"short"}]}"#
    let (refused, _, _) = try await run("parse: { max_string: 20B }", body)
    #expect(refused.code == .malformedResponse)
    #expect(
      refused.message.contains("; raise `max_string` of the plugin `parse`"), "\(refused.message)")
  }

  @Test func `a secret that the server repeats is hidden in errors and extensions, and data stay`()
    async throws
  {
    let escaped = #"canary\u002d7f3a91"#
    let body =
      #"{"data":{"user":{"__typename":"User","id":"1","name":"\#(Bench.canary)"}},"#
      + #""errors":[{"message":"a \#(Bench.canary)","path":["user"],"#
      + #""extensions":{"code":"X","debug":{"headers":["Bearer \#(escaped)"],"\#(Bench.canary)":1}}}],"#
      + #""extensions":{"trace":{"token":"\#(Bench.canary)"}}}"#
    let (outcome, _, _) = try await run("parse", body)
    #expect(
      outcome.texts == [
        #"{"data":{"user":{"id":"1","name":"\#(Bench.canary)"}},"#
          + #""errors":[{"message":"a •••","path":["user"],"#
          + #""extensions":{"code":"X","debug":{"headers":["•••"],"•••":1}}}],"#
          + #""extensions":{"trace":{"token":"•••"}}}"#
      ])
  }

  /// Everything up to the last byte is too little, and leaves the cache as it was.
  @Test func `a body that ends after any byte leaves the cache as it was`() async throws {
    let whole = Array(HTTPText.user.utf8)
    for count in 0..<whole.count {
      let (outcome, before, after) = try await run(
        "parse", String(decoding: whole.prefix(count), as: UTF8.self))
      #expect(outcome.results.isEmpty)
      #expect(outcome.code == (count == 0 ? .malformedResponse : .truncatedResponse))
      #expect(after == before)
    }
  }

  @Test func `a document without a prepared operation is parsed all the same`() async throws {
    try await Bench.with(setup: .init(transport: FakeNetwork(.ok))) { bench in
      let outcome = await bench.outcome(of: GraphQLRequest(document: Bench.user))
      #expect(outcome.texts == [Bench.answered], "\(outcome.message)")
    }
  }

  @Test func `a body in a coding that was not asked for is refused`() async throws {
    let setup = Bench.Setup(
      transport: FakeNetwork(.body("x", headers: ["Content-Encoding": "br"])))
    try await Bench.with(setup: setup) { bench in
      let outcome = await bench.run()
      #expect(outcome.code == .malformedResponse)
      #expect(outcome.message.contains("br"))
    }
  }

  // MARK: Locations

  /// `Bench.user` as it is sent has its fields on lines of their own, and `__typename` among them.
  private static let located =
    #"{"errors":[{"message":"no","locations":[{"line":5,"column":5},{"line":3,"column":5},{"line":99,"column":1}]}]}"#
  private static let wanted =
    #""locations":[{"line":1,"column":33},{"line":1,"column":28},{"line":99,"column":1}]"#

  @Test func `locations of errors are those of the document the caller wrote`() async throws {
    let (outcome, _, _) = try await run("parse", Self.located)
    #expect(outcome.texts.count == 1 && outcome.texts[0].contains(Self.wanted), "\(outcome.texts)")
  }

  @Test func `locations in a refused response are mapped, too`() async throws {
    let setup = Bench.Setup(transport: FakeNetwork(.body(Self.located, status: 400)))
    let outcome = try await Bench.with(setup: setup) { await $0.run() }
    #expect(outcome.message.contains(#""locations":[{"line":1,"column":33}"#), "\(outcome.message)")
  }

  @Test func `a document that is sent as it is keeps its locations`() async throws {
    try await Bench.with(setup: .init(transport: FakeNetwork(.body(Self.located)))) { bench in
      let outcome = await bench.outcome(of: GraphQLRequest(document: Bench.user))
      #expect(outcome.texts.first?.contains(#"{"line":5,"column":5}"#) == true, "\(outcome.texts)")
    }
  }
}
