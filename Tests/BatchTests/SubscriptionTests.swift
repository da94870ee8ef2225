import GQLRunJSON
import GQLRunPipeline
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite("Subscriptions in a batch", .timeLimit(.minutes(10)))
struct SubscriptionTests {
  private let location: Place

  init() throws {
    location = try Place()
    try location.write(
      Bench.pipeline.replacing(
        "[fetch", with: "[{ max-retry: { backoff: { base: 1ms, max: 1ms } } }, fetch"),
      to: "r.pipeline.yaml")
  }

  private func manifest(
    until: String, pipeline: String = "p", run: String = "concurrency: 2", more: String = "",
    sink: String = "ndjson: { path: o, lines: records }"
  ) throws -> Manifest {
    try Bench.load(
      """
      version: 1
      pipeline: \(pipeline).pipeline.yaml
      run: { \(run) }
      sinks: [{ \(sink) }]
      operations:
        - id: counts
          query: "subscription C { count }"
          until: \(until)
          \(more)
      """, in: location)
  }

  private func counts(_ name: String = "o") throws -> [Int] {
    try location.lines(name).compactMap { try JSONValue(parsing: $0)["count"]?.intValue }
  }

  private func status(_ manifest: Manifest) throws -> String {
    try RunInspection(manifest).status()
  }

  // MARK: Ends

