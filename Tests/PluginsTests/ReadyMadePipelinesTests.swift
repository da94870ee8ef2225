import DemoServer
import Foundation
import Pipeline
import Plugins
import Testing

/// The files in `pipelines/`, run against the demo server as their comments say.
@Suite(.timeLimit(.minutes(1))) struct ReadyMadePipelinesTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("pipelines")

  private static let names: [String] =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".pipeline.yaml") }.sorted()

  private static let query = #"query User { user(id: "U_1") { id login } }"#

  private func load(_ name: String, url: String) throws -> PipelineFile.Loaded {
    try PipelineFile.load(
      path: Self.folder.appendingPathComponent(name).path, registry: .builtIn,
      environment: PipelineFileEnvironment(
        variable: { ["GQL_URL": url][$0] }, readFile: PipelineFileEnvironment.process.readFile))
  }

  @Test func `there are files`() {
    #expect(Self.names.count >= 4)
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

  /// Runs an operation three times: twice while the server is well, and once while it is not.
  private func sources(_ name: String) async throws -> [[String]] {
    try await DemoServer.withServer { server in
      let pipeline = try load(name, url: server.url).pipeline
      var setup = Bench.Setup()
      setup.clock = ServiceClock(ContinuousClock())
      setup.random = { 0 }
      setup.store =
        switch pipeline.store.kind {
        case .memory: .memory
        case .sqlite: .sqlite
        case .none: nil
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
