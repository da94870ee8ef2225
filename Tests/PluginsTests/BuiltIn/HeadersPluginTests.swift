import GQLRunPipeline
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(10))) struct HeadersPluginTests {
  /// The fields of the request that a chain sends.
  private func sent(
    _ options: String, context: [String: String] = [:], headers: HTTPFields = [:]
  ) async throws -> (fields: HTTPFields?, outcome: Outcome) {
    let network = FakeNetwork(.ok)
    let chain = "- headers: { \(options) }\n" + Bench.plain
    return try await Bench.with(chain, setup: .init(transport: network)) { bench in
      let outcome = await bench.run {
        $0.context.named = context
        $0.additionalHeaders = headers
      }
      return (await network.requests.first?.head.headerFields, outcome)
    }
  }

  private static let a = HTTPField.Name("X-A") ?? .accept

  struct Case: Sendable {
    var options: String
    var given: [String] = []
    var values: [String]
  }

  @Test(arguments: [
    Case(options: "set: { X-A: new }", values: ["new"]),
    Case(options: "set: { X-A: new }", given: ["old", "older"], values: ["new"]),
    Case(options: "set: { x-a: new }", given: ["old"], values: ["new"]),
    Case(options: "set: { X-A: \"\" }", given: ["old"], values: [""]),
    Case(options: "add: { X-A: new }", values: ["new"]),
    Case(options: "add: { X-A: new }", given: ["old"], values: ["old", "new"]),
    Case(options: "default: { X-A: new }", values: ["new"]),
    Case(options: "default: { X-A: new }", given: ["old"], values: ["old"]),
    Case(options: "remove: [X-A]", given: ["old", "older"], values: []),
    Case(options: "remove: [x-a]", given: ["old"], values: []),
    Case(options: "remove: [X-A], default: { X-A: new }", given: ["old"], values: ["new"]),
    Case(options: "remove: [X-A], add: { X-A: new }", given: ["old"], values: ["new"]),
    Case(options: "set: { X-A: b }, default: { X-A: c }", values: ["b"]),
  ]) func `fields are removed, set, added and defaulted, in this order`(_ it: Case) async throws {
    var headers = HTTPFields()
    headers[values: Self.a] = it.given
    let fields = try await sent(it.options, headers: headers).fields
    #expect(fields?[values: Self.a] == it.values)
  }

  @Test func `the fields of the endpoint can be changed too`() async throws {
    let fields = try await sent("remove: [Authorization], set: { Accept: \"*/*\" }").fields
    #expect(fields?[.authorization] == nil)
    #expect(fields?[.accept] == "*/*")
  }

  @Test func `values are filled from the context of the request`() async throws {
    let options = #"set: { X-A: "t-${context:tenant}-${context:region:-eu}" }"#
    let fields = try await sent(options, context: ["tenant": "acme"]).fields
    #expect(fields?[Self.a] == "t-acme-eu")
    let other = try await sent(options, context: ["tenant": "b", "region": "us"]).fields
    #expect(other?[Self.a] == "t-b-us")
  }

  @Test func `a value that is missing is an error before the network`() async throws {
    let (fields, outcome) = try await sent(#"set: { X-A: "${context:tenant}" }"#)
    #expect(fields == nil)
    #expect(outcome.failure?.layer == .request)
    #expect(outcome.code == .invalidRequest)
    #expect(outcome.failure?.entry == "headers")
    #expect(outcome.failure?.delivery == .notSent)
    #expect(outcome.message.contains("X-A") && outcome.message.contains("tenant"))
  }

  @Test(arguments: ["canary\r\nX-Evil: 1", "canary\u{0}", "canary\n", "canary\u{7F}"])
  func `a value that HTTP forbids is an error that does not repeat it`(_ value: String) async throws
  {
    let (fields, outcome) = try await sent(
      #"set: { X-A: "${context:token}" }"#, context: ["token": value])
    #expect(fields == nil)
    #expect(outcome.code == .invalidRequest)
    #expect(outcome.failure?.delivery == .notSent)
    #expect(outcome.message.contains("X-A"))
    #expect(!outcome.message.contains("canary"))
  }
}
