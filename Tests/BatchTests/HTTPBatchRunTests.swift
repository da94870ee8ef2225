import GQLRunDemoServer
import GQLRunJSON
import GQLRunPipeline
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

/// Runs whose pipeline sends several operations in one HTTP request.
///
/// The requests follow one another, so the runs are slow beside other tests.
@Suite(.timeLimit(.minutes(10))) struct HTTPBatchRunTests {
  private let location: Place

  init() throws {
    location = try Place()
    try location.write(Bench.country, to: "q.graphql")
    // With as many tasks in flight as a request takes, each request is sent when it is full; the clock of the
    // runs does not advance, so the window never ends by itself.
    try location.write(
      """
      version: 1
      endpoint: { url: http://127.0.0.1:1/graphql }
      store: { kind: none }
      chain:
        - http-batch: { window: 10s, max: 10 }
        - fetch
        - response-code
        - parse
      """, to: "p.pipeline.yaml")
  }

  /// Runs a row for each code against a demo server that accepts arrays of up to `limit` operations.
  private func run(
    _ codes: [String], limit: Int
  ) async throws -> (summary: RunSummary, requests: Int) {
    let rows = codes.enumerated().map { "\($0.offset),\($0.element)\n" }
    try location.write("n,code\n" + rows.joined(), to: "rows.csv")
    var configuration = DemoServer.Configuration()
    configuration.maxBatch = limit
    return try await DemoServer.withServer(configuration) { server in
      let manifest = try Bench.load(
        """
        version: 1
        pipeline: p.pipeline.yaml
        run: { concurrency: 10 }
        sinks: [{ ndjson: { path: o.ndjson } }]
        operations:
          - id: countries
            document: q.graphql
            foreach: { csv: rows.csv, key: "{{row.n}}" }
            variables: { code: "{{row.code}}" }
            expect: ["data.country != null"]
        """, in: location, url: server.url)
      let summary = try await Bench.run(manifest, clock: ServiceClock(TestClock()))
      return (summary, server.requestCount)
    }
  }

  @Test func `a thousand rows are sent in a hundred requests, each with its own outcome`()
    async throws
  {
    // Every row has its own variables or its own key; the codes of every seventh do not exist.
    let known = ["DE", "FR", "PT", "ES", "IT", "PL"]
    let codes = (0..<1_000).map { $0 % 7 == 6 ? "ZZ" : known[$0 % 7] }
    let (summary, requests) = try await run(codes, limit: 10)
    #expect(requests == 100)
    #expect(summary.counters.done == 858 && summary.counters.failed == 142)
    let lines = try location.lines("o.ndjson").map { try JSONValue(parsing: $0) }
    for line in lines {
      let row = try #require(line["key"]?.stringValue.flatMap { Int($0) })
      let code = codes[row]
      #expect(line["ok"] == .boolean(code != "ZZ"), "\(line)")
      if code != "ZZ" { #expect(line["data"]?["country"]?["code"] == .string(code), "\(line)") }
    }
  }

  @Test func `a server that refuses arrays gets every row by itself`() async throws {
    let (summary, requests) = try await run(Array(repeating: "PT", count: 30), limit: 0)
    #expect(summary.counters.done == 30 && summary.counters.failed == 0)
    #expect(requests == 31)
  }
}
