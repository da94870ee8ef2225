import Foundation
import GQLRunDemoServer
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

/// The files in `pipelines/`, run against the demo server as their comments say.
@Suite(.timeLimit(.minutes(10))) struct ReadyMadePipelinesTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("pipelines")

  private static let names: [String] =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".pipeline.yaml") }.sorted()

  private static let query = #"query User { user(id: "U_1") { id login } }"#

  private func load(
    _ name: String, url: String, variables: [String: String] = [:]
  ) throws -> PipelineFile.Loaded {
    try PipelineFile.load(
      path: Self.folder.appendingPathComponent(name).path, registry: .builtIn,
      environment: PipelineFileEnvironment(
        variable: { variables.merging(["GQL_URL": url]) { $1 }[$0] },
        readFile: PipelineFileEnvironment.process.readFile))
  }

  @Test func `the library contains the text of each file: make embedded`() throws {
    let suffix = ".pipeline.yaml"
    #expect(ReadyMade.names == Self.names.map { String($0.dropLast(suffix.count)) })
    for name in ReadyMade.names {
      let file = Self.folder.appendingPathComponent(name + suffix)
      #expect(try ReadyMade.file(name) == String(contentsOf: file, encoding: .utf8), "\(name)")
    }
  }

  @Test func `there are files`() {
    #expect(Self.names.count >= 8)
  }

  @Test(arguments: names) func `a file assembles without a warning`(_ name: String) throws {
    let loaded = try load(name, url: "http://localhost/graphql")
    #expect(loaded.warnings.all.isEmpty, "\(loaded.warnings)")
    #expect(loaded.pipeline.name.map { "\($0).pipeline.yaml" } == name)
  }

  @Test(arguments: names) func `a file says what to set when the address is missing`(
    _ name: String
  ) {
    let error = #expect(throws: PipelineDiagnostics.self) {
      try PipelineFile.load(
        path: Self.folder.appendingPathComponent(name).path, registry: .builtIn,
        environment: PipelineFileEnvironment(readFile: PipelineFileEnvironment.process.readFile))
    }
    #expect(error?.description.contains("GQL_URL") == true)
  }

  @Test func `auth sends the token of the environment, and one id per operation`() async throws {
    try await DemoServer.withServer { server in
      let pipeline = try load("auth.pipeline.yaml", url: server.url).pipeline
      var setup = Bench.Setup(variables: ["GQL_TOKEN": "t-1"], change: { $0 = pipeline })
      try await Bench.with(url: server.url, setup: setup) { bench in
        #expect(await bench.run(Self.query).error == nil)
        #expect(server.log.last?.header("Authorization") == "Bearer t-1")
        #expect(server.log.last?.header("X-Correlation-ID") != nil)
      }
      setup.variables = [:]
      try await Bench.with(url: server.url, setup: setup) { bench in
        let outcome = await bench.run(Self.query)
        #expect(outcome.message.contains("GQL_TOKEN is not set"), "\(outcome.message)")
        #expect(server.requestCount == 1)
      }
    }
  }

  @Test func `apq sends hashes by GET, and the document once by POST`() async throws {
    try await DemoServer.withServer { server in
      let pipeline = try load("apq.pipeline.yaml", url: server.url).pipeline
      try await Bench.with(url: server.url, setup: .init(change: { $0 = pipeline })) { bench in
        for _ in 0..<2 { #expect(await bench.run(Self.query, policy: .networkOnly).error == nil) }
        #expect(server.log.requests.map(\.method) == ["GET", "POST", "GET"])
      }
    }
  }

  @Test func `ci records, and then answers without a server`() async throws {
    let file = NSTemporaryDirectory() + "ci-\(UUID().uuidString).ndjson"
    defer { try? FileManager.default.removeItem(atPath: file) }
    func run(_ mode: String?, _ url: String) async throws -> Outcome {
      var variables = ["GQL_RECORDING": file]
      variables["GQL_RECORD"] = mode
      let pipeline = try load("ci.pipeline.yaml", url: url, variables: variables).pipeline
      return try await Bench.with(url: url, setup: .init(change: { $0 = pipeline })) {
        await $0.run(Self.query)
      }
    }
    let recorded = try await DemoServer.withServer { try await run("record", $0.url) }
    let replayed = try await run(nil, "http://127.0.0.1:9/graphql")
    #expect(recorded.error == nil && replayed.texts == recorded.texts)
  }

  /// The reference order with all its parts at work: retry, cache, token, logs, persisted queries.
  @Test func `apollo-1x-reference does what the ten interceptors did`() async throws {
    let pipeline = try load("apollo-1x-reference.pipeline.yaml", url: "http://localhost/").pipeline
    let network = FakeNetwork(
      .response(503), .body(#"{"errors":[{"message":"PersistedQueryNotFound"}]}"#), .ok)
    let setup = Bench.Setup(
      clock: ServiceClock(TestClock.jumping()), variables: ["GQL_TOKEN": "token-of-ada"],
      transport: network, change: { $0 = pipeline })
    try await Bench.with(setup: setup) { bench in
      #expect(await bench.run().sources == [.server])
      #expect(await bench.run().sources == [.cache])
      let sent = await network.requests
      #expect(
        sent.map { String(decoding: $0.body ?? [], as: UTF8.self).contains("\"query\"") }
          == [false, false, true])
      #expect(sent.allSatisfy { $0.head.headerFields[.authorization] == "Bearer token-of-ada" })
      let log = bench.log.everything
      #expect(log.contains("Authorization: •••") && log.contains("PersistedQueryNotFound"))
      #expect(!log.contains("token-of-ada"))
    }
  }

  /// Runs an operation three times: twice while the server is well, and once while it is not.
  private func sources(_ name: String) async throws -> [[String]] {
    try await DemoServer.withServer { server in
      let pipeline = try load(name, url: server.url).pipeline
      var setup = Bench.Setup(clock: ServiceClock(ContinuousClock()), random: { 0 })
      setup.store =
        switch pipeline.store.kind {
        case .memory: .memory
        case .sqlite: .sqlite
        case .postgres, .none: nil
        }
      setup.change = { $0 = pipeline }
      return try await Bench.with(url: server.url, setup: setup) { bench in
        var outcomes = [await bench.run(Self.query), await bench.run(Self.query)]
        var wish = Misbehaviour()
        wish.status = 500
        server.misbehave(wish)
        outcomes.append(await bench.run(Self.query))
        return outcomes.map { outcome in
          outcome.sources.map(\.rawValue) + (outcome.code.map { [$0.rawValue] } ?? [])
        }
      }
    }
  }

  @Test(arguments: [
    ("default.pipeline.yaml", [["server"], ["cache"], ["cache"]]),
    ("offline.pipeline.yaml", [["server"], ["cache"], ["cache"]]),
    ("fresh.pipeline.yaml", [["server"], ["server"], ["cache"]]),
    ("plain.pipeline.yaml", [["server"], ["server"], ["http_status"]]),
  ]) func `a file does what its comment says`(_ name: String, _ expected: [[String]]) async throws {
    #expect(try await sources(name) == expected)
  }
}
