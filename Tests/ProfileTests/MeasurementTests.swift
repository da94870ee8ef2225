import Foundation
import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import GQLRunTestSupport
import Testing

@testable import GQLRunProfile

@Suite("Measured runs")
struct MeasurementTests {
  private static let document = """
    query Feed($first: Int!) {
      feed(first: $first) {
        edges { cursor node { id title body author { id login bio } tags { id name } } }
      }
    }
    """

  private static func operation(_ posts: Int) throws -> PreparedOperation {
    try PreparedOperation(
      document: Document(parsing: document),
      variables: try #require(JSONValue(parsing: #"{"first":\#(posts)}"#).objectValue))
  }

  /// A response of so many posts in a file, for as long as the work takes.
  private static func withResponse<Result>(
    _ posts: Int, _ body: (PreparedOperation, String) async throws -> Result
  ) async throws -> Result {
    let operation = try operation(posts)
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("profile-\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: path) }
    var bytes: [UInt8] = []
    DemoExecutor(feedSize: posts).stream(
      operation.document, variables: .object(operation.variables)
    ) { bytes += $0 }
    try Data(bytes).write(to: path)
    return try await body(operation, path.path)
  }

  @Test("the stages of a job are within its total time")
  func job() async throws {
    try await Self.withResponse(500) { operation, path in
      let run = try await JobRun.run(
        operation, path: path, label: "memory", store: .memory())
      let size = try ResponseFile(path).size
      #expect(run.counts.bytes == size)
      #expect(run.counts.newRecords > 500)
      #expect(run.counts.events > 0)
      #expect(run.counts.resultBytes > 0)
      #expect(run.firstRecordSeconds != nil)
      #expect(run.parts[.sync] == nil)
      let parts = run.parts.values.reduce(0) { $0 + $1.wall }
      #expect(parts <= run.seconds)
      #expect(run.peakBytes > 0)
      #expect(!run.memory.isEmpty)
      #expect(run.pieceTimes[.feed]?.isEmpty == false)
    }
  }

  @Test("guard, parser and normalizer read every byte, and the stages add up to feeding")
  func stages() async throws {
    try await Self.withResponse(500) { operation, path in
      let stages = try await StagesRun.run(operation, path: path)
      #expect(stages.counts.bytes == (try ResponseFile(path).size))
      let job = try await JobRun.run(operation, path: path, label: "memory", store: .memory())
      let floor = try BaselineRun.floor(path)
      let report = try #require(
        JobReport(jobs: [job], stages: [stages], floor: [floor], lapCost: 50e-9))
      let feeding = report.stages
        .filter { [.textGuard, .parse, .normalize].contains($0.name) }
        .reduce(0) { $0 + $1.seconds.median }
      let fed = try #require(job.parts[.feed]?.wall)
      #expect(abs(feeding - fed) < fed / 1000)
      #expect(report.toFloor != nil)
      // `make check-profile` holds the share itself below 3 %, in the program that users run.
      let own = Double(job.laps) * 50e-9 + (job.parts[.marks]?.wall ?? 0)
      #expect(job.laps > 0 && abs(report.timerShare - own / job.seconds) < 1e-9)
    }
  }

  @Test("the stages and the profiler's own work add up to the time of the whole process")
  func sumOfStages() async throws {
    try await Self.withResponse(200) { operation, path in
      var run = try await JobRun.run(
        operation, path: path, label: "memory", store: .memory())
      run.parts[.plan] = PartTime(wall: 0.004)
      run.enclose(
        start: run.began &- 10_000_000, end: run.ended &+ 20_000_000, cpu: run.cpuSeconds + 0.02)
      let report = try #require(JobReport(jobs: [run], stages: [], floor: [], lapCost: 0))
      #expect(abs(report.seconds.median - run.workSeconds - 0.03) < 1e-9)
      #expect(abs(report.cpuSeconds.median - run.cpuSeconds - 0.02) < 1e-9)
      let stages = Dictionary(
        uniqueKeysWithValues: report.stages.map { ($0.name, $0.seconds.median) })
      #expect(abs((stages[.start] ?? 0) - 0.006) < 1e-9)
      #expect(stages[.plan] == 0.004)
      #expect(abs((stages[.end] ?? 0) - 0.02) < 1e-9)
      let sum = stages.values.reduce(0, +) + run.wall(.marks)
      // What is left of the whole is between the clocks: the counts after the commit, the making of the parser.
      #expect(sum <= report.seconds.median + 1e-9)
      #expect(abs(sum - run.parts.values.reduce(0) { $0 + $1.wall }) < 1e-9)
    }
  }

  @Test("parsing and writing are reported per chunk")
  func pieces() async throws {
    try await Self.withResponse(500) { operation, path in
      let run = try await JobRun.run(operation, path: path, label: "memory", store: .memory())
      let report = try #require(JobReport(jobs: [run], stages: [], floor: [], lapCost: 0))
      let pieces = (run.counts.bytes + ResponseFile.chunkSize - 1) / ResponseFile.chunkSize
      for name in [StageReport.Name.input, .storeWrite] {
        let stage = try #require(report.stages.first { $0.name == name })
        #expect(stage.perPiece?.count == pieces, "\(name)")
      }
    }
  }

  @Test("one-time costs of the first chunk are not attributed to a stage")
  func firstPiece() throws {
    var job = RunMeasurement(kind: .job, label: "memory")
    job.seconds = 1
    job.parts = [.feed: PartTime(wall: 1, cpu: 1)]
    var stages = RunMeasurement(kind: .stages, label: "stages")
    // Loading the parser's code took a hundred times what a piece takes.
    stages.pieceTimes = [
      .textGuard: [10, 10, 10, 10], .parse: [10_000, 40, 40, 40], .normalize: [100, 100, 100, 100],
    ]
    stages.parts = stages.pieceTimes.mapValues {
      PartTime(wall: Double($0.reduce(0, +)) / 1e9, cpu: 0)
    }
    let report = try #require(JobReport(jobs: [job], stages: [stages], floor: [], lapCost: 0))
    let shares = Dictionary(uniqueKeysWithValues: report.stages.map { ($0.name, $0.share) })
    #expect(abs((shares[.textGuard] ?? 0) - 0.1) < 1e-9)
    #expect(abs((shares[.parse] ?? 0) - 0.3) < 1e-9)
    #expect(abs((shares[.normalize] ?? 0) - 0.6) < 1e-9)
  }

  @Test("a store with slow file synchronization is reported as the bottleneck")
  func slowStore() async throws {
    try await Self.withResponse(50) { operation, path in
      let began = StageClock.wall()
      let run = try await JobRun.run(operation, path: path, label: "slow", store: .memory()) {
        // Four times as long as everything before, whatever the machine did in it.
        let now = StageClock.wall()
        let end = now + 4 * (now - began) + 500_000_000
        while StageClock.wall() < end {}
      }
      let report = try #require(JobReport(jobs: [run], stages: [], floor: [], lapCost: 0))
      #expect(report.bottleneck.hasPrefix("sync takes"))
      #expect(report.stages.first { $0.name == .sync }?.share ?? 0 > 0.5)
    }
  }

  @Test("a SQLite store is measured with the size of its file")
  func sqlite() async throws {
    try await Self.withResponse(50) { operation, path in
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).db").path
      defer { for end in ["", "-wal", "-shm"] { unlink(file + end) } }
      let store = try CacheStore.sqlite(path: file)
      let run = try await JobRun.run(
        operation, path: path, label: "sqlite", store: store, files: [file]
      ) {
        try await store.checkpoint()
      }
      try store.close()
      #expect(run.counts.fileBytes ?? 0 > 0)
      #expect(run.parts[.sync] != nil)
      #expect(run.counts.resultBytes > 0)
    }
  }

