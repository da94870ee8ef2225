import Foundation
import GQLRunJSON
import GQLRunPipeline
import GRDB
import Testing

@testable import GQLRunBatch

@Suite("Reasons of failed tasks")
struct FailureReasonsTests {
  private let location: Place

  init() throws { location = try Place() }

  private func manifest(_ count: Int, key: String = #", key: "{{row.id}}""#, more: String = "")
    throws -> Manifest
  {
    try location.write(Bench.ids(count), to: "ids.csv")
    return try Bench.load(
      """
      version: 1
      pipeline: p.pipeline.yaml
      run: { concurrency: 1 }
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations:
        - id: users
          document: u.graphql
          foreach: { csv: ids.csv\(key) }
          variables: { id: "{{row.id}}" }
          \(more)
      """, in: location)
  }

  @Test("tasks that differ only in key, quoted text and numbers have one reason, the first message")
  func grouping() async throws {
    let manifest = try manifest(40)
    let transport = RowTransport(answer: { row, _ in
      switch row {
      case 3, 5, 30: .errors("no user U_\(row) after \(row * 7) ms")
      case 4: .response(500, "broken")
      case 7, 8: .response(502, "broken")
      default: nil
      }
    })
    let summary = try await Bench.run(manifest, transport: transport)
    let reasons = try #require(summary.failures).all
    #expect(reasons.map(\.count) == [3, 1, 2])
    #expect(reasons.map(\.first) == ["U_3", "U_4", "U_7"])
    #expect(reasons.map(\.http) == [200, 500, 502])
    #expect(reasons.allSatisfy { $0.operation == "users" })
    #expect(reasons[0].message == "the response has 1 error: no user U_3 after 21 ms")
    let inspection = try RunInspection(manifest, journal: summary.journal)
    #expect(try inspection.failureReasons().all == reasons)
    let last = try #require(reasons.last)
    let journal = try Journal(path: summary.journal, isReadOnly: true)
    defer { journal.close() }
    #expect(
      last.lastEnded
        == (try journal.read {
          try Double.fetchOne($0, sql: "SELECT ended FROM tasks WHERE key = 'U_8'")
        }))
  }

  @Test("the reasons of a resumed run are those of its own tasks; the journal has all")
  func resumed() async throws {
    let manifest = try manifest(4)
    let failing = RowTransport(answer: { row, _ in row == 2 ? .errors("first") : nil })
    let first = try await Bench.run(manifest, transport: failing)
    #expect(first.failures?.all.map(\.count) == [1])
    let second = try await Bench.run(manifest, Bench.resuming, transport: failing)
    #expect(second.failures == nil)
    #expect(second.counters.earlier[.failed] == 1)
    #expect(
      try RunInspection(manifest, journal: second.journal).failureReasons().all.map(\.first)
        == ["U_2"])
    let third = try await Bench.run(manifest, Bench.repeating, transport: RowTransport())
    #expect(third.failures == nil)
    #expect(try RunInspection(manifest, journal: third.journal).failureReasons().all.isEmpty)
  }

  @Test("without a key, the first task is its row")
  func rows() async throws {
    let transport = RowTransport(answer: { row, _ in row == 2 ? .errors("no") : nil })
    let summary = try await Bench.run(manifest(3, key: ""), transport: transport)
    #expect(summary.failures?.all.map(\.first) == ["row 3"], "the header is row 1")
  }

  @Test(
    "a secret in the data of a failed condition is hidden, in the summary, the journal and sinks")
  func secrets() async throws {
    let services = Services(
      transport: ScriptedTransport { _ in .data(#"{"user":{"id":"canary-77","login":"a"}}"#) })
    services.secrets.insert(SecretString("canary-77"))
    let manifest = try manifest(1, more: #"expect: ["data.user.id == data.user.login"]"#)
    let summary = try await Bench.run(manifest, services: services)
    let reasons = try #require(summary.failures)
    #expect(reasons.all.first?.message.contains("•••") == true)
    #expect(!reasons.json(manifest.file).contains("canary"))
    #expect(!(try RunInspection(manifest, journal: summary.journal).report()).contains("canary"))
    let line = try JSONValue(parsing: location.text("o.ndjson"))
    #expect(line["errors"]?.jsonText().contains("canary") == false)
  }

  @Test("more reasons than are kept are counted")
  func many() async throws {
    let count = FailureReasons.most + 20
    let letters = Array("abcdefghijklmnopqrstuvwxyz")
    let transport = RowTransport(answer: { row, _ in
      .errors("reason \(letters[row / 676 % 26])\(letters[row / 26 % 26])\(letters[row % 26])")
    })
    let summary = try await Bench.run(manifest(count), transport: transport)
    let reasons = try #require(summary.failures)
    #expect(reasons.all.count == FailureReasons.most && reasons.others == 20)
  }

  @Test(
    "the shape of a message has no keys, quoted text, numbers and long identifiers",
    arguments: [
      ("user U_7 not found", "user # not found"), ("user U_71 not found", "user U_71 not found"),
      (#"expected "a b", found "c"#, #"expected "", found "c"#), ("HTTP 503", "HTTP #"),
      ("see 0b6c1c9e-6a8f-4f9e-9a51-0d3e4b8a1c22", "see #"), ("", ""), ("naïve 7", "naïve #"),
    ])
  func shape(_ message: String, _ shape: String) {
    #expect(FailureReasons.shape(message, key: "U_7") == shape)
  }
}