  @Test("a task ends with its number of events, each of them a record")
  func events() async throws {
    let manifest = try manifest(until: "{ events: 3 }")
    let transport = EventTransport(.steps([.event, .event, .event, .event, .hold]))
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.stop == nil && summary.counters.done == 1 && summary.counters.records == 3)
    #expect(summary.counters.gaps == 0)
    #expect(try counts() == [1, 2, 3])
  }

  @Test("a task ends when the server completes the subscription, also without events")
  func completed() async throws {
    let manifest = try manifest(until: "{ events: 9 }")
    for count in [2, 0] {
      let steps = Array(repeating: EventTransport.Step.event, count: count) + [.complete]
      let summary = try await Bench.run(manifest, transport: EventTransport(.steps(steps)))
      #expect(summary.counters.done == 1 && summary.counters.records == count)
      #expect(try counts().count == count)
    }
  }

  @Test("a task ends when its time is up, which counts over all runs")
  func time() async throws {
    let manifest = try manifest(until: "{ events: 100, for: 10m }")
    let clock = TestClock()
    let control = RunControl()
    let first = EventTransport(
      .steps([
        .event, .act { clock.advance(by: .seconds(400)) }, .event, .act { await control.stop() },
        .hold,
      ]))
    let stopped = try await Bench.run(
      manifest, control: control, transport: first, clock: ServiceClock(clock))
    #expect(stopped.stop == .interrupted)
    let second = EventTransport(
      .steps([
        .event, .act { clock.advance(by: .seconds(199)) }, .event,
        .act { clock.advance(by: .seconds(1)) }, .hold,
      ]))
    let summary = try await Bench.run(
      manifest, Bench.resuming, transport: second, clock: ServiceClock(clock))
    #expect(summary.stop == nil && summary.counters.done == 1)
    #expect(try counts() == [1, 2, 1, 2])
  }

  @Test("a task that has listened for longer than any duration, as in a damaged journal, has ended")
  func endlessTime() async throws {
    let manifest = try manifest(until: "{ events: 9, for: 10m }")
    let control = RunControl()
    let transport = EventTransport(.steps([.event, .act { await control.stop() }, .hold]))
    _ = try await Bench.run(manifest, control: control, transport: transport)
    let path = try #require(try JournalFolder(manifest).newest())
    try location.execute("UPDATE tasks SET ms = 9e999", in: path)
    let summary = try await Bench.run(manifest, Bench.resuming, transport: transport)
    #expect(summary.counters.done == 1 && transport.count == 1)
  }

  // MARK: Gaps

  @Test(
    "a lost connection is a gap, whether the chain or the run connects again",
    arguments: ["p", "r"])
  func lostConnection(_ pipeline: String) async throws {
    let manifest = try manifest(until: "{ events: 4 }", pipeline: pipeline)
    let transport = EventTransport(
      .steps([.event, .event, .lose]), .steps([.event, .lose]), .steps([.event, .hold]))
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.done == 1 && summary.counters.gaps == 2)
    #expect(try counts() == [1, 2, 3, 4])
    let status = try status(manifest)
    #expect(status.contains("gaps       2\n"), "\(status)")
    #expect(status.contains("gap        counts: events from "), "\(status)")
    #expect(status.contains("may be missing, after 2 events: "), "\(status)")
    #expect(status.contains("after 3 events: ") && status.contains("the connection was lost"))
    let report = try JSONValue(parsing: RunInspection(manifest).report())
    #expect(report["gap_count"]?.intValue == 2)
    #expect(report["gaps"]?.arrayValue?.map { $0["events"]?.intValue } == [2, 3])
    let journal = try Journal(
      path: try #require(try JournalFolder(manifest).newest()), isReadOnly: true)
    defer { journal.close() }
    let page = try ReportData(journal, manifest: manifest).page(manifest)
    #expect(page.contains("<h2>Gaps in events</h2>") && page.contains("after 3 events"), "\(page)")
  }

  @Test("a server that refuses a subscription is asked again, without a gap before the first event")
  func refused() async throws {
    let manifest = try manifest(until: "{ events: 1 }")
    let transport = EventTransport(.refuse(503), .refuse(429), .steps([.event, .hold]))
    let summary = try await Bench.run(
      manifest, transport: transport, clock: ServiceClock(TestClock.jumping()))
    #expect(summary.counters.done == 1 && summary.counters.gaps == 0)
    #expect(transport.count == 3)
  }

  @Test("the patience of the run limits how long the chain tries to connect again")
  func patience() async throws {
    for (run, expected) in [("3s", 3.0), ("1h", 300)] {
      let found = try manifest(until: "{ events: 9 }", pipeline: "r", run: "patience: \(run)")
      #expect(found.pipeline.subscriptions.patience == .seconds(expected))
    }
    let manifest = try manifest(
      until: "{ events: 9 }", pipeline: "r", run: "concurrency: 2, patience: 3s")
    let transport = EventTransport(.steps([.event, .event, .lose]), .refuse(503))
    let summary = try await Bench.run(
      manifest, transport: transport, clock: ServiceClock(TestClock.jumping()))
    #expect(summary.stop != nil && summary.counters.records == 2)
    // In five minutes, there would be hundreds.
    #expect(transport.count < 60)
  }

  @Test("a resumed task continues at its number of events, and the time between the runs is a gap")
  func resumes() async throws {
    let manifest = try manifest(until: "{ events: 4 }")
    let control = RunControl()
    let transport = EventTransport(
      .steps([.event, .event, .act { await control.stop() }, .hold]),
      .steps([.event, .event, .event, .hold]))
    let stopped = try await Bench.run(manifest, control: control, transport: transport)
    #expect(stopped.stop == .interrupted && stopped.counters.done == 0)
    #expect(stopped.counters.records == 2)
    let summary = try await Bench.run(manifest, Bench.resuming, transport: transport)
    #expect(summary.stop == nil && summary.counters.done == 1 && summary.counters.gaps == 1)
    #expect(summary.counters.records == 2)
    #expect(try counts() == [1, 2, 3, 4])
    let status = try status(manifest)
    #expect(status.contains("after 2 events: no run was listening"), "\(status)")
    let report = try JSONValue(parsing: RunInspection(manifest).report())
    #expect(report["records"]?.intValue == 4, "the events of both runs")
  }

  @Test("a task whose events were all delivered before an interruption needs no connection")
  func resumesAtTheEnd() async throws {
    let control = RunControl()
    let transport = EventTransport(
      .steps([.event, .event, .act { await control.stop() }, .hold]))
    _ = try await Bench.run(
      manifest(until: "{ events: 9 }"), control: control, transport: transport)
    let summary = try await Bench.run(
      manifest(until: "{ events: 2 }"), Bench.resuming, transport: transport)
    #expect(summary.counters.done == 1 && summary.counters.gaps == 0)
    #expect(transport.count == 1)
    #expect(try counts() == [1, 2])
  }

  @Test(
    "with gaps: inline a gap is a line before the next event, among records and among results",
    arguments: ["records", "results"])
  func inlineGaps(_ lines: String) async throws {
    let manifest = try manifest(
      until: "{ events: 3 }", sink: "ndjson: { path: o, lines: \(lines), gaps: inline }")
    let transport = EventTransport(.steps([.event, .lose]), .steps([.event, .event, .hold]))
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.records == 3 && summary.counters.gaps == 1)
    let found = try location.lines("o").map { try JSONValue(parsing: $0) }
    #expect(found.map { $0["gap"] != nil } == [false, true, false, false])
    let gap = try #require(found[1]["gap"])
    #expect(
      gap.objectValue?.map(\.key)
        == ["op", "key", "events", "since", "until", "lostConnection", "cause"])
    for time in ["since", "until"] {
      let text = try #require(gap[time]?.stringValue)
      #expect(text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil, "\(text)")
    }
    #expect(gap["cause"]?.stringValue?.contains("the connection was lost") == true)
    #expect(gap["op"] == "counts" && gap["key"] == "" && gap["events"]?.intValue == 1)
    let status = try status(manifest)
    #expect(status.contains("sink       ") && status.contains(": 3 records, "), "\(status)")
  }

  @Test("a subscription that completes before the next event has its gap at the end")
  func gapAtTheEnd() async throws {
    let manifest = try manifest(
      until: "{ events: 9 }", sink: "ndjson: { path: o, lines: records, gaps: inline }")
    let transport = EventTransport(.steps([.event, .lose]), .steps([.complete]))
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.done == 1 && summary.counters.gaps == 1)
    #expect(try location.lines("o").map { $0.contains("\"gap\"") } == [false, true])
  }

  @Test("gaps in a file are part of what it has, and only subscriptions have some")
  func checksGaps() async throws {
    let control = RunControl()
    let transport = EventTransport(
      .steps([.event, .event, .act { await control.stop() }, .hold]))
    _ = try await Bench.run(
      manifest(until: "{ events: 9 }"), control: control, transport: transport)
    let changed = try manifest(
      until: "{ events: 9 }", sink: "ndjson: { path: o, lines: records, gaps: inline }")
    let error = await #expect(throws: StoppedByStorage.self) {
      _ = try await Bench.run(changed, Bench.resuming, transport: transport)
    }
    #expect(
      error?.message.contains("(records before, records, gaps now)") == true, "\(error as Any)")
    let found = try Bench.findings(
      """
      version: 1
      sinks: [{ ndjson: { gaps: inline } }]
      operations: [{ id: a, query: "{ count }" }]
      """, in: location)
    #expect(found.count == 1, "\(found)")
    #expect(
      found.first?.contains("`gaps` is for the events of subscriptions, and the sink receives none")
        == true, "\(found)")
  }

  // MARK: Failures

  @Test("an event with errors fails the task; `--only failed` continues after the events before it")
  func errors() async throws {
    let manifest = try manifest(until: "{ events: 2 }")
    let transport = EventTransport(
      .steps([.event, .error, .event, .hold]), .steps([.event, .hold]))
    let failed = try await Bench.run(manifest, transport: transport)
    #expect(failed.counters.failed == 1 && failed.counters.records == 1)
    let summary = try await Bench.run(manifest, Bench.repeating, transport: transport)
    #expect(summary.counters.done == 1 && summary.counters.gaps == 1)
    #expect(try counts() == [1, 2])
  }

  @Test("an event with errors is a result where `expect` allows it")
  func expectedErrors() async throws {
    let manifest = try manifest(
      until: "{ events: 3 }", more: "expect: [\"page <= 3\", \"errors != 5\"]",
      sink: "ndjson: { path: o, lines: results }")
    let transport = EventTransport(.steps([.event, .error, .event, .hold]))
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.done == 1)
    let lines = try location.lines("o").map { try JSONValue(parsing: $0) }
    #expect(lines.map { $0["page"]?.intValue } == [1, 2, 3])
    #expect(lines.map { $0["data"]?["count"]?.intValue } == [1, nil, 2])
  }

  @Test("refused credentials end the run")
  func unauthorized() async throws {
    let summary = try await Bench.run(
      manifest(until: "{ events: 3 }"), transport: EventTransport(.refuse(401)))
    #expect(summary.stop == .unauthorized)
  }

  @Test("with `order: output` the events of a row follow those of the rows before it")
  func ordered() async throws {
    let manifest = try manifest(
      until: "{ events: 2 }", run: "concurrency: 3, order: output",
      more: "foreach: { inline: [{ n: 1 }, { n: 2 }, { n: 3 }], key: \"{{row.n}}\" }",
      sink: "ndjson: { path: o, lines: results }")
    let summary = try await Bench.run(
      manifest, transport: EventTransport(.steps([.event, .event, .hold])))
    #expect(summary.counters.done == 3)
    let keys = try location.lines("o").map { try JSONValue(parsing: $0)["key"]?.stringValue }
    #expect(keys == ["1", "1", "2", "2", "3", "3"])
  }

  // MARK: Manifests

  @Test(
    "a subscription needs an end, and other operations have none",
    arguments: [
      (
        "query: \"subscription S { count }\"",
        "3:5 P003 the subscription `a` has no end | add `until: { events: 100 }`"
      ),
      (
        "query: \"subscription S { count }\", until: {}",
        "3:56 P003 the subscription `a` has no end | add `until: { events: 100 }`"
      ),
      (
        "query: \"{ count }\", until: { events: 3 }",
        "3:34 P003 `until` is the end of a subscription, and `a` is a query | remove it"
      ),
      (
        "query: \"subscription S { count }\", until: { for: 1m }, snapshot: s.json",
        "3:69 P003 `snapshot` is for queries, and `a` is a subscription | remove it"
      ),
      (
        "query: \"subscription S { count }\", until: { events: 0 }",
        "3:66 P003 `events` of `until` of the operation `a` takes an integer from 1 to 1000000000 |"
      ),
    ])
  func checks(_ keys: String, _ expected: String) throws {
    let found = try Bench.findings(
      "version: 1\noperations:\n  - { id: a, \(keys) }", in: location)
    #expect(found.count == 1 && found[0].hasPrefix(expected), "\(found)")
  }
}
