import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunTestSupport
import HTTPTypes
import Testing

@testable import GQLRunPlugins

@Suite(.timeLimit(.minutes(10))) struct HTTPBatchPluginTests {
  private static func request(
    _ number: Int, _ type: String = "query", policy: CachePolicy = .networkOnly
  ) throws -> GraphQLRequest {
    let document = "\(type) User($id: ID!) { user(id: $id) { id name } }"
    return GraphQLRequest(
      try PreparedOperation(
        document: Document(parsing: document), variables: ["id": .string("\(number)")]),
      cachePolicy: policy)
  }

  /// Uses a chain whose plugin has these options behind `max`.
  ///
  /// - Parameter clock: Does not advance unless the test advances it: a batch that fills slowly is not sent before.
  private func with(
    max options: String, _ network: ArrayNetwork, before: String = "",
    clock: ServiceClock = ServiceClock(TestClock()),
    body: @Sendable (Bench) async throws -> Void
  ) async throws {
    let chain = before + "- http-batch: { window: 10s, max: \(options) }\n" + Bench.bare
    let setup = Bench.Setup(clock: clock, transport: network)
    try await Bench.with(chain, url: "http://127.0.0.1:1/graphql", setup: setup, body: body)
  }

  /// Begins an operation.
  private static func start(
    _ number: Int, _ type: String = "query", on bench: Bench
  ) throws -> Task<Outcome, Never> {
    let request = try request(number, type)
    return Task { await bench.outcome(of: request) }
  }

  /// Runs operations at the same time; the window never ends by itself.
  private func run(
    _ count: Int, max: Int, _ network: ArrayNetwork, before: String = "", type: String = "query",
    clock: TestClock = TestClock(),
    body: @Sendable (Bench, [Outcome]) async throws -> Void
  ) async throws {
    try await with(max: "\(max)", network, before: before, clock: ServiceClock(clock)) { bench in
      let outcomes = try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
        for number in 0..<count {
          let request = try Self.request(number, type)
          group.addTask { (number, await bench.outcome(of: request)) }
        }
        var outcomes = [Outcome](repeating: Outcome(), count: count)
        for try await (number, outcome) in group { outcomes[number] = outcome }
        return outcomes
      }
      try await body(bench, outcomes)
    }
  }

  /// Runs the operations of these numbers at the same time, and expects their results.
  private func expectTexts(
    of numbers: Range<Int>, _ type: String = "query", on bench: Bench
  ) async throws {
    let tasks = try numbers.map { try Self.start($0, type, on: bench) }
    for (number, task) in zip(numbers, tasks) {
      #expect(await task.value.texts == [Self.text(number)])
    }
  }

  private static func text(_ number: Int) -> String {
    #"{"data":{"user":{"id":"\#(number)","name":"user \#(number)"}}}"#
  }

  @Test func `a thousand operations are sent in a hundred requests`() async throws {
    let network = ArrayNetwork()
    try await run(1_000, max: 10, network) { bench, outcomes in
      for (number, outcome) in outcomes.enumerated() {
        #expect(outcome.texts == [Self.text(number)], "\(outcome)")
      }
      #expect(await network.sizes == Array(repeating: 10, count: 100))
      // Every result is in the cache, written by itself.
      let dump = await bench.dump()
      #expect((0..<1_000).allSatisfy { dump.contains("user \($0)") })
    }
  }

  @Test func `an array may arrive in pieces of any size`() async throws {
    for size in [1, 2, 3, 7, 64] {
      let network = ArrayNetwork(pieceSize: size)
      try await run(5, max: 5, network) { _, outcomes in
        #expect(outcomes.map(\.texts) == (0..<5).map { [Self.text($0)] }, "\(size)")
      }
    }
  }

  @Test func `a batch that is not full is sent when its window ends`() async throws {
    let network = ArrayNetwork()
    let clock = TestClock()
    try await with(max: "3", network, clock: ServiceClock(clock)) { bench in
      try await expectTexts(of: 0..<3, on: bench)
      let last = try Self.start(3, on: bench)
      await clock.sleepers(1)
      clock.advance(by: .seconds(10))
      #expect(await last.value.texts == [Self.text(3)])
      // An operation alone is no array.
      #expect(await network.sizes == [3, 1])
      #expect(await network.wereArrays == [true, false])
    }
  }

  @Test func `one element's error is no other's`() async throws {
    let network = ArrayNetwork { number in
      number == 1 ? #"{"data":null,"errors":[{"message":"no such user"}]}"# : nil
    }
    try await run(3, max: 3, network) { bench, outcomes in
      #expect(outcomes[1].results.first?.errors.first?.message == "no such user")
      #expect(outcomes[0].texts == [Self.text(0)] && outcomes[2].texts == [Self.text(2)])
      #expect(outcomes[0].results.first?.errors == [])
      #expect(await bench.dump().contains("user 2"))
    }
  }

  @Test func `an element without data has none, and one with null has it`() async throws {
    let elements = [
      #"{"errors":[{"message":"no"}]}"#, #"{"data":null,"errors":[{"message":"no"}]}"#,
    ]
    let network = ArrayNetwork { $0 < 2 ? elements[$0] : nil }
    try await run(3, max: 3, network) { _, outcomes in
      #expect(outcomes.map(\.texts) == elements.map { [$0] } + [[Self.text(2)]])
    }
  }

  @Test(arguments: ["null", "17", #""text""#, "{}", "[]"])
  func `an element that is no response fails its operation only`(_ element: String) async throws {
    let network = ArrayNetwork { $0 == 0 ? element : nil }
    try await run(2, max: 2, network) { _, outcomes in
      #expect(outcomes[0].error != nil && outcomes[1].texts == [Self.text(1)], "\(outcomes)")
    }
  }

  @Test(arguments: 0..<3)
  func `fewer results than operations are an error for all of them`(_ missing: Int) async throws {
    let network = ArrayNetwork(answer: { $0 == missing ? "" : nil })
    try await run(3, max: 3, network) { _, outcomes in
      for outcome in outcomes {
        #expect(outcome.texts == [], "\(outcome)")
        #expect(outcome.message.contains("answered 2 of 3 operations"), "\(outcome)")
      }
    }
  }

  @Test func `a retry sends only what failed`() async throws {
    // The first two responses end within their second element.
    let network = ArrayNetwork(losses: 2)
    try await run(4, max: 2, network, before: "- max-retry: { backoff: { base: 0s } }\n") {
      _, outcomes in
      #expect(outcomes.map(\.texts) == (0..<4).map { [Self.text($0)] }, "\(outcomes)")
      let ids = await network.ids
      #expect(ids.map(\.count) == [2, 2, 2])
      #expect(Set(ids[2]) == [ids[0][1], ids[1][1]])
    }
  }

  static let noArrays = #"{"errors":[{"message":"no arrays here"}]}"#
  static let noArraysInArray = "[\(noArrays)]"

  @Test(
    arguments: [
      (200, noArrays), (400, noArrays), (405, noArrays), (413, noArrays), (415, noArrays),
      (422, noArrays), (501, noArrays), (400, noArraysInArray), (405, noArraysInArray),
      (406, noArraysInArray), (413, noArraysInArray), (415, noArraysInArray),
      (422, noArraysInArray), (501, noArraysInArray),
    ] as [(Int, String)])
  func `a server that refuses arrays gets single requests, and no further array`(
    _ status: Int, _ body: String
  ) async throws {
    let network = ArrayNetwork(refusal: status, refusalBody: body)
    try await run(3, max: 3, network) { bench, outcomes in
      #expect(outcomes.map(\.texts) == (0..<3).map { [Self.text($0)] })
      #expect(await network.sizes == [3, 1, 1, 1])
      let later = try Self.request(7)
      #expect(await bench.outcome(of: later).texts == [Self.text(7)])
      #expect(await network.sizes == [3, 1, 1, 1, 1])
    }
  }

  @Test(
    arguments: [401, 429, 503],
    [
      #"{"errors":[{"message":"no arrays here"}]}"#,
      #"[{"errors":[{"message":"no arrays here"}]}]"#,
    ])
  func `a status about something else fails each operation, and arrays continue`(
    _ status: Int, _ body: String
  ) async throws {
    let network = ArrayNetwork(refusal: status, refusalBody: body)
    try await run(2, max: 2, network) { bench, outcomes in
      #expect(outcomes.map { $0.failure?.http?.status } == [status, status])
      #expect(outcomes.allSatisfy { $0.message.contains("no arrays here") })
      #expect(await network.sizes == [2])
    }
  }

  @Test(arguments: [
    #"{"errors":[{"message":"busy","extensions":{"code":"THROTTLED"}}]}"#,
    #"{"data":null,"errors":[{"message":"busy","type":"RATE_LIMITED"}]}"#,
  ]) func `a rate limit error with the status 200 is that of each query, and arrays continue`(
    _ body: String
  ) async throws {
    let network = ArrayNetwork(refusal: 200, refusalBody: body)
    try await run(2, max: 2, network) { bench, outcomes in
      for outcome in outcomes {
        #expect(outcome.results.map { $0.errors.map(\.message) } == [["busy"]], "\(outcome)")
      }
      let later = try (2..<4).map { try Self.start($0, on: bench) }
      for task in later { #expect(await task.value.results.count == 1) }
      #expect(await network.sizes == [2, 2])
    }
  }

  @Test func `a rate limit error does not show mutations that arrays are refused`() async throws {
    let body = #"{"errors":[{"message":"busy","extensions":{"code":"RATE_LIMITED"}}]}"#
    let network = ArrayNetwork(refusal: 200, refusalBody: body)
    try await with(max: "2, mutations: true", network) { bench in
      for first in [0, 2] {
        try await expectTexts(of: first..<first + 2, "mutation", on: bench)
      }
    }
    // Two queries ask again.
    #expect(await network.wereArrays == [true, false, false, true, false, false])
    let later = ArrayNetwork(refusal: 200, refusedFrom: 1, refusalBody: body)
    try await runMutations(later, afterQueries: true) { outcomes in
      for outcome in outcomes {
        #expect(outcome.failure?.delivery == .unknown, "\(outcome)")
        #expect(outcome.message.contains("they are not sent again"), "\(outcome)")
        #expect(!outcome.message.contains("later ones"), "\(outcome)")
      }
    }
    #expect(await later.sizes == [2, 2])
  }

  @Test func `an endpoint that has answered an array gets further ones after an object`()
    async throws
  {
    let network = ArrayNetwork(refusal: 200, refusedFrom: 1)
    try await with(max: "2", network) { bench in
      for first in [0, 2, 4] {
        try await expectTexts(of: first..<first + 2, on: bench)
      }
    }
    #expect(await network.sizes == [2, 2, 1, 1, 2, 1, 1])
  }

  @Test func `a cancelled operation leaves the others alone`() async throws {
    let network = ArrayNetwork()
    let clock = TestClock()
    try await with(max: "3", network, clock: ServiceClock(clock)) { bench in
      let cancelled = try Self.start(0, on: bench)
      await clock.sleepers(1)
      cancelled.cancel()
      #expect(await cancelled.value.error is CancellationError)
      try await expectTexts(of: 1..<3, on: bench)
      #expect(await network.sizes == [2])
    }
  }

  @Test func `mutations are sent by themselves by default`() async throws {
    let single = ArrayNetwork()
    try await run(2, max: 2, single, type: "mutation") { _, outcomes in
      #expect(outcomes.allSatisfy { $0.error == nil })
    }
    #expect(await single.sizes == [1, 1])
    let shared = ArrayNetwork()
    try await runMutations(shared) { outcomes in
      #expect(outcomes.map(\.texts) == [[Self.text(0)], [Self.text(1)]])
    }
    // Two queries asked whether the server accepts arrays; the first mutations did not find it out.
    #expect(await shared.sizes == [2, 2])
    #expect(await shared.ids.map { $0.sorted() } == [["", ""], ["0", "1"]])
  }

  /// Runs two mutations that may share a request.
  private func runMutations(
    _ network: ArrayNetwork, afterQueries: Bool = false, before: String = "",
    body: @Sendable ([Outcome]) async throws -> Void
  ) async throws {
    try await with(max: "2, mutations: true", network, before: before) { bench in
      for type in afterQueries ? ["query", "mutation"] : ["mutation"] {
        async let first = bench.outcome(of: try Self.request(0, type))
        async let second = bench.outcome(of: try Self.request(1, type))
        let outcomes = try await [first, second]
        if type == "mutation" { try await body(outcomes) }
      }
    }
  }

  @Test(arguments: [200, 400, 501])
  func `a server that answers an array with one object executes each mutation once`(
    _ status: Int
  ) async throws {
    let network = ArrayNetwork(refusal: status)
    try await runMutations(network) { outcomes in
      #expect(outcomes.map(\.texts) == [[Self.text(0)], [Self.text(1)]])
    }
    #expect(await network.wereArrays == [true, false, false])
    #expect(await network.ids.first == ["", ""])
  }

  @Test(arguments: [200, 400])
  func `mutations of an array that was answered with one object are unknown, and not sent again`(
    _ status: Int
  ) async throws {
    let network = ArrayNetwork(refusal: status, refusedFrom: 1)
    try await runMutations(network, afterQueries: true) { outcomes in
      for outcome in outcomes {
        #expect(outcome.failure?.delivery == .unknown, "\(outcome)")
        #expect(outcome.failure?.leavesOutcomeUnknown == true, "\(outcome)")
        #expect(outcome.message.contains("whether it executed them is not known"), "\(outcome)")
      }
    }
    #expect(await network.sizes == [2, 2])
  }

  @Test(arguments: [
    #"[{"data":{"user":null}}]"#, #"[{"errors":[{"message":"no","path":["user"]}]}]"#,
  ])
  func `a refused token does not repeat mutations if an array of another length has results`(
    _ body: String
  ) async throws {
    let network = ArrayNetwork(refusal: 401, refusedFrom: 1, refusalBody: body)
    let refresh =
      "- max-retry: { backoff: { base: 0s } }\n"
      + #"- token-refresh: { command: "echo x >> ${env:DIR}/count; wc -l < ${env:DIR}/count" }"#
      + "\n"
    try await runMutations(network, afterQueries: true, before: refresh) { outcomes in
      #expect(outcomes.map { $0.failure?.http?.status } == [401, 401], "\(outcomes)")
    }
    #expect(await network.sizes == [2, 2])
  }

  @Test func `an array that is followed by text is an error for all operations`() async throws {
    let network = ArrayNetwork()
    await network.setTail(" x")
    try await run(3, max: 3, network) { _, outcomes in
      for outcome in outcomes {
        #expect(outcome.message.contains("3 operations of one request with an invalid JSON array"))
        #expect(outcome.failure?.code == .malformedResponse, "\(outcome)")
      }
    }
  }

  @Test(arguments: ["query", "mutation"])
  func `more results than operations are an error for all of them`(_ type: String) async throws {
    let network = ArrayNetwork()
    try await with(max: "4, mutations: true", network) { bench in
      // The first queries show that the server accepts arrays.
      for (surplus, type) in [(0, "query"), (1, type)] {
        await network.setSurplus(surplus)
        let tasks = try (0..<4).map { try Self.start($0, type, on: bench) }
        for (number, task) in tasks.enumerated() {
          let outcome = await task.value
          if surplus == 0 {
            #expect(outcome.texts == [Self.text(number)])
          } else {
            #expect(outcome.message.contains("answered 5 of 4 operations"), "\(outcome)")
            #expect(outcome.failure?.delivery == (type == "query" ? .answered : .unknown))
          }
        }
      }
    }
    #expect(await network.sizes == [4, 4])
  }

  @Test func `queries and mutations do not share a request`() async throws {
    let network = ArrayNetwork()
    try await runMutations(network, afterQueries: true) { outcomes in
      #expect(outcomes.map(\.texts) == [[Self.text(0)], [Self.text(1)]])
    }
    // What is accepted for queries is known for mutations.
    #expect(await network.sizes == [2, 2])
    let mixed = ArrayNetwork()
    try await with(max: "2, mutations: true", mixed) { bench in
      let tasks = try [("query", 0), ("mutation", 1), ("query", 2), ("mutation", 3)].map {
        try Self.start($1, $0, on: bench)
      }
      for (number, task) in tasks.enumerated() {
        #expect(await task.value.texts == [Self.text(number)])
      }
    }
    for ids in await mixed.ids where ids != ["", ""] {
      #expect(Set(ids) == ["0", "2"] || Set(ids) == ["1", "3"], "\(ids)")
    }
  }

  @Test func `operations with other header fields are not sent together`() async throws {
    let network = ArrayNetwork()
    try await with(max: "2", network) { bench in
      let tasks = try (0..<4).map { number in
        var request = try Self.request(number)
        request.additionalHeaders[.userAgent] = number < 2 ? "a" : "b"
        let sent = request
        return Task { await bench.outcome(of: sent) }
      }
      for task in tasks { #expect(await task.value.error == nil) }
      #expect(await network.sizes == [2, 2])
      #expect(Set(await network.agents) == ["a", "b"])
    }
  }

  @Test func `the plugin is refused below fetch`() {
    let findings = Bench.findings("- fetch\n- response-code\n- parse\n- http-batch")
    #expect(findings.contains { $0.contains("http-batch") }, "\(findings)")
  }
}

@Suite struct ArraySplitterTests {
  private func elements(_ text: String, cutAt cuts: [Int] = []) -> (texts: [String], ended: Bool) {
    var splitter = ArraySplitter()
    var texts: [String] = []
    let bytes = Array(text.utf8)
    var start = 0
    for end in cuts + [bytes.count] {
      let chunk = Array(bytes[start..<end])
      for part in chunk.withUnsafeBytes({ splitter.parts(of: $0) }) {
        while texts.count <= part.element { texts.append("") }
        texts[part.element] += String(decoding: chunk[part.range], as: UTF8.self)
      }
      start = end
    }
    return (texts, splitter.hasEnded)
  }

  @Test(arguments: [
    ("[]", []), (" [ ] ", []), ("[1]", ["1"]), ("[1 , 2]", ["1 ", "2"]),
    (#"[{"a":[1,2,{"b":"],}\""}]},null]"#, [#"{"a":[1,2,{"b":"],}\""}]}"#, "null"]),
    (#"["\\",",","]"]"#, [#""\\""#, #"",""#, #""]""#]), ("[[],[[]]]\n", ["[]", "[[]]"]),
  ]) func `elements are found, wherever the text is cut`(_ text: String, _ expected: [String]) {
    let count = text.utf8.count
    #expect(elements(text).texts == expected)
    for first in 0...count {
      for second in first...count {
        let found = elements(text, cutAt: [first, second])
        #expect(found.texts == expected && found.ended, "\(first) \(second)")
      }
    }
  }

  @Test(arguments: ["[1] x", "[1]]", "[1,]", "[1,,2]", "[,1]", "[,]", "[1}", "[}", "[[]}]"])
  func `an invalid array is refused, wherever the text is cut`(_ text: String) {
    let bytes = Array(text.utf8)
    for cut in 0...bytes.count {
      var splitter = ArraySplitter()
      for chunk in [bytes[..<cut], bytes[cut...]] {
        _ = Array(chunk).withUnsafeBytes { splitter.parts(of: $0) }
      }
      #expect(splitter.isMalformed && !splitter.hasEnded && splitter.isArray == true, "\(cut)")
    }
  }

  @Test(
    arguments: [("", nil), ("  ", nil), ("{", false), (" [", true), ("x[", false)]
      as [(String, Bool?)])
  func `other texts are no arrays`(_ text: String, _ isArray: Bool?) {
    var splitter = ArraySplitter()
    _ = Array(text.utf8).withUnsafeBytes { splitter.parts(of: $0) }
    #expect(splitter.isArray == isArray && !splitter.hasEnded)
  }
}

/// A network with a server that answers arrays of operations with arrays.
private actor ArrayNetwork: HTTPTransport {
  private let pieceSize: Int
  private let refusal: Int?
  private let refusalBody: String
  /// The index of the first request whose array is refused.
  private let refusedFrom: Int
  private var losses: Int
  /// The number of results too many in each array.
  private var surplus = 0
  /// What follows each array.
  private var tail = ""
  private let answer: @Sendable (Int) -> String?
  /// The users of the operations of each request.
  private(set) var ids: [[String]] = []
  private(set) var wereArrays: [Bool] = []
  private(set) var agents: [String] = []

  /// - Parameters:
  ///   - pieceSize: The size of the chunks of responses.
  ///   - refusal: The status of responses to arrays; `nil` accepts them.
  ///   - refusedFrom: The index of the first request whose array is refused.
  ///   - refusalBody: The body of responses to arrays that are refused.
  ///   - losses: The number of responses that end within their second element.
  ///   - answer: The response to the operation for a user; `nil` is the usual one, "" is none.
  init(
    pieceSize: Int = 1 << 20, refusal: Int? = nil, refusedFrom: Int = 0,
    refusalBody: String = #"{"errors":[{"message":"no arrays here"}]}"#, losses: Int = 0,
    answer: @escaping @Sendable (Int) -> String? = { _ in nil }
  ) {
    self.pieceSize = pieceSize
    self.refusal = refusal
    self.refusedFrom = refusedFrom
    self.refusalBody = refusalBody
    self.losses = losses
    self.answer = answer
  }

  func setSurplus(_ count: Int) { surplus = count }
  func setTail(_ text: String) { tail = text }

  /// The number of operations of each request.
  var sizes: [Int] { ids.map(\.count) }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let value = try JSONValue(parsing: request.body ?? [])
    let operations = value.arrayValue ?? [value]
    ids.append(operations.map { $0["variables"]?["id"]?.stringValue ?? "" })
    wereArrays.append(value.arrayValue != nil)
    agents.append(request.head.headerFields[.userAgent] ?? "")
    var head = HTTPResponse(status: .ok)
    head.headerFields[.contentType] = "application/json"
    if let refusal, value.arrayValue != nil, ids.count > refusedFrom {
      head.status = .init(code: refusal)
      return HTTPResponseMessage(head: head, body: HTTPBody([Array(refusalBody.utf8)]))
    }
    let texts = operations.compactMap { operation -> String? in
      let id = operation["variables"]?["id"]?.stringValue ?? ""
      let text = answer(Int(id) ?? 0)
      if text == "" { return nil }
      return text
        ?? #"{"data":{"user":{"__typename":"User","id":"\#(id)","name":"user \#(id)"}}}"#
    }
    let all = texts + Array(repeating: texts.first ?? "{}", count: surplus)
    var text = value.arrayValue == nil ? texts.joined() : "[\(all.joined(separator: ", "))]\(tail)"
    if losses > 0 {
      losses -= 1
      text = "[" + texts[0] + #",{"data":"#
    }
    let bytes = Array(text.utf8)
    let pieces = stride(from: 0, to: bytes.count, by: pieceSize).map {
      Array(bytes[$0..<min($0 + pieceSize, bytes.count)])
    }
    return HTTPResponseMessage(head: head, body: HTTPBody(pieces))
  }
}
