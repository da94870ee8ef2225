import Foundation
import GQLRunCache
import GQLRunDemoServer
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

/// A run ends for every reason there is, with one operation of many pages as well as with many tasks.
@Suite("Ends of runs", .timeLimit(.minutes(10)))
struct StopTests {
  enum Shape: CaseIterable { case pages, tasks, orderedTasks }

  /// An output that a run without a queue can write.
  struct Output: Sendable, CustomTestStringConvertible {
    /// The entry of `sinks`, in YAML.
    let sink: String

    var isCache: Bool { sink == CacheSink.name }
    var testDescription: String { sink }

    static let all =
      Sinks.all.flatMap { kind in
        kind.fileExtensions.map { Output(sink: "{ \(kind.name): { path: o\($0) } }") }
      } + [Output(sink: CacheSink.name)]
  }

  private let location: Place

  init() throws {
    location = try Place(ids: 3000)
    try location.write(Bench.cachingPipeline, to: "p.pipeline.yaml")
    // Without a timeout, which a clock that jumps would let expire at once.
    try location.write(Bench.pipeline, to: "n.pipeline.yaml")
  }

  private func yaml(_ shape: Shape, _ sink: String, run: String = "concurrency: 8") -> String {
    let operation =
      switch shape {
      case .pages:
        """
          - id: feed
            query: "query($first: Int!, $after: String) { feed(first: $first, after: $after) { edges { node { id title body } } pageInfo { hasNextPage endCursor } } }"
            paginate: { connection: feed, page_size: { variable: first, start: 1 } }
            emit: feed.edges[*].node
        """
      case .tasks, .orderedTasks:
        """
          - id: users
            query: "query User($id: ID!) { user(id: $id) { id login } }"
            foreach: { csv: ids.csv, key: "{{row.id}}" }
            variables: { id: "{{row.id}}" }
            emit: user
        """
      }
    return """
      version: 1
      pipeline: \(sink == "cache" ? "p" : "n").pipeline.yaml
      run: { \(run), order: \(shape == .orderedTasks ? "output" : "declared") }
      sinks: [\(sink)]
      operations:
      \(operation)
      """
  }

  @Test(
    "a run whose output cannot be written ends with that error", arguments: Shape.allCases,
    Output.all)
  func outputFails(_ shape: Shape, _ output: Output) async throws {
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 100_000
    try await DemoServer.withServer(configuration) { server in
      let manifest = try Bench.load(yaml(shape, output.sink), in: location, url: server.url)
      let base = try CacheStore.sqlite(path: location.file("cache.db"))
      let store = WatchedStore(base: base.records) { () throws(CacheError) in
        throw CacheError(.storage, "no room")
      }
      let network = Bench.network()
      // The first answer finds the output broken: its descriptor leads to a full device.
      let breaking = BreakingTransport(network) { [path = location.path] in
        guard !output.isCache else { return }
        try Descriptors.redirect(from: path + "/o", to: "/dev/full")
      }
      let services = Services(
        transport: breaking, store: output.isCache ? CacheStore(store) : nil)
      await #expect(throws: StoppedByStorage.self) {
        _ = try await BatchRun(manifest, options: RunOptions(), services: services).run()
      }
      await network.shutdown()
      try base.close()
    }
  }

  @Test(
    "an output that fails ends a run although every worker waits for the server",
    arguments: Shape.allCases)
  func outputFailsWhileWaiting(_ shape: Shape) async throws {
    let manifest = try Bench.load(yaml(shape, "cache"), in: location, url: "http://127.0.0.1:9/")
    let base = try CacheStore.sqlite(path: location.file("cache.db"))
    let store = WatchedStore(base: base.records) { () throws(CacheError) in
      throw CacheError(.storage, "no room")
    }
    let transport = ScriptedTransport { request, number in
      // With `order: output`, only the first row writes anything: later ones wait for it.
      let isAnswered = shape == .pages ? number == 1 : request.contains(#""U_1""#)
      if !isAnswered {
        // No answer, until the request is cancelled.
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        for await _ in stream {}
        withExtendedLifetime(continuation) {}
        throw CancellationError()
      }
      return .data(
        #"{"user":{"id":"1","login":"a"},"feed":{"edges":[],"pageInfo":{"hasNextPage":true,"endCursor":"1"}}}"#
      )
    }
    await #expect(throws: StoppedByStorage.self) {
      _ = try await Bench.run(manifest, transport: transport, store: CacheStore(store))
    }
    try base.close()
  }

  @Test(
    "an interrupt, a deadline and too many failures end a run that waits for the server's pause",
    arguments: Shape.allCases, [StopReason.interrupted, .deadline, .tooManyFailures, .throttled])
  func stops(_ shape: Shape, _ reason: StopReason) async throws {
    let settings =
      switch reason {
      case .deadline: "concurrency: 8, deadline: 1ms, patience: 24h"
      case .tooManyFailures: "concurrency: 8, fail_fast: true, patience: 24h"
      case .throttled: "concurrency: 8, patience: 1s"
      default: "concurrency: 8, patience: 24h"
      }
    let manifest = try Bench.load(
      yaml(shape, "{ ndjson: { path: o } }", run: settings), in: location,
      url: "http://127.0.0.1:9/")
    let control = RunControl()
    let transport = ScriptedTransport { number in
      if reason == .interrupted, number == 3 { await control.stop() }
      // With `order: output`, a failure counts in its turn, so the first row must fail, too.
      let fails = shape == .orderedTasks ? number >= 3 : number % 3 == 0
      if reason == .tooManyFailures, fails { return .errors("no") }
      return .response(429, "", headers: ["Retry-After": "3600"])
    }
    let summary = try await Bench.run(
      manifest, control: control, transport: transport, clock: ServiceClock(TestClock.jumping()))
    #expect(summary.stop == reason)
    #expect(summary.outputs.map(\.records) == [summary.counters.records])
    #expect(summary.outputs.first?.text?.hasSuffix("o.part has 0 records") == true)
  }

  @Test(
    "rows that cannot be read end a run, and keep what ended before",
    arguments: [Shape.tasks, .orderedTasks], [1, 8])
  func brokenRows(_ shape: Shape, concurrency: Int) async throws {
    try await DemoServer.withServer { server in
      let padding = String(repeating: "x", count: 2_000)
      let rows = "id,padding\n" + (1...200).map { "U_\($0),\(padding)\n" }.joined()
      try location.write(rows, to: "ids.csv")
      let manifest = try Bench.load(
        yaml(shape, "{ ndjson: { path: o } }", run: "concurrency: \(concurrency)"), in: location,
        url: server.url)
      let network = Bench.network()
      // Rows are read in blocks: what is changed behind the first one is found in the middle of the run.
      let breaking = BreakingTransport(network) { [location] in
        let file = try #require(FileHandle(forUpdatingAtPath: location.file("ids.csv")))
        try file.seek(toOffset: 300_000)
        try file.write(contentsOf: Data("\"".utf8))
        try file.close()
      }
      await #expect(throws: InputProblem.self) {
        _ = try await BatchRun(
          manifest, options: RunOptions(), services: Services(transport: breaking)
        ).run()
      }
      try location.write(rows, to: "ids.csv")
      let rest = try await BatchRun(
        manifest, options: Bench.resuming, services: Services(transport: network)
      ).run()
      await network.shutdown()
      #expect(rest.stop == nil && rest.counters.alreadyDone > 0)
      #expect(rest.counters.alreadyDone + rest.counters.done == 200)
      let records = try location.lines("o")
      #expect(records.count == 200 && Set(records).count == 200)
    }
  }
}
