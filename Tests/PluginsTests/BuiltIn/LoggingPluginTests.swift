import GQLRunPipeline
import GQLRunTestSupport
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(10))) struct LoggingPluginTests {
  /// The lines of some operations, each of which takes 12 ms on the network.
  private func lines(
    _ entries: String, _ network: FakeNetwork.Answer..., custom: String = "", operations: Int = 1,
    took: Duration = .milliseconds(12)
  ) async throws -> [String] {
    let clock = TestClock()
    var setup = Bench.Setup()
    setup.clock = ServiceClock(clock)
    let answers = network
    let fake = FakeNetwork(answers, before: { clock.advance(by: took) })
    setup.transport = fake
    return try await Bench.with(
      entries + "\n- cache-read\n" + Bench.bare, url: "http://localhost/graphql?key=hidden",
      setup: setup
    ) { bench in
      for _ in 0..<operations {
        _ = await bench.run { request in
          if let name = HTTPField.Name("X-Custom"), !custom.isEmpty {
            request.additionalHeaders[name] = custom
          }
        }
      }
      return bench.log.leveledLines
    }
  }

  private func withoutDebug(_ lines: [String]) -> [String] {
    lines.filter { !$0.hasPrefix("debug:") }
  }

  @Test func `an operation is one line out and one back`() async throws {
    let lines = try await lines("- logging", .ok, operations: 2)
    #expect(
      withoutDebug(lines) == [
        "info: → User", "info: ← User [server] 12 ms", "info: → User",
        "info: ← User [cache] 0.0 ms",
      ])
  }

  @Test(arguments: [
    (Duration.microseconds(1_260), "1.3 ms"), (.microseconds(9_940), "9.9 ms"),
    (.microseconds(9_960), "10.0 ms"), (.microseconds(12_400), "12 ms"),
    (.milliseconds(999), "999 ms"),
    (.microseconds(999_700), "1.0 s"), (.milliseconds(2_199), "2.2 s"), (.seconds(61), "61.0 s"),
  ]) func `times are in milliseconds, and from one second on in seconds`(
    _ duration: Duration, _ text: String
  ) async throws {
    let lines = try await lines("- logging", .ok, took: duration)
    #expect(lines.last == "info: ← User [server] \(text)")
  }

  @Test func `an error is a line of its own, whatever the level`() async throws {
    let lines = try await lines("- logging: { level: trace }", .response(404))
    #expect(
      withoutDebug(lines) == [
        "trace: → User",
        "error: ✗ User response-code: the server answered 404; "
          + "is the path of the endpoint right?",
      ])
  }

  @Test func `errors of GraphQL are counted`() async throws {
    let one = #"{"data":null,"errors":[{"message":"a"}]}"#
    let two = #"{"data":null,"errors":[{"message":"a"},{"message":"b"}]}"#
    let lines = try await lines("- logging", .body(one), .body(two), operations: 2)
    #expect(lines.contains("info: ← User [server] 12 ms, 1 GraphQL error"))
    #expect(lines.contains("info: ← User [server] 12 ms, 2 GraphQL errors"))
  }

  @Test func `attempts are numbered from the second`() async throws {
    let lines = try await lines(
      "- max-retry: { backoff: { base: 0s } }\n- logging", .response(503), .ok)
    #expect(
      lines.filter { $0.contains("→") } == ["info: → User", "info: → User (attempt 2)"])
  }

  @Test func `secret fields are hidden, and the query of the address is left out`() async throws {
    let lines = try await lines(
      "- logging: { headers: true }",
      .body(HTTPText.user, headers: ["Set-Cookie": "s=canary-3", "Server": "x"]),
      custom: "open-2")
    #expect(lines.contains("info: > POST http://localhost/graphql"))
    #expect(lines.contains("info: > Authorization: •••"))
    #expect(lines.contains("info: > X-Custom: open-2"))
    #expect(lines.contains("info: > Content-Type: application/json"))
    #expect(lines.contains("info: < 200"))
    #expect(lines.contains("info: < Set-Cookie: •••"))
    #expect(lines.contains("info: < Server: x"))
    #expect(!lines.joined().contains("canary"))
    #expect(!lines.joined().contains("hidden"))
  }

  @Test func `a line stays a line, whatever the server says`() async throws {
    let lines = try await lines(
      "- logging",
      .body("bad\u{1B}[31m\u{85}x\ninfo: ← forged", status: 500, type: "text/html"))
    let text = lines.joined(separator: "|")
    #expect(
      text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
    #expect(!lines.contains { $0.hasPrefix("info: ← forged") })
  }
}
