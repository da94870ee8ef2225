import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import Testing

@Suite(.timeLimit(.minutes(10))) struct AuditPluginTests {
  @Test func `the options have these defaults`() {
    #expect(
      optionTable(AuditPlugin.self) == [
        "file": nil, "user": "user", "tenant": "tenant", "values": nil, "required": "true",
      ])
  }

  private static func chain(_ options: String) -> String {
    "- audit: { \(options) }\n- cache-read: { policy: cache-and-network }\n"
      + Bench.plain.replacing(
        "- logging: { headers: true }\n", with: "")
  }

  private func bench<Result: Sendable>(
    _ options: String, _ network: FakeNetwork, body: @Sendable (Bench) async throws -> Result
  ) async throws -> Result {
    var setup = Bench.Setup()
    setup.transport = network
    return try await Bench.with(
      Self.chain(options), url: "http://localhost/", setup: setup, body: body)
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
      ]
      #expect(String(lines[0]) == "{" + first.joined(separator: ",") + "}")
      let second = try JSONValue(parsing: String(lines[1]))
      #expect(second["source"] == "cache")
      let modes = (try bench.permissions(of: "log/audit.ndjson"), try bench.permissions(of: "log"))
      #expect(modes.0 == 0o600 && modes.1 == 0o700)
    }
  }

  @Test(arguments: [
    FakeNetwork.Answer.response(500), .body(#"{"data":null,"errors":[{"message":"no"}]}"#),
    .body(#"{"data":{"user":null},"errors":[{"message":"no","path":["user"]}]}"#),
  ]) func `an operation that fails is none`(_ answer: FakeNetwork.Answer) async throws {
    try await bench("file: \"${env:DIR}/a\"", FakeNetwork(answer)) { bench in
      _ = await bench.run()
      #expect(bench.text(of: "a") == "")
    }
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
  }
}
