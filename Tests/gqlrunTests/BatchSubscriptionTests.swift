import Foundation
import GQLRunJSON
import Testing

/// Batches of subscriptions, against servers in processes of their own.
@Suite("gqlrun batch with subscriptions", .timeLimit(.minutes(10)))
struct BatchSubscriptionTests {
  private func folder(events: Int, endpoint: String = "${env:URL}") throws -> Folder {
    let folder = try Folder()
    try folder.write(
      """
      version: 1
      endpoint: { url: "\(endpoint)" }
      store: { kind: none }
      chain:
        - max-retry: { max_retries: 3, backoff: { base: 1ms, max: 1ms } }
        - fetch
        - response-code
        - parse

      """, to: "p.pipeline.yaml")
    try folder.write(
      """
      version: 1
      pipeline: p.pipeline.yaml
      sinks: [{ ndjson: { path: o.ndjson } }, { sqlite: { path: o.db } }]
      report: { json: r.json }
      operations:
        - id: counted
          query: "\(EventServer.subscription)"
          until: { events: \(events) }
          emit: counted

      """, to: "m.batch.yaml")
    return folder
  }

  /// The values of the events in the sink.
  private func values(_ folder: Folder) throws -> [Int] {
    try folder.text("o.ndjson").split(separator: "\n").compactMap {
      try JSONValue(parsing: String($0))["value"]?.intValue
    }
  }

  @Test("events are written until there are enough, and the subscription is ended", .needsPython)
  func events() async throws {
    let folder = try folder(events: 3)
    let result = try await EventServer.shell(
      "event event event event hold",
      line: """
        export URL; "$GQLRUN" batch run m.batch.yaml; echo $?
        until [ -e closed ]; do sleep 0.01; done
        """, in: folder)
    #expect(result.output == "0\n" && result.errors.contains("1 done, 3 records, "), "\(result)")
    #expect(try values(folder) == [1, 2, 3])
  }

  @Test("a lost connection is reported once, by the run, the status and the report", .needsPython)
  func gap() async throws {
    let folder = try folder(events: 3)
    let result = try await EventServer.shell(
      "event event", "event hold",
      line: """
        export URL; "$GQLRUN" batch run m.batch.yaml; echo $?
        "$GQLRUN" batch status m.batch.yaml
        """, in: folder)
    #expect(result.output.hasPrefix("0\n"), "\(result)")
    #expect(result.output.contains("gaps       1\ngap        counted"), "\(result)")
    #expect(result.errors.split(separator: "\n").count { $0.contains("may be missing") } == 1)
    #expect(result.errors.contains("3 records, 1 gap in events, "), "\(result)")
    #expect(try values(folder) == [1, 2, 3])
    let report = try JSONValue(parsing: folder.text("r.json"))
    #expect(report["gaps"]?.arrayValue?.first?["events"]?.intValue == 2)
  }

  @Test(
    "an interrupted or killed run is resumed at its number of events, and each event is there once",
    .needsPython, arguments: ["INT", "KILL"])
  func resumes(_ signal: String) async throws {
    let folder = try folder(events: 6)
    let result = try await EventServer.shell(
      "event event event hold", "event event event event event event hold",
      line: """
        export URL; "$GQLRUN" batch run m.batch.yaml 2> first & run=$!
        until_in '"value":3' o.ndjson.part
        kill -\(signal) $run; wait $run
        "$GQLRUN" batch run m.batch.yaml --resume; echo $?
        "$GQLRUN" batch status m.batch.yaml
        """, in: folder)
    #expect(result.output.hasPrefix("0\n"), "\(result)")
    let values = try values(folder)
    // What a killed run had not recorded yet is received again.
    let before = try #require(values.firstIndex { $0 > 3 })
    #expect(values == Array(1..<before + 1) + Array(4..<10 - before), "\(values)")
    if signal == "INT" { #expect(before == 3) }
    // A task of which nothing is recorded starts from the beginning.
    guard before > 0 else { return }
    #expect(
      result.output.contains("may be missing, after \(before) event")
        && result.output.contains("no run was listening"), "\(result)")
  }

  @Test("a subscription without an end is refused before anything is sent")
  func withoutEnd() async throws {
    let folder = try folder(events: 1, endpoint: "http://127.0.0.1:1/")
    let text = try folder.text("m.batch.yaml")
    try folder.write(text.replacing("    until: { events: 1 }\n", with: ""), to: "m.batch.yaml")
    let result = try await Program.run(["batch", "check", "m.batch.yaml"], in: folder)
    #expect(result.status == 65, "\(result)")
    #expect(result.errors.contains("the subscription `counted` has no end"), "\(result)")
    #expect(result.errors.contains("add `until: { events: 100 }`"), "\(result)")
  }

  @Test("the events of a real server, of two rows at a time", .needsRealServer)
  func realServer() async throws {
    let folder = try Folder()
    try folder.write(
      """
      version: 1
      endpoint: "\(RealServer.origin ?? "")/graphql"
      sinks: [{ csv: { path: o.csv } }]
      operations:
        - id: ticks
          query: "subscription T($n: Int!) { ticks(count: $n, intervalMs: 1) }"
          foreach: { inline: [{ n: 3 }, { n: 50 }] }
          variables: { n: "{{row.n}}" }
          until: { events: 5, for: 1m }
          expect: ["data.ticks >= 0", "page <= 5"]

      """, to: "m.batch.yaml")
    let result = try await Program.run(["batch", "run", "m.batch.yaml"], in: folder)
    // The first one completes; the second one is ended.
    #expect(result.status == 0 && result.errors.contains("2 done, 8 records"), "\(result)")
    let lines = try folder.text("o.csv").split(separator: "\n")
    #expect(lines.first == "ticks" && lines.dropFirst().sorted() == "00112234".map { "\($0)" })
  }
}
