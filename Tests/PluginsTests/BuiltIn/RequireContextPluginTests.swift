import GQLRunPipeline
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(10))) struct RequireContextPluginTests {
  private func run(
    _ options: String, _ values: [String: String]
  ) async throws -> (outcome: Outcome, requests: [HTTPRequestMessage]) {
    let network = FakeNetwork(.ok)
    return try await Bench.with(
      "- require-context: { \(options) }\n" + Bench.plain,
      setup: .init(transport: network)
    ) { bench in
      let outcome = await bench.run { $0.context.named = values }
      return (outcome, await network.requests)
    }
  }

  @Test(arguments: [
    ("values: [user, tenant]", ["user": "ada"], "--context tenant=…"),
    ("values: [user]", ["user": ""], "--context user=…"),
    ("headers: { X-Tenant: tenant }", [:], "--context tenant=…"),
    ("headers: { X-Tenant: tenant }", ["tenant": "a\r\nX-Evil: 1"], "characters that HTTP forbids"),
  ]) func `a value that is missing or cannot be sent fails before the network`(
    _ options: String, _ values: [String: String], _ message: String
  ) async throws {
    let result = try await run(options, values)
    #expect(result.outcome.code == .invalidRequest)
    #expect(result.outcome.failure?.delivery == .notSent)
    #expect(result.outcome.message.contains(message), "\(result.outcome.message)")
    #expect(result.requests.isEmpty)
  }

  @Test func `values become fields`() async throws {
    let result = try await run(
      "values: [user], headers: { X-User-ID: user, X-Tenant-ID: tenant }",
      ["user": "ada", "tenant": "t1"])
    #expect(result.outcome.error == nil)
    let fields = try #require(result.requests.first).head.headerFields
    #expect(HTTPField.Name("X-User-ID").flatMap { fields[$0] } == "ada")
    #expect(HTTPField.Name("X-Tenant-ID").flatMap { fields[$0] } == "t1")
  }
}
