import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct AuditPluginTests {
  private static func chain(_ options: String) -> String {
    "- audit: { \(options) }\n- cache-read: { policy: cache-and-network }\n" + Bench.bare
  }

  private func bench<Result: Sendable>(
    _ options: String, _ network: FakeNetwork, body: @Sendable (Bench) async throws -> Result
  ) async throws -> Result {
    try await Bench.with(
      Self.chain(options), setup: .init(transport: network), body: body)
  }

  @Test func `an operation that succeeds is one line: what, who, and when`() async throws {
    try await bench("file: \"${env:DIR}/log/audit.ndjson\", values: [region]", FakeNetwork(.ok)) {
      bench in
      for _ in 0..<2 {
        _ = await bench.run { $0.context.named = ["user": "ada\n\"x\"", "region": "eu"] }
      }
      let lines = bench.text(of: "log/audit.ndjson").split(separator: "\n")
      // The second brings two results, from the cache and from the server.
      #expect(lines.count == 2)
      let first = [
        #""time":"1994-11-06T08:49:37.000Z""#, #""operation":"User""#, #""type":"query""#,
        #""user":"ada\n\"x\"""#, #""tenant":null"#, #""source":"server""#, #""region":"eu""#,
        #""id":"80000000-8000-4000-8000-000080000000""#, #""outcome":"done""#,
      ]
      #expect(String(lines[0]) == "{" + first.joined(separator: ",") + "}")
      let second = try JSONValue(parsing: String(lines[1]))
      #expect(second["source"] == "cache")
      let modes = (try bench.permissions(of: "log/audit.ndjson"), try bench.permissions(of: "log"))
      #expect(modes.0 == 0o600 && modes.1 == 0o700)
    }
  }

  /// The lines of the log, each as the members of these names.
  private func lines(_ bench: Bench, _ names: String...) throws -> [[String]] {
    try bench.text(of: "a").split(separator: "\n").map { line in
      let value = try JSONValue(parsing: String(line))
      return names.map { value[$0]?.stringValue ?? "-" }
    }
  }

  @Test(
    arguments: [
      (.response(500), "-", "500"),
      (.body(#"{"data":null,"errors":[{"message":"no"}]}"#), "server", "no"),
      (
        .body(#"{"data":{"user":null},"errors":[{"message":"no","path":["user"]}]}"#), "server",
        "user: no"
      ), (.failure(.timedOut, .unknown), "-", "no luck"),
    ] as [(FakeNetwork.Answer, String, String)])
  func `a query that fails is one line with its error`(
    _ answer: FakeNetwork.Answer, _ source: String, _ error: String
  ) async throws {
    try await bench("file: \"${env:DIR}/a\"", FakeNetwork(answer)) { bench in
      _ = await bench.run()
      let found = try lines(bench, "type", "source", "outcome", "error")
      #expect(found.count == 1)
      #expect(found.first?.prefix(3) == ["query", source, "failed"])
      #expect(found.first?.last?.contains(error) == true, "\(found)")
    }
  }

  @Test(
    arguments: [
      (.body(#"{"data":{"rename":{"name":"Bo"}}}"#), "done"), (.response(400), "failed"),
      (.response(504), "unknown"), (.failure(.timedOut, .unknown), "unknown"),
      (.failure(.connectionClosed, .unknown), "unknown"),
      (.failure(.truncatedResponse, .answered), "unknown"),
      (.failure(.connectionFailed, .notSent), "failed"),
      (.body(#"{"data":{"rename":null},"errors":[{"message":"no"}]}"#), "failed"),
    ] as [(FakeNetwork.Answer, String)])
  func `a mutation is a line before it is sent, and one with its outcome`(
    _ answer: FakeNetwork.Answer, _ outcome: String
  ) async throws {
    try await bench("file: \"${env:DIR}/a\"", FakeNetwork(answer)) { bench in
      let end = await bench.run(Bench.rename)
      let found = try lines(bench, "operation", "type", "outcome", "id")
      #expect(found.map { $0[2] } == ["sent", outcome], "\(end.message)")
      #expect(found.allSatisfy { $0[0] == "Rename" && $0[1] == "mutation" })
      #expect(Set(found.map { $0[3] }).count == 1)
    }
  }

  @Test func `a mutation whose program ends before the answer has its line`() async throws {
    let folder = NSTemporaryDirectory() + "audit-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let seen = Locked("")
    // What is in the file when the request is sent is what remains after kill -9.
    let network = FakeNetwork(.ok) {
      let text = try? String(contentsOfFile: folder + "/a", encoding: .utf8)
      seen.withLock { $0 = text ?? "" }
    }
    try await bench("file: \"\(folder)/a\"", network) { bench in
      _ = await bench.run(Bench.rename)
    }
    #expect(seen.withLock { $0 }.contains(#""outcome":"sent"}"#))
    #expect(seen.withLock { $0 }.hasSuffix("\n"))
  }

  @Test func `each attempt of a mutation is a line, with one id and one outcome`() async throws {
    var setup = Bench.Setup()
    let numbers = Locked(0.0)
    setup.random = {
      numbers.withLock { number in
        number += 0.01
        return number
      }
    }
    setup.transport = FakeNetwork(
      .failure(.connectionFailed, .notSent), .body(#"{"data":{"rename":{"name":"Bo"}}}"#))
    let chain = "- audit: { file: \"${env:DIR}/a\" }\n" + Bench.retrying
    try await Bench.with(chain, setup: setup) { bench in
      for _ in 0..<2 { #expect(await bench.run(Bench.rename).error == nil) }
      let found = try lines(bench, "outcome", "id")
      #expect(found.map { $0[0] } == ["sent", "sent", "done", "sent", "done"])
      #expect(Set(found.prefix(3).map { $0[1] }).count == 1)
      #expect(Set(found.map { $0[1] }).count == 2)
    }
  }

  @Test func `an error in the log has no secrets, and a bounded length`() async throws {
    var setup = Bench.Setup()
    setup.secrets.insert(SecretString("hidden-7f"))
    let message = "hidden-7f " + String(repeating: "x", count: 5_000)
    setup.transport = FakeNetwork(.body(#"{"data":null,"errors":[{"message":"\#(message)"}]}"#))
    let chain = "- audit: { file: \"${env:DIR}/a\" }\n" + Bench.plain
    try await Bench.with(chain, setup: setup) { bench in
      _ = await bench.run(Bench.rename)
      let error = try lines(bench, "error").last?.first ?? ""
      #expect(!bench.text(of: "a").contains("hidden-7f"))
      #expect(error.hasPrefix("•••") && error.count == 1_000)
    }
  }

  @Test func `a subscription is one line, for its first event or its failure`() async throws {
    func stream(_ events: String...) -> FakeNetwork.Answer {
      .events(events.map { "event: next\ndata: \($0)\n\n" }.joined() + "event: complete\n\n")
    }
    let error = #"{"errors":[{"message":"no"}]}"#
    for (answer, outcome) in [
      (stream(error, HTTPText.user, HTTPText.user), "done"), (stream(error, error), "failed"),
      (.response(400), "failed"),
    ] {
      try await bench("file: \"${env:DIR}/a\"", FakeNetwork(answer)) { bench in
        _ = await bench.run("subscription { user { id name } }")
        let found = try lines(bench, "type", "outcome")
        #expect(found == [["subscription", outcome]])
      }
    }
  }

  @Test(arguments: [
    ("outcome", ""), ("time", ""), ("operation", ""), ("type", ""), ("source", ""),
    ("user", "user: login, "), ("tenant", "tenant: shop, "),
  ])
  func `a context value cannot have the name of a member`(_ name: String, _ options: String) {
    expectEntry(
      "audit: { \(options)values: [\(name)] }",
      refusedWith: "`\(name)` is a member of each line")
  }

  @Test func `lines of many operations do not mix`() async throws {
    try await bench("file: \"${env:DIR}/a\"", FakeNetwork(.ok)) { bench in
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<200 {
          group.addTask { _ = await bench.run { $0.context.named = ["user": "u\(number)"] } }
        }
      }
      let users = try bench.text(of: "a").split(separator: "\n").map {
        try JSONValue(parsing: String($0))["user"]?.stringValue
      }
      #expect(users.count == 200 && Set(users).count == 200)
    }
  }

  @Test func `without a location for its line an operation is not sent`() async throws {
    let network = FakeNetwork(.ok)
    try await bench("file: \"/proc/nowhere/audit\"", network) { bench in
      let outcome = await bench.run()
      #expect(outcome.code == .auditFailed)
      #expect(outcome.message.contains("was not sent"), "\(outcome.message)")
      #expect(await network.count == 0)
    }
    try await bench("file: \"/proc/nowhere/audit\", required: false", network) { bench in
      #expect(await bench.run().error == nil)
      #expect(bench.log.everything.contains("its line of the audit log cannot be written"))
    }
    // A mutation has a line before it is sent.
    try await bench("file: \"/proc/nowhere/audit\"", network) { bench in
      let sent = await network.count
      let outcome = await bench.run(Bench.rename)
      #expect(outcome.code == .auditFailed && outcome.message.contains("was not sent"))
      #expect(await network.count == sent)
    }
  }

  @Test func `a pipe that no program reads is not waited for`() async throws {
    let pipe = NSTemporaryDirectory() + "audit-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: pipe) }
    #expect(mkfifo(pipe, 0o600) == 0)
    let network = FakeNetwork(.ok)
    try await bench("file: \"\(pipe)\"", network) { bench in
      for document in [Bench.user, Bench.rename] {
        let outcome = await bench.run(document)
        #expect(outcome.code == .auditFailed)
        #expect(outcome.message.contains("no program reads it"), "\(outcome.message)")
      }
      #expect(await network.count == 0)
    }
  }
}
