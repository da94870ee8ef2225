import Foundation
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

/// `exec`, with programs in the shell that every machine has.
@Suite(.timeLimit(.minutes(10))) struct ExecPluginTests {
  /// The program in the folder of the bench.
  private static let command = #"command: [sh, "${env:DIR}/plugin.sh"]"#

  /// Reads the question's number, which stands last, into `$id`.
  private static let id = #"id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\)}$/\1/')"#

  /// A program that answers every question but the greeting with `answer`.
  private static func answering(_ answer: String) -> String {
    """
    read -r start
    while read -r line; do
      \(id)
      \(answer)
    done
    """
  }

  /// - Parameter clock: Stands still unless it is moved: a busy machine takes no program's time away.
  private func with<Result: Sendable>(
    _ script: String, _ options: String = "", network: FakeNetwork = FakeNetwork(.ok),
    clock: TestClock = TestClock(),
    body: @Sendable (Bench, FakeNetwork) async throws -> Result
  ) async throws -> Result {
    let entry = "- exec: { \(Self.command)\(options.isEmpty ? "" : ", \(options)") }"
    // What may restart the chain needs a bound above it.
    let bound =
      options.contains("[failure") && !options.contains("stage: http") ? "- max-retry\n" : ""
    let chain =
      options.contains("stage: http")
      ? Bench.plain.replacing("- fetch", with: entry + "\n- fetch")
      : bound + entry + "\n" + Bench.plain
    return try await Bench.with(
      chain, setup: .init(clock: ServiceClock(clock), transport: network)
    ) { bench in
      try bench.write(script, to: "plugin.sh")
      return try await body(bench, network)
    }
  }

  @Test func `a program changes the fields of requests`() async throws {
    let answer = #"echo "{\"id\":$id,\"action\":\"continue\",\"headers\":{\"X-Tenant\":\"acme\"}}""#
    for stage in ["graphql", "http"] {
      try await with(Self.answering(answer), "stage: \(stage)") { bench, network in
        for _ in 0..<3 { #expect(await bench.run(policy: .networkOnly).error == nil) }
        let fields = await network.requests.map { request in
          request.head.headerFields.first { $0.name.rawName == "X-Tenant" }?.value
        }
        #expect(fields == ["acme", "acme", "acme"])
      }
    }
  }

  @Test func `a program receives the options of the file and the request`() async throws {
    let script = """
      exec 3>>"$(dirname "$0")/seen"
      read -r start; printf '%s\\n' "$start" >&3
      while read -r line; do
        printf '%s\\n' "$line" >&3
        \(Self.id)
        echo "{\\"id\\":$id,\\"action\\":\\"continue\\"}"
      done
      """
    try await with(script, "options: { key: [1, a] }, events: [request, response]") { bench, _ in
      #expect(await bench.run().error == nil)
      let lines = bench.text(of: "seen").split(separator: "\n")
      #expect(
        lines.first
          == #"{"event":"start","version":1,"stage":"graphql","options":{"key":[1,"a"]}}"#)
      #expect(lines.count == 3 && lines[1].contains(#""operation":{"name":"User","type":"query"}"#))
      #expect(lines[2].contains(#""event":"response""#) && lines[2].contains(#""source":"server""#))
    }
  }

  @Test func `a program gets each event of a subscription, and may replace, drop or refuse it`()
    async throws
  {
    let script = """
      exec 3>>"$(dirname "$0")/seen"
      read -r start
      while read -r line; do
        printf '%s\\n' "$line" >&3
        \(Self.id)
        case "$line" in
          *'"number":2,'*) echo "{\\"id\\":$id,\\"action\\":\\"drop\\"}" ;;
          *'"number":3,'*) echo "{\\"id\\":$id,\\"action\\":\\"answer\\",\\"data\\":{\\"user\\":null}}" ;;
          *'"number":4,'*) echo "{\\"id\\":$id,\\"action\\":\\"fail\\",\\"message\\":\\"enough\\"}" ;;
          *) echo "{\\"id\\":$id,\\"action\\":\\"continue\\"}" ;;
        esac
      done
      """
    let events = (1...5).map {
      #"data: {"data":{"user":{"__typename":"User","id":"\#($0)","name":"N\#($0)"}}}"#
    }
    let network = FakeNetwork(
      .events(events.map { "event: next\n\($0)\n\n" }.joined()), .ok)
    try await with(script, "events: [event]", network: network) { bench, _ in
      let outcome = await bench.run("subscription { user { __typename id name } }")
      #expect(outcome.texts.count == 2 && outcome.texts[0].contains("N1"), "\(outcome.texts)")
      #expect(outcome.texts[1] == #"{"data":{"user":null}}"#)
      #expect(outcome.message.contains("enough"))
      // What the program dropped or replaced is not stored.
      let dump = await bench.dump()
      #expect(dump.contains("N1") && !dump.contains("N2") && !dump.contains("N3"), "\(dump)")
      let lines = bench.text(of: "seen").split(separator: "\n")
      #expect(lines.count == 4)
      #expect(
        lines[0].contains(#""event":"event""#) && lines[0].contains(#""number":1"#)
          && lines[0].contains(#""data":{"user":{"__typename":"User","id":"1","name":"N1"}}"#))
      // The results of queries are no events.
      #expect(await bench.run().error == nil)
      #expect(bench.text(of: "seen").split(separator: "\n").count == 4)
    }
  }

  @Test func `the HTTP stage has no events`() {
    let found = Bench.findings(
      "- exec: { command: [a], stage: http, events: [event] }\n" + Bench.plain)
    #expect(
      found.contains { $0.contains("has no events") && $0.contains("stage: graphql") }, "\(found)")
  }

  @Test func `a program answers by itself, and refuses`() async throws {
    let user = #"{\"user\":{\"id\":\"9\",\"name\":\"Eve\"}}"#
    try await with(
      Self.answering(#"echo "{\"id\":$id,\"action\":\"answer\",\"data\":\#(user)}""#)
    ) { bench, network in
      #expect(await bench.run().texts == [#"{"data":{"user":{"id":"9","name":"Eve"}}}"#])
      #expect(await network.count == 0)
    }
    try await with(
      Self.answering(
        #"echo "{\"id\":$id,\"action\":\"answer\",\"body\":{\"data\":{\"user\":null}}}""#),
      "stage: http"
    ) { bench, network in
      #expect(await bench.run().texts == [#"{"data":{"user":null}}"#])
      #expect(await network.count == 0)
    }
    let refusal = #"echo "{\"id\":$id,\"action\":\"fail\",\"code\":\"no\",\"message\":\"never\"}""#
    try await with(Self.answering(refusal)) { bench, network in
      let outcome = await bench.run()
      #expect(outcome.code?.rawValue == "no" && outcome.message.contains("exec: never"))
      #expect(await network.count == 0)
    }
  }

  /// A program that writes what it gets to `seen`, and answers questions that match `pattern` with `answer`.
  private static func seeing(_ pattern: String, _ answer: String) -> String {
    """
    exec 3>>"$(dirname "$0")/seen"
    read -r start
    while read -r line; do
      printf '%s\\n' "$line" >&3
      \(id)
      case "$line" in
        \(pattern)) echo "{\\"id\\":$id,\(answer)}" ;;
        *) echo "{\\"id\\":$id,\\"action\\":\\"continue\\"}" ;;
      esac
    done
    """
  }

  private static let refused = FakeNetwork.Answer.body(#"{"reason":"rotated"}"#, status: 400)

  @Test func `a program gets failures, and may retry`() async throws {
    let script = Self.seeing(
      #"*'"attempt":1'*'"event":"failure"'*|*'"event":"failure"'*'"attempt":1'*"#,
      #"\"action\":\"retry\""#)
    let network = FakeNetwork(Self.refused, .ok)
    try await with(script, "events: [failure]", network: network) { bench, network in
      let outcome = await bench.run()
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(await network.count == 2)
      let seen = bench.text(of: "seen")
      for part in [
        #""event":"failure""#, #""layer":"transport""#, #""delivery":"answered""#,
        #""status":400"#, #"rotated"#,
      ] {
        #expect(seen.contains(part), "\(seen)")
      }
    }
    // Later failures are passed on.
    try await with(
      script, "events: [failure]", network: FakeNetwork(Self.refused, Self.refused, .ok)
    ) { bench, network in
      #expect(await bench.run().failure?.http?.status == 400)
      #expect(await network.count == 2)
      #expect(bench.text(of: "seen").split(separator: "\n").count == 2)
    }
  }

  @Test func `a document that cannot be parsed is found after the server has answered`()
    async throws
  {
    try await with(Self.seeing("none", ""), "events: [failure]") { bench, network in
      let outcome = await bench.outcome(of: GraphQLRequest(document: "mutation { a("))
      #expect(outcome.code == .invalidRequest && outcome.failure?.delivery == .answered)
      #expect(await network.count == 1)
      #expect(bench.text(of: "seen").contains(#""delivery":"answered""#))
    }
  }

  @Test func `a program answers failures with a result or another error`() async throws {
    let result = Self.seeing(
      #"*'"event":"failure"'*"#, #"\"action\":\"answer\",\"data\":{\"user\":null}"#)
    try await with(result, "events: [failure]", network: FakeNetwork(Self.refused)) { bench, _ in
      #expect(await bench.run().texts == [#"{"data":{"user":null}}"#])
    }
    let error = Self.seeing(
      #"*'"event":"failure"'*"#, #"\"action\":\"fail\",\"code\":\"moved\",\"message\":\"use v2\""#)
    try await with(
      error, "stage: http, events: [failure]",
      network: FakeNetwork(.failure(.connectionFailed, .notSent))
    ) { bench, _ in
      #expect(await bench.run().code?.rawValue == "moved")
    }
  }

  @Test func `a program gets the beginning of a body, and the response stays whole`() async throws {
    let script = Self.seeing("none", "")
    let options = "stage: http, events: [response], max_body: "
    try await with(script, options + "1KiB") { bench, _ in
      #expect(await bench.run().error == nil)
      let seen = bench.text(of: "seen")
      #expect(seen.contains(#""body_is_whole":true"#), "\(seen)")
    }
    try await with(script, options + "9B") { bench, _ in
      let outcome = await bench.run()
      #expect(outcome.error == nil && outcome.texts.count == 1, "\(outcome.message)")
      let seen = bench.text(of: "seen")
      #expect(seen.contains(#""body":"{\"data\":{""#), "\(seen)")
      #expect(seen.contains(#""body_is_whole":false"#))
    }
  }

  @Test func `a program gets no body of a subscription, whose events would wait for it`()
    async throws
  {
    let exec = "- exec: { \(Self.command), stage: http, events: [response], max_body: 1MiB }"
    // The subscription does not end: waiting for its body would not end either.
    let script: [RawServer.Step] =
      RawServer.Step.greeting + [.message(SocketTests.next("Ada")), .untilClosed]
    try await Bench.withServer(
      script, chain: Bench.plain.replacing("- fetch", with: exec + "\n- fetch"), isSocket: true,
      setup: .init(clock: ServiceClock(TestClock()))
    ) { bench, _ in
      try bench.write(Self.seeing("none", ""), to: "plugin.sh")
      var count = 0
      for try await _ in bench.runner.execute(try Bench.request(SocketTests.document)) {
        count += 1
        break
      }
      #expect(count == 1)
      let seen = bench.text(of: "seen")
      #expect(seen.contains(#""event":"response""#), "\(seen)")
      #expect(!seen.contains(#""body""#))
    }
  }

  private static let partial = FakeNetwork.Answer.body(
    #"{"data":{"user":{"__typename":"User","id":"1","name":null}},"#
      + #""errors":[{"message":"no","path":["user","name"],"extensions":{"code":"DENIED"}}],"#
      + #""extensions":{"cost":1}}"#)

  @Test func `a program rewrites errors, and the data stay and are stored`() async throws {
    let script = Self.seeing(
      #"*'"event":"response"'*"#,
      #"\"action\":\"answer\",\"errors\":[{\"message\":\"later\",\"path\":[\"user\",\"name\"]}]"#)
    try await with(script, "events: [response]", network: FakeNetwork(Self.partial)) { bench, _ in
      #expect(
        await bench.run().texts == [
          #"{"data":{"user":{"id":"1","name":null}},"#
            + #""errors":[{"message":"later","path":["user","name"]}],"extensions":{"cost":1}}"#
        ])
      #expect(await bench.dump().contains("User:1"))
      let seen = bench.text(of: "seen")
      #expect(
        seen.contains(
          #""errors":[{"message":"no","code":"DENIED","path":["user","name"],"extensions":{"code":"DENIED"}}]"#
        ),
        "\(seen)")
      #expect(!seen.contains(#""data""#))
    }
    // An answer with `data` is the whole result.
    let whole = Self.seeing(
      #"*'"event":"response"'*"#, #"\"action\":\"answer\",\"data\":{\"user\":null}"#)
    try await with(whole, "events: [response]", network: FakeNetwork(Self.partial)) { bench, _ in
      #expect(await bench.run().texts == [#"{"data":{"user":null}}"#])
      #expect(await !bench.dump().contains("User:1"))
    }
  }

  @Test func `a program gets the data of a response on request, up to a limit`() async throws {
    let script = Self.seeing("none", "")
    for (limit, part) in [
      ("1KiB", #""data":{"user":{"id":"1","name":"Ada"}},"data_is_whole":true"#),
      ("9B", #""data_is_whole":false"#),
    ] {
      try await with(script, "events: [response], max_data: \(limit)") { bench, _ in
        #expect(await bench.run().texts == [Bench.answered])
        let seen = bench.text(of: "seen")
        #expect(seen.contains(part), "\(seen)")
        #expect(seen.contains("Ada") == (limit == "1KiB"))
      }
    }
  }

  @Test(arguments: [
    (#"{"errors":[{"message":"no"}]}"#, false),
    (#"{"data":null,"errors":[{"message":"no"}]}"#, true),
  ])
  func `a program sees whether a response has data`(_ body: String, _ hasData: Bool) async throws {
    let script = Self.seeing("none", "")
    try await with(
      script, "events: [response], max_data: 1KiB", network: FakeNetwork(.body(body))
    ) { bench, _ in
      #expect(await bench.run().texts == [body])
      let seen = bench.text(of: "seen")
      #expect(seen.contains(#""data":null"#) == hasData, "\(seen)")
      #expect(seen.contains(#""data_is_whole":true"#))
    }
  }

  @Test func `a program that asks to retry a mutation that may have been executed gets no retry`()
    async throws
  {
    let script = Self.seeing(
      #"*'"event":"failure"'*|*'"event":"response"'*"#, #"\"action\":\"retry\""#)
    let refused = #"{"data":null,"errors":[{"message":"no"}]}"#
    let renamed = #"{"data":{"rename":{"name":"Bo"}}}"#
    for (answer, sends) in [
      (FakeNetwork.Answer.failure(.timedOut, .unknown), 1), (.response(504), 1),
      (.body(renamed), 1),
      (.body(#"{"data":{"rename":{"name":"Bo"}},"errors":[{"message":"no"}]}"#), 1),
      (.response(500, body: #"{"data":{"rename":{"name":"Bo"}}}"#), 1),
      (.response(500, body: #"{"errors":[{"message":"no","path":["rename"]}]}"#), 1),
      (.response(500, body: refused), 4),
      (
        .response(
          500, body: #"{"data":{"rename":{"name":"\#(String(repeating: "o", count: 2000))"}}}"#), 1
      ),
      (.failure(.connectionFailed, .notSent), 4), (.body(refused), 4),
    ] {
      // Three retries are what max-retry allows.
      try await with(script, "events: [failure, response]", network: FakeNetwork(answer)) {
        bench, network in
        let outcome = await bench.run(Bench.rename)
        #expect(await network.count == sends, "\(outcome.message)")
        #expect(
          bench.log.everything.contains("may have executed the mutation") == (sends == 1))
        #expect(sends > 1 || outcome.failure?.code != .tooManyAttempts)
      }
    }
  }

  @Test func `the message about a program has the end of its standard error, without secrets`()
    async throws
  {
    try await with("") { bench, _ in
      let setup = Bench.Setup(clock: ServiceClock(TestClock()))
      setup.secrets.insert(SecretString("hidden-7f"))
      let folder = bench.folder
      let script =
        "echo first >&2; printf 'not \\033[1mthere: hidden-7f\\n' >&2; read -r line; exit 2"
      try bench.write(script, to: "fails.sh")
      for (command, parts) in [
        ("[sh, \(folder)/missing.sh]", ["ended with status", "missing.sh"]),
        (
          "[sh, \(folder)/fails.sh]",
          [
            "ended with status 2 before it answered; its standard error: first | not \u{FFFD}[1mthere: •••"
          ]
        ),
      ] {
        try await Bench.with(
          "- exec: { command: \(command) }\n" + Bench.plain, setup: setup
        ) { bench in
          let message = await bench.run().message
          for part in parts { #expect(message.contains(part), "\(message)") }
          #expect(!message.contains("hidden-7f"))
        }
      }
    }
  }

  @Test func `a long standard error is cut in the message`() async throws {
    let script = "head -c 100000 /dev/zero | tr '\\0' x >&2; echo last >&2; read -r line; exit 2"
    try await with(script) { bench, _ in
      let message = await bench.run().message
      #expect(
        message.hasSuffix("xxlast") && message.contains("standard error: …xx"), "\(message)")
      #expect(message.count < 1_200)
    }
  }

  private static let twoMembers = "on one line: an object has two members with the same key"
  private static let tooManyFields =
    #"\"action\":\"continue\",\"headers\":{$(seq -f '"X-%g":"1"' -s , 1001)}"#

  @Test(
    arguments: [
      ("graphql", #"\"action\":\"answer\",\"data\":[1]"#, "with the array `data`"),
      ("graphql", #"\"action\":\"answer\",\"errors\":\"no\""#, "with the string `errors`"),
      ("graphql", #"\"action\":\"answer\""#, "without `data` and without `errors`"),
      ("graphql", #"\"action\":\"answer\",\"errors\":[]"#, "without `data` and without `errors`"),
      ("graphql", #"\"action\":\"answer\",\"errors\":null"#, "without `data` and without `errors`"),
      ("graphql", #"\"action\":\"continue\",\"context\":{\"a\":1}"#, "of type number in `context`"),
      ("graphql", #"\"action\":\"continue\",\"headers\":[\"X-A: 1\"]"#, "with the array `headers`"),
      ("graphql", tooManyFields, "more than 1000 header fields"),
      ("graphql", #"\"action\":\"continue\",\"action\":\"fail\""#, twoMembers),
      ("http", #"\"action\":\"answer\",\"status\":\"200\""#, "with the string `status`"),
      ("http", #"\"action\":\"answer\",\"status\":200.5"#, "with the status 200.5"),
      ("http", #"\"action\":\"continue\",\"remove\":[1]"#, "of type number in `remove`"),
      (
        "graphql", #"\"action\":\"continue\",\"headers\":{\"Content-Length\":\"3\"}"#,
        "some follow from the body that is sent"
      ),
      (
        "http", #"\"action\":\"continue\",\"headers\":{\"transfer-encoding\":\"chunked\"}"#,
        "some follow from the body that is sent"
      ),
    ] as [(String, String, String)])
  func `an answer with members of other types, too many fields or a member twice is an error`(
    _ stage: String, _ answer: String, _ problem: String
  ) async throws {
    try await with(Self.answering(#"echo "{\"id\":$id,\#(answer)}""#), "stage: \(stage)") {
      bench, network in
      let outcome = await bench.run()
      #expect(outcome.code == .execFailed)
      #expect(outcome.message.contains(problem), "\(outcome.message)")
      #expect(await network.count == 0)
    }
  }

  @Test func `a program sets a field of a request that has a thousand`() async throws {
    let answer = #"echo "{\"id\":$id,\"action\":\"continue\",\"headers\":{\"X-Tenant\":\"acme\"}}""#
    let headers = (0..<1_000).map { "X-\($0): a" }.joined(separator: ", ")
    let entries = """
      - headers: { set: { \(headers) } }
      - exec: { \(Self.command), stage: http }
      - fetch
      """
    let network = FakeNetwork(.ok)
    let setup = Bench.Setup(clock: ServiceClock(TestClock()), transport: network)
    let chain = Bench.bare.replacing("- fetch", with: entries)
    try await Bench.with(chain, setup: setup) { bench in
      try bench.write(Self.answering(answer), to: "plugin.sh")
      let outcome = await bench.run()
      #expect(outcome.error == nil, "\(outcome.message)")
      let fields = await network.requests.first?.head.headerFields ?? [:]
      let tenant = fields.first { $0.name.rawName == "X-Tenant" }?.value
      #expect(fields.count > 1_000 && tenant == "acme")
    }
  }

  @Test(arguments: [
    (
      "graphql",
      #"\"action\":\"continue\",\"status\":\"ok\",\"code\":0,\"data\":\"x\",\"remove\":1"#
    ),
    ("http", #"\"action\":\"continue\",\"status\":\"ok\",\"data\":\"x\",\"context\":1"#),
    ("http", #"\"action\":\"answer\",\"data\":\"x\",\"body\":{\"data\":{\"user\":null}}"#),
  ])
  func `a member of an answer that has no meaning there may have any type`(
    _ stage: String, _ answer: String
  ) async throws {
    let script = Self.answering(#"echo "{\"id\":$id,\#(answer)}""#)
    try await with(script, "stage: \(stage)") { bench, _ in
      let outcome = await bench.run()
      #expect(outcome.error == nil && outcome.texts.count == 1, "\(outcome.message)")
    }
  }

  @Test(arguments: [#"{\"query\":\"{ a }\"}"#, #"\"{\\\"query\\\":\\\"{ a }\\\"}\""#])
  func `a program replaces the body of a request by text or JSON`(_ body: String) async throws {
    let answer = #"printf '%s\n' "{\"id\":$id,\"action\":\"continue\",\"body\":\#(body)}""#
    try await with(Self.answering(answer), "stage: http") { bench, network in
      _ = await bench.run()
      #expect(await network.requests.first?.body == Array(#"{"query":"{ a }"}"#.utf8))
    }
  }

  @Test(arguments: [#"\"status\":99"#, #"\"headers\":{\"X Y\":\"1\"}"#])
  func `an invalid answer to a response or failure does not mean that nothing was sent`(
    _ member: String
  ) async throws {
    for (event, answer, delivery) in [
      ("request", FakeNetwork.Answer.ok, ChainError.Delivery.notSent),
      ("response", FakeNetwork.Answer.ok, ChainError.Delivery.answered),
      ("failure", FakeNetwork.Answer.failure(.timedOut, .unknown), ChainError.Delivery.unknown),
    ] {
      let script = Self.seeing(
        "*'\"event\":\"\(event)\"'*", #"\"action\":\"answer\","# + member)
      try await with(
        script, "stage: http, events: [\(event)]", network: FakeNetwork(answer)
      ) { bench, _ in
        let outcome = await bench.run(Bench.rename)
        #expect(outcome.code == .execFailed, "\(outcome.message)")
        #expect(outcome.failure?.delivery == delivery, "\(event)")
      }
    }
  }

  @Test func `retry needs failures, and a bound`() async throws {
    let script = Self.answering(#"echo "{\"id\":$id,\"action\":\"retry\"}""#)
    try await with(script, "events: [response]") { bench, _ in
      let outcome = await bench.run()
      #expect(outcome.code == .execFailed && outcome.message.contains("without a valid action"))
    }
    let found = Bench.findings("- exec: { command: [a], events: [failure] }\n" + Bench.plain)
    #expect(found.contains { $0.contains("bounds the number of restarts") }, "\(found)")
  }

  @Test func `a program that ends is started again, up to a bound`() async throws {
    let script = """
      echo started >&2
      read -r start; read -r line
      exit 3
      """
    try await with(script, "restarts: 1") { bench, network in
      var messages: [String] = []
      for _ in 0..<3 { messages.append(await bench.run().message) }
      #expect(messages[0].contains("ended with status 3 before it answered"))
      #expect(messages[1].contains("ended with status 3"))
      #expect(messages[2].contains("was started 2 times within a minute"))
      #expect(await network.count == 0)
    }
  }

  @Test func `a program may end right after its answer`() async throws {
    let script = """
      read -r start; read -r line
      \(Self.id)
      echo "{\\"id\\":$id,\\"action\\":\\"continue\\"}"
      """
    for _ in 0..<50 {
      try await with(script) { bench, _ in
        let outcome = await bench.run()
        #expect(outcome.error == nil, "\(outcome.message)")
      }
    }
  }

  @Test(arguments: [
    ("echo hello", ["invalid answer", "hello"]),
    ("head -c 67108865 /dev/zero", ["sent a line of more than 64 MiB and was ended"]),
  ])
  func `a program that says something else is ended`(
    _ answer: String, _ parts: [String]
  ) async throws {
    try await with(Self.answering(answer)) { bench, _ in
      let outcome = await bench.run()
      #expect(outcome.code == .execFailed)
      for part in parts { #expect(outcome.message.contains(part), "\(outcome.message)") }
    }
  }

  @Test func `a program that takes too long is ended, and leaves no process behind`() async throws {
    let script = """
      echo $$ > "$(dirname "$0")/pid"
      read -r start; read -r line
      echo asked >&2
      sleep 1000
      """
    let clock = TestClock()
    try await with(script, "timeout: 300ms", clock: clock) { bench, _ in
      async let running = bench.run()
      await bench.log.lines(1, with: "asked")
      await clock.sleepers(1)
      clock.advance(by: .milliseconds(300))
      let outcome = await running
      #expect(outcome.message.contains("did not answer within 300ms"), "\(outcome.message)")
      let process = try #require(pid_t(bench.text(of: "pid").split(separator: "\n").first ?? ""))
      // A zombie can still be sent signals; one that was waited for cannot.
      while kill(process, 0) == 0, !Task.isCancelled { await Task.yield() }
      #expect(kill(process, 0) != 0)
    }
  }

  @Test func `a missing program is reported with its name`() async throws {
    try await Bench.with(
      "- exec: { command: [/nowhere/plugin] }\n" + Bench.plain,
      setup: .init(clock: ServiceClock(TestClock()))
    ) { bench in
      let outcome = await bench.run()
      #expect(outcome.message.contains("/nowhere/plugin was not found"))
    }
  }

  @Test func `what a program says on standard error is in the log`() async throws {
    let answer = #"echo "a note" >&2; echo "{\"id\":$id,\"action\":\"continue\"}""#
    try await with(Self.answering(answer)) { bench, _ in
      _ = await bench.run()
      await bench.log.lines(1, with: "a note")
    }
  }

  @Test func `many questions are answered at a time`() async throws {
    let answer = #"echo "{\"id\":$id,\"action\":\"continue\",\"headers\":{\"X-Id\":\"$id\"}}""#
    try await with(Self.answering(answer), "timeout: 1m") { bench, network in
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<50 {
          group.addTask { _ = await bench.run(policy: .networkOnly) }
        }
      }
      let ids = await network.requests.compactMap { request in
        request.head.headerFields.first { $0.name.rawName == "X-Id" }?.value
      }
      #expect(Set(ids).count == 50)
    }
  }

  private static let examples = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Examples/exec").path

  @Test func `the example in the shell refuses mutations`() async throws {
    let entry = "- exec: { command: [sh, \(Self.examples)/read-only.sh] }\n"
    let network = FakeNetwork(.ok)
    let setup = Bench.Setup(clock: ServiceClock(TestClock()), transport: network)
    try await Bench.with(entry + Bench.plain, setup: setup) { bench in
      #expect(await bench.run().error == nil)
      let outcome = await bench.run(Bench.rename)
      #expect(outcome.code?.rawValue == "read_only")
      #expect(outcome.failure?.delivery == .notSent)
      #expect(await network.count == 1)
    }
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/python3")))
  func `the example in Python signs what is sent`() async throws {
    let entry =
      "- exec: { command: [python3, \(Self.examples)/sign.py], stage: http, "
      + "options: { key_variable: PATH }, timeout: 1m }\n- fetch"
    let network = FakeNetwork(.ok)
    let setup = Bench.Setup(clock: ServiceClock(TestClock()), transport: network)
    let chain = Bench.plain.replacing("- fetch", with: entry)
    try await Bench.with(chain, setup: setup) { bench in
      let outcome = await bench.run()
      #expect(outcome.error == nil, "\(outcome.message)")
      let fields = await network.requests.first?.head.headerFields ?? [:]
      let signature = fields.first { $0.name.rawName == "X-Signature" }?.value
      #expect(signature?.utf8.count == 64)
    }
  }

  @Test(arguments: [
    ("exec: { command: [] }", "names no program"), ("exec: {}", "requires the option `command`"),
    ("exec: { command: [sh], stage: x }", "graphql or http"),
    ("exec: { command: [sh, -c, 'true'], events: [response] }", nil),
    ("exec: { command: [sh], max_data: 1KiB }", "data belongs to the responses of the GraphQL"),
    ("exec: { command: [sh], max_body: 1KiB }", "bodies belong to the responses of the HTTP stage"),
  ]) func `options are checked`(_ entry: String, _ part: String?) {
    expectEntry(entry, refusedWith: part)
  }
}
