import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import Testing

@Suite(.timeLimit(.minutes(10))) struct RecordReplayPluginTests {
  /// A recording that outlives the benches of a test.
  private struct File: ~Copyable {
    let path = NSTemporaryDirectory() + "recording-\(UUID().uuidString).ndjson"

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var text: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
    var lines: [String] { text.split(separator: "\n").map(String.init) }

    func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
  }

  private func outcomes(
    _ mode: String, _ path: String, _ answers: [FakeNetwork.Answer], options: String = "",
    parse: String = "parse", documents: [String] = [Bench.user],
    url: String = "http://localhost/?key=\(Bench.canary)",
    change: @Sendable @escaping (inout GraphQLRequest) -> Void = { _ in }
  ) async throws -> (outcomes: [Outcome], requests: Int, log: [String]) {
    let network = FakeNetwork(answers)
    let setup = Bench.Setup(store: nil, variables: ["FILE": path], transport: network)
    let isReplay = mode == "replay"
    let chain = """
      - record-replay: { file: "${env:FILE}", mode: \(mode)\(options) }
      \(isReplay ? "" : "- fetch")
      - response-code
      - \(parse)
      """
    return try await Bench.with(chain, url: url, setup: setup) { bench in
      var outcomes: [Outcome] = []
      for document in documents { outcomes.append(await bench.run(document, change: change)) }
      return (outcomes, await network.count, bench.log.lines)
    }
  }

  @Test func `what was recorded is answered without a network, byte for byte`() async throws {
    let file = File()
    let body =
      #"{"data":{"user":{"__typename":"User","id":"1","name":"Ad\u00e9"}},"extensions":{"n":1.50}}"#
    let recorded = try await outcomes("record", file.path, [.body(body)])
    #expect(recorded.outcomes[0].error == nil && recorded.requests == 1)
    let replayed = try await outcomes("replay", file.path, [.failure(.connectionFailed, .notSent)])
    #expect(replayed.outcomes[0].texts == recorded.outcomes[0].texts)
    #expect(replayed.requests == 0)
  }

  @Test(arguments: ["", "\n", #"{"gqlrun_recording":1}"#])
  func `an exchange is added to an empty file, and after a line without an end`(
    _ text: String
  ) async throws {
    let file = File()
    try file.write(text)
    let recorded = try await outcomes("auto", file.path, [.ok])
    #expect(recorded.outcomes[0].error == nil && recorded.requests == 1)
    let replayed = try await outcomes("replay", file.path, [.failure(.connectionFailed, .notSent)])
    #expect(replayed.outcomes[0].error == nil && replayed.requests == 0)
    #expect(file.lines.count == 2)
  }

  @Test(arguments: [
    #"{"errors":[{"message":"no"}]}"#, #"{"data":null,"errors":[{"message":"no"}]}"#,
  ])
  func `a response without data has none in a recording, and one with null has it`(
    _ body: String
  ) async throws {
    let file = File()
    let recorded = try await outcomes("record", file.path, [.body(body)])
    #expect(file.lines.last?.contains(#""body":\#(body)"#) == true, "\(file.text)")
    let replayed = try await outcomes("replay", file.path, [.failure(.connectionFailed, .notSent)])
    #expect(recorded.outcomes[0].texts == [body] && replayed.outcomes[0].texts == [body])
  }

  @Test func `a recording is a line of JSON per exchange that people can read`() async throws {
    let file = File()
    _ = try await outcomes(
      "record", file.path, [.ok, .response(503)], documents: [Bench.user, Bench.user])
    #expect(file.lines.count == 3)
    #expect(file.lines.first == #"{"gqlrun_recording":1}"#)
    let first = try JSONValue(parsing: file.lines[1])
    #expect(first["operation"] == "User")
    #expect(first["request"]?["method"] == "POST")
    #expect(first["request"]?["body"]?["query"]?.stringValue?.hasPrefix("query User") == true)
    #expect(first["response"]?["status"] == 200)
    #expect(first["response"]?["body"]?["data"]?["user"]?["name"] == "Ada")
    #expect(try JSONValue(parsing: file.lines[2])["response"]?["status"] == 503)
  }

  @Test func `equal requests are answered in the order they were recorded, the last one repeats`()
    async throws
  {
    let file = File()
    let twice = [Bench.user, Bench.user]
    _ = try await outcomes("record", file.path, [.response(503), .ok], documents: twice)
    let replayed = try await outcomes("replay", file.path, [.ok], documents: twice + [Bench.user])
    #expect(replayed.outcomes.map { $0.failure?.http?.status } == [503, nil, nil])
    #expect(replayed.outcomes[2].texts.count == 1)
  }

  @Test(arguments: [600, 999])
  func `a response whose status is no class of HTTP is replayed`(_ status: Int) async throws {
    let file = File()
    _ = try await outcomes("record", file.path, [.response(status)])
    let replayed = try await outcomes("replay", file.path, [.ok])
    #expect(replayed.outcomes[0].failure?.http?.status == status, "\(replayed.outcomes[0].message)")
    #expect(replayed.requests == 0)
  }

  @Test func `a response as deep as responses may be is replayed`() async throws {
    let file = File()
    let (begin, end) = (String(repeating: "[", count: 509), String(repeating: "]", count: 509))
    let body = #"{"data":{"user":{"__typename":"User","id":"1","name":\#(begin)\#(end)}}}"#
    let recorded = try await outcomes("record", file.path, [.body(body)])
    #expect(recorded.outcomes[0].error == nil, "\(recorded.outcomes[0].message)")
    let replayed = try await outcomes("replay", file.path, [.ok])
    #expect(replayed.outcomes[0].texts == recorded.outcomes[0].texts && replayed.requests == 0)
  }

  @Test func `a response with a string of 17 MiB is replayed`() async throws {
    let file = File()
    _ = try await outcomes("record", file.path, [.ok])
    let name = String(repeating: "x", count: 17 << 20)
    try file.write(file.text.replacing(#""name":"Ada""#, with: #""name":"\#(name)""#))
    let replayed = try await outcomes(
      "replay", file.path, [.ok], parse: "parse: { max_string: 32MiB }")
    #expect(replayed.outcomes[0].error == nil, "\(replayed.outcomes[0].message.prefix(200))")
    #expect(replayed.outcomes[0].texts.first?.utf8.count ?? 0 > 17 << 20)
  }

  @Test func `what the recording does not have is an error that says what it has`() async throws {
    let file = File()
    let other = #"query User { user(id: "2") { id name } }"#
    let absent = try await outcomes("replay", file.path, [.ok])
    #expect(absent.outcomes[0].code == .notRecorded)
    #expect(
      absent.outcomes[0].message.contains(".ndjson does not exist; record the request"),
      "\(absent.outcomes[0].message)")
    try Data("{\"gqlrun_recording\":1}\n".utf8).write(to: URL(filePath: file.path))
    let empty = try await outcomes("replay", file.path, [.ok])
    #expect(
      empty.outcomes[0].message.contains(".ndjson is empty; record"), "\(empty.outcomes[0].message)"
    )
    _ = try await outcomes("record", file.path, [.ok])
    let result = try await outcomes("replay", file.path, [.ok], documents: [other, Bench.rename])
    #expect(result.outcomes.map(\.code) == [.notRecorded, .notRecorded])
    #expect(result.outcomes[0].message.contains("has User with other query"))
    #expect(result.outcomes[1].message.contains("does not contain Rename, only User"))
    #expect(result.outcomes[1].message.contains("mode: auto"))
    #expect(result.outcomes[1].message.contains("GQL_RECORD=auto"))
    #expect(result.requests == 0)
    let variables = try await outcomes("replay", file.path, [.ok]) { $0.variables["x"] = 1 }
    #expect(variables.outcomes[0].message.contains("with other variables"))
    let onError = try await outcomes("replay", file.path, [.ok]) { $0.onError = .null }
    #expect(onError.outcomes[0].message.contains("with other onError"))
  }

  @Test func `a file that several processes begin at the same time has the exchanges of all`()
    async throws
  {
    let file = File()
    let path = file.path
    let documents = (1...8).map { #"query User\#($0) { user(id: "1") { id name } }"# }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for document in documents {
        group.addTask {
          let recorded = try await outcomes("auto", path, [.ok], documents: [document])
          #expect(recorded.outcomes[0].error == nil && recorded.requests == 1)
        }
      }
      try await group.waitForAll()
    }
    // Two that find no file write its first line twice.
    try file.write(file.text + "{\"gqlrun_recording\":1}\n")
    let replayed = try await outcomes(
      "replay", file.path, [.failure(.connectionFailed, .notSent)], documents: documents)
    #expect(replayed.outcomes.allSatisfy { $0.error == nil } && replayed.requests == 0)
  }

  @Test func `auto requests only what is missing; record starts again`() async throws {
    let file = File()
    let other = #"query Other { user(id: "2") { id name } }"#
    #expect(try await outcomes("auto", file.path, [.ok]).requests == 1)
    let second = try await outcomes(
      "auto", file.path, [.ok], documents: [Bench.user, other, other])
    #expect(second.requests == 1)
    #expect(file.lines.count == 3)
    #expect(try await outcomes("record", file.path, [.ok], documents: [other]).requests == 1)
    #expect(file.lines.count == 2)
  }

  @Test func `GET and POST are distinguished, and a URL's other parameters are not recorded`()
    async throws
  {
    let file = File()
    _ = try await outcomes("record", file.path, [.ok]) { $0.method = .get }
    #expect(!file.text.contains(Bench.canary))
    #expect(
      try await outcomes("replay", file.path, [.ok], change: { $0.method = .get }).outcomes[0].error
        == nil)
    let post = try await outcomes("replay", file.path, [.ok])
    #expect(post.outcomes[0].message.contains("with another method"), "\(post.outcomes[0].message)")
  }

  @Test func `a recording distinguishes requests by onError, also in a URL`() async throws {
    let file = File()
    _ = try await outcomes("record", file.path, [.ok]) {
      $0.method = .get
      $0.onError = .null
    }
    #expect(file.lines.last?.contains(#""onError":"NULL""#) == true, "\(file.text)")
    let cases: [(onError: OnError, message: String?)] = [
      (.null, nil), (.halt, "with other onError"),
    ]
    for (onError, message) in cases {
      let replayed = try await outcomes("replay", file.path, [.ok]) {
        $0.method = .get
        $0.onError = onError
      }
      let outcome = replayed.outcomes[0]
      #expect(
        message.map { outcome.message.contains($0) } ?? (outcome.error == nil), "\(onError)")
    }
  }

  @Test func `secrets are not recorded, and what they were does not matter when answering`()
    async throws
  {
    let file = File()
    let echo = FakeNetwork.Answer.body(
      #"{"data":{"user":{"__typename":"User","id":"1","name":"\#(Bench.canary)"}},"#
        + #""extensions":{"access_token":"\#(Bench.canary)","mine":"hidden too"}}"#,
      headers: ["Set-Cookie": Bench.canary])
    let more = ", redact: [mine]"
    _ = try await outcomes("record", file.path, [echo], options: more) {
      $0.variables["input"] = ["password": .string("hunter2-\(Bench.canary)"), "x": 1]
    }
    #expect(file.lines.count == 2)
    for secret in [Bench.canary, "hunter2", "hidden too"] { #expect(!file.text.contains(secret)) }
    let replayed = try await outcomes("replay", file.path, [.ok], options: more) {
      $0.variables["input"] = ["password": "another", "x": 1]
    }
    #expect(replayed.outcomes[0].texts.first?.contains("•••") == true)
  }

  private static func exchange(fields: Int) -> String {
    let headers = (0..<fields).map { "\"X-\($0)\":\"1\"" }.joined(separator: ",")
    return #"{"operation":"User","request":{"method":"POST","body":{}},"#
      + #""response":{"status":200,"headers":{\#(headers)},"body":{}}}"#
  }

  @Test(arguments: [
    ("not a recording\n", "is not a recording"),
    ("{\"gqlrun_recording\":2}\n", "is not a recording"),
    ("{\"gqlrun_recording\":1}\n{\"operation\":\"User\"}\n", ":2: this line is not a recorded"),
    ("{\"gqlrun_recording\":1}\n{\"operation\":\n", ":2: this line is not a recorded"),
    ("{\"gqlrun_recording\":1}\n\(exchange(fields: 1_001))\n", ":2: this line is not a recorded"),
  ]) func `a file that is no recording is reported with its line, and not changed`(
    _ text: String, _ message: String
  ) async throws {
    let file = File()
    try file.write(text)
    for mode in ["replay", "auto"] {
      let result = try await outcomes(mode, file.path, [.ok])
      #expect(result.outcomes[0].message.contains(message), "\(result.outcomes[0].message)")
      #expect(result.requests == 0)
    }
    #expect(file.text == text)
  }

  @Test func `an incomplete last line is not used, and is replaced by the next exchange`()
    async throws
  {
    let file = File()
    let documents = [Bench.user, #"query Other { user(id: "2") { id name } }"#]
    _ = try await outcomes("record", file.path, [.ok], documents: documents)
    let complete = file.text
    try file.write(String(complete.dropLast(20)))
    let replayed = try await outcomes("replay", file.path, [.ok], documents: documents)
    #expect(replayed.outcomes.map(\.code) == [nil, .notRecorded] && replayed.requests == 0)
    #expect(replayed.log.contains { $0.contains(":3: this line is incomplete and not used") })
    #expect(try await outcomes("auto", file.path, [.ok], documents: documents).requests == 1)
    #expect(file.text == complete)
  }

  @Test(arguments: [
    (
      "subscription Users { users { id } }", "text/event-stream",
      "event: next\ndata: {\"data\":{\"users\":null}}\n\nevent: complete\ndata:\n\n"
    ),
    (
      "query User { user { id ... @defer { name } } }", "multipart/mixed; boundary=p",
      "--p\r\n\r\n{\"data\":{\"user\":null},\"hasNext\":false}\r\n--p--\r\n"
    ),
  ]) func `events and parts are recorded up to their own end`(
    _ document: String, _ type: String, _ body: String
  ) async throws {
    // The connection stays open: only the content has an end.
    func run(
      _ body: String, _ path: String, _ read: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
      let script: [RawServer.Step] = [
        .request,
        .send(HTTPText.response(type: type, headers: ["Connection: close"], body: "")),
        .send(body), .untilClosed,
      ]
      let setup = Bench.Setup(store: nil, variables: ["FILE": path])
      let chain = """
        - record-replay: { file: "${env:FILE}", mode: record }
        - fetch
        - response-code
        - parse
        """
      try await RawServer.withServer(script) { [setup] server in
        try await Bench.with(chain, url: server.url, setup: setup) { try await read($0) }
      }
    }
    let file = File()
    try await run(body, file.path) { #expect(await $0.run(document).error == nil) }
    let replayed = try await outcomes("replay", file.path, [], documents: [document])
    #expect(replayed.outcomes[0].texts.count == 1, "\(replayed.outcomes[0].message)")

    let cut = File()
    try await run(String(body.dropLast(4)), cut.path) { bench in
      for try await _ in bench.runner.execute(try Bench.request(document)) { break }
    }
    #expect(cut.lines.isEmpty)
  }

  @Test(arguments: ["my notes\n", "{\"gqlrun_recording\":2}\n"])
  func `record does not replace a file that is no recording, and sends nothing`(
    _ text: String
  ) async throws {
    let file = File()
    try file.write(text)
    let result = try await outcomes("record", file.path, [.ok])
    #expect(result.outcomes[0].code == .notRecorded)
    #expect(result.outcomes[0].message.contains("is not a recording of gqlrun (unchanged)"))
    #expect(result.requests == 0)
    #expect(file.text == text)
  }

  @Test func `record does not replace a pipe or a device, and replaces an empty file`()
    async throws
  {
    let pipe = File()
    #expect(mkfifo(pipe.path, 0o600) == 0)
    for path in [pipe.path, "/dev/null"] {
      for mode in ["record", "auto", "replay"] {
        let result = try await outcomes(mode, path, [.ok])
        #expect(result.outcomes[0].code == .notRecorded)
        #expect(result.outcomes[0].message.contains("is not a recording of gqlrun (unchanged)"))
        #expect(result.requests == 0)
      }
    }
    let empty = File()
    try empty.write("")
    #expect(try await outcomes("record", empty.path, [.ok]).requests == 1)
    #expect(empty.lines.count == 2)
  }

  @Test func `an answer that breaks off or is too long is not recorded`() async throws {
    let file = File()
    let long = try await outcomes("record", file.path, [.ok], options: ", max_body: 10B")
    #expect(long.outcomes[0].code == .notRecorded)
    #expect(long.outcomes[0].message.contains("longer than 10B"))
    let html = FakeNetwork.Answer.response(502, body: String(repeating: "x", count: 5_000))
    _ = try await outcomes("record", file.path, [html])
    #expect(file.lines.count <= 2)
  }

  @Test func `a recording of a real server answers when the server is gone`() async throws {
    let file = File()
    let query = #"query User { user(id: "U_1") { id login } }"#
    let chain = "- record-replay: { file: \"${env:FILE}\", mode: record }\n" + Bench.bare
    let setup = Bench.Setup(variables: ["FILE": file.path])
    let recorded = try await Bench.withDemoServer(chain, setup: setup) { bench, _ in
      await bench.run(query)
    }
    let replayed = try await outcomes(
      "replay", file.path, [.failure(.connectionFailed, .notSent)], documents: [query])
    #expect(recorded.error == nil && replayed.outcomes[0].texts == recorded.texts)
  }
}