  @Test("both baselines read the same bytes")
  func baselines() async throws {
    try await Self.withResponse(20) { _, path in
      let size = try ResponseFile(path).size
      #expect(try BaselineRun.floor(path).counts.bytes == size)
      #expect(try BaselineRun.foundation(path).counts.bytes == size)
    }
  }

  @Test(
    "an unusable response is an error for every kind of run",
    arguments: ["", "<html>", #"{"data":{"feed":"#, "[]", #"{"x":1}"#])
  func badResponses(text: String) async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("bad-\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: path) }
    try Data(text.utf8).write(to: path)
    let operation = try Self.operation(1)
    await #expect(throws: (any Error).self) {
      try await JobRun.run(operation, path: path.path, label: "", store: .memory())
    }
    await #expect(throws: (any Error).self) {
      try await StagesRun.run(operation, path: path.path)
    }
  }

  @Test("a folder and a missing file are errors")
  func notAFile() {
    #expect(throws: ProfileError.self) { try ResponseFile("/") }
    #expect(throws: ProfileError.self) { try ResponseFile("/none/none.json") }
  }

  private static func pipeline(_ url: String, chain: String) throws -> Pipeline {
    let source = """
      version: 1
      endpoint: { url: "\(url)" }
      chain: [\(chain)]
      """
    return try PipelineFile.load(
      Array(source.utf8), file: "t.pipeline.yaml", registry: .builtIn, environment: .process
    ).pipeline
  }

  /// How much of the whole time of a fetch its phases tell of.
  private static func share(_ fetch: FetchMeasurement) -> Double {
    fetch.phases.values.reduce(0, +) / fetch.seconds
  }

  @Test("a fetch separates waiting from parsing, and keeps the body for the stages")
  func fetch() async throws {
    try await DemoServer.withServer { server in
      let meter = ConnectionMeter()
      let transport = AsyncHTTPTransport(meter: meter)
      let pipeline = try Self.pipeline(
        server.url, chain: "{ fetch: { max_connections: 1 } }, response-code, parse")
      let services = Services(transport: transport, clock: meter.clock)
      let runner = PipelineRunner(pipeline, services: services)
      let copy = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).json")
      defer { try? FileManager.default.removeItem(at: copy) }
      let operation = try Self.operation(200)
      let request = GraphQLRequest(operation)
      let fetch = try await FetchRun.run(runner, request, copy: copy.path, meter: meter)
      let again = try await FetchRun.run(runner, request, meter: meter)
      // The machine may stand still between two phases, but hardly each time.
      var best = 0.0
      for _ in 0..<10 where best <= 0.5 {
        best = max(best, Self.share(try await FetchRun.run(runner, request, meter: meter)))
      }
      #expect(best > 0.5, "the phases are most of the whole")
      await transport.shutdown()
      #expect(fetch.bytes == (try ResponseFile(copy.path).size))
      #expect(try #require(fetch.phases[.firstByte]) > 0)
      // The first request makes the connection, the second finds it open.
      #expect(try #require(fetch.phases[.connect]) > 0)
      #expect(again.phases[.connect] == nil)
      #expect(meter.count == 1)
      // Bytes of the network: the body in chunks with their lengths, and the head.
      #expect(try #require(fetch.wireBytes) > fetch.bytes)
      #expect(abs(try #require(again.wireBytes) - (try #require(fetch.wireBytes))) < 100)
      for fetch in [fetch, again] { #expect(Self.share(fetch) <= 1.001) }
      let run = try await JobRun.run(
        operation, path: copy.path, label: "memory", store: .memory())
      #expect(run.counts.newRecords > 200)
    }
  }

  @Test("operations that http-batch joins are fewer HTTP requests")
  func joinedOperations() async throws {
    var configuration = DemoServer.Configuration()
    configuration.maxBatch = 5
    try await DemoServer.withServer(configuration) { server in
      let transport = AsyncHTTPTransport()
      let pipeline = try Self.pipeline(
        server.url, chain: "{ http-batch: { window: 10s, max: 5 } }, fetch, response-code, parse")
      // The window ends by the number of its operations: its time does not pass.
      let services = Services(transport: transport, clock: ServiceClock(TestClock()))
      let measured = PipelineRequest(
        PipelineRunner(pipeline, services: services),
        GraphQLRequest(try Self.operation(1)))
      await withTaskGroup { group in
        for _ in 0..<20 {
          group.addTask {
            let outcome = await measured.perform()
            #expect(outcome.failure == nil)
          }
        }
      }
      await transport.shutdown()
      #expect(measured.sentRequests == 4 && server.requestCount == 4)
    }
  }
}
