import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPostgres
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

private func decide(
  _ decision: TaskResolution.Decision, _ state: TaskState, _ keys: [String] = [],
  operation: String? = nil
) -> TaskResolution {
  TaskResolution(
    decision, of: state, keys: keys, operation: operation, user: "ada@build7", time: 1_790_000_000)
}

@Suite("Decisions about failed and unknown tasks", .timeLimit(.minutes(10)))
struct TaskResolutionTests {
  private let location: Place

  init() throws { location = try Place(ids: 5) }

  /// Five mutations, one after the other.
  static let likes = """
    version: 1
    run: { concurrency: 1 }
    sinks: [{ ndjson: { path: o.ndjson } }]
    operations:
      - id: likes
        query: "mutation Like($id: ID!) { user: likePost(id: $id) { id } }"
        foreach: { csv: ids.csv, key: "{{row.id}}" }
        variables: { id: "{{row.id}}" }
        emit: user
    """

  private func message(_ body: () throws -> TaskResolution.Resolved) throws -> String {
    try #require(#expect(throws: JournalError.self) { _ = try body() }).description
  }

  @Test(
    "unknown mutations are done or sent again as the user says, and the journal notes who said so")
  func resolve() async throws {
    let manifest = try Bench.load(Self.likes, in: location)
    let first = try await Bench.run(manifest, transport: RowTransport(lost: [2, 4, 5]))
    #expect(first.counters.unknown == 3 && first.hasFailures)
    let again = RowTransport()
    let second = try await Bench.run(manifest, Bench.resuming, transport: again)
    #expect(second.counters.earlier.byState == [.done: 2, .unknown: 3])
    #expect(second.hasFailures && second.earlier[.unknown] == 3)
    #expect(await again.arrived == [])
    let reasons = try RunInspection(manifest).failureReasons()
    #expect(reasons.unknown == 3 && reasons.all.map(\.keys) == [["U_2", "U_4", "U_5"]])

    #expect(try decide(.done, .unknown, ["U_4"]).apply(to: manifest).count == 1)
    #expect(try decide(.retry, .unknown).apply(to: manifest).count == 2)
    let status = try RunInspection(manifest).status()
    #expect(status.contains("tasks are left; --resume continues it"), "\(status)")
    let path = try #require(try JournalFolder(manifest).newest())
    let open = try Journal(path: path, isReadOnly: true)
    try ReportData(open, manifest: manifest).writeJUnit(to: location.file("j.xml"))
    open.close()
    let junit = try location.text("j.xml")
    #expect(junit.contains("errors=\"0\" skipped=\"2\""), "\(junit)")
    #expect(junit.components(separatedBy: "<skipped ").count == 3)
    let third = try await Bench.run(manifest, Bench.resuming, transport: again)
    #expect(await again.arrived == [2, 5])
    #expect(third.counters.done == 2 && !third.hasFailures)
    #expect(
      try location.lines("o.ndjson").count == 4, "a task that is recorded as done has no output")
    let report = try JSONValue(parsing: RunInspection(manifest).report())
    #expect(report["tasks"]?["done"]?.intValue == 5)
    #expect(report["resolved"]?.arrayValue?.map { $0["key"]?.stringValue } == ["U_4"])
    let note = try #require(report["resolved"]?[0]?["error"]?.stringValue)
    #expect(note.hasPrefix("recorded as done by ada@build7 at 2026-09-21T14:13:20Z; before: "))
    #expect(note.contains("closed"), "\(note)")
    let journal = try Journal(path: third.journal, isReadOnly: true)
    defer { journal.close() }
    let tasks = try ReportData.tasks(journal, "key = 'U_2'")
    #expect(tasks.map(\.attempts) == [2], "the attempts of both runs")
  }

  @Test("a key with a space is one word of the commands in messages")
  func keyWithSpace() async throws {
    let text = Self.likes.replacing("key: \"{{row.id}}\"", with: "key: \"like {{row.id}}\"")
    let manifest = try Bench.load(text, in: location)
    _ = try await Bench.run(manifest, transport: RowTransport(lost: [2], failing: [3]))
    let unknown = try message { try decide(.retry, .failed, ["like U_2"]).apply(to: manifest) }
    #expect(unknown.contains("--retry 'like U_2' sends it again"), "\(unknown)")
    let failed = try message { try decide(.done, .unknown, ["like U_3"]).apply(to: manifest) }
    #expect(failed.contains(" 'like U_3' runs it again"), "\(failed)")
  }

  @Test("keys that name no such task are all reported, and nothing is changed")
  func wrongKeys() async throws {
    let manifest = try Bench.load(Self.likes, in: location)
    _ = try await Bench.run(manifest, transport: RowTransport(lost: [2], failing: [3]))
    let text = try message {
      try decide(.done, .unknown, ["U_2", "U_1", "U_3", "x"]).apply(to: manifest)
    }
    #expect(text.contains("the task `U_1` of `likes` is done, not unknown"), "\(text)")
    #expect(text.contains("`U_3` of `likes` failed, so its outcome is known; gqlrun batch retry"))
    #expect(text.contains("no task has the key `x`"), "\(text)")
    let other = try message { try decide(.retry, .failed, ["U_2"]).apply(to: manifest) }
    #expect(other.contains("gqlrun batch resolve") && other.contains("--retry U_2"), "\(other)")
    let absent = try message {
      try decide(.retry, .failed, operation: "like").apply(to: manifest)
    }
    #expect(absent.contains("no operation `like`; did you mean `likes`?"), "\(absent)")
    let counts = try RunInspection(manifest).failureReasons().all.map(\.state)
    #expect(counts == [.unknown, .failed])
  }

  @Test(
    "a key of several operations needs the operation; without rows, the operation's id is the key")
  func operations() async throws {
    let manifest = try Bench.load(
      Self.likes + """

          - id: follows
            query: "mutation Follow($id: ID!) { user: likePost(id: $id) { id } }"
            foreach: { csv: ids.csv, key: "{{row.id}}" }
            variables: { id: "{{row.id}}" }
          - id: single
            query: "mutation Single { user: likePost(id: \\"U_2\\") { id } }"
        """, in: location)
    let lost = ScriptedTransport { _ in throw ChainError.lostConnection }
    _ = try await Bench.run(manifest, transport: lost)
    let text = try message { try decide(.done, .unknown, ["U_1"]).apply(to: manifest) }
    #expect(text.contains("names tasks of `follows` and `likes`; add --operation ID"), "\(text)")
    #expect(
      try decide(.done, .unknown, ["U_1"], operation: "likes").apply(to: manifest).count == 1)
    #expect(try decide(.done, .unknown, ["single"]).apply(to: manifest).count == 1)
    #expect(try decide(.done, .unknown, operation: "likes").apply(to: manifest).count == 4)
    let left = try RunInspection(manifest).failureReasons()
    #expect(left.unknown == 5 && Set(left.all.map(\.operation)) == ["follows"])
  }

  @Test(
    "tasks that were skipped are queued again when a task that they need is resolved",
    arguments: [true, false])
  func skipped(isResolved: Bool) async throws {
    let manifest = try Bench.load(
      Self.likes + """

          - id: after
            needs: [likes]
            query: "query After { user(id: \\"U_9\\") { id } }"
        """, in: location)
    try location.write(Bench.ids(1), to: "ids.csv")
    let first = try await Bench.run(manifest, transport: RowTransport(lost: [], failing: [1]))
    #expect(first.counts.byState == [.failed: 1, .skipped: 1])
    let line = try #require(try location.lines("o.ndjson").first)
    let result = try JSONValue(parsing: line)
    #expect(result["op"]?.stringValue == "after" && result["ok"] == .boolean(false))
    #expect(
      result["errors"]?[0]?["message"]?.stringValue
        == "nothing of `likes` succeeded, which it needs")
    // --only failed repeats what was skipped, too, once something of the need has succeeded.
    if isResolved {
      let resolved = try decide(.retry, .failed).apply(to: manifest)
      #expect(resolved.count == 1 && resolved.released == 1)
    } else {
      let repeated = try await Bench.run(
        manifest, Bench.repeating, transport: RowTransport(lost: [], failing: [1]))
      #expect(repeated.counts.byState == [.failed: 1, .skipped: 1])
    }
    let options = isResolved ? Bench.resuming : Bench.repeating
    let second = try await Bench.run(manifest, options, transport: RowTransport())
    #expect(second.counters.done == 2 && !second.hasFailures)
  }

  @Test("--only failed fails while tasks are left that no part of the run has ended")
  func left() async throws {
    let manifest = try Bench.load(
      Self.likes.replacing("concurrency: 1", with: "concurrency: 1, max_failures: 0"), in: location)
    let stopped = try await Bench.run(manifest, transport: RowTransport(lost: [], failing: [1]))
    #expect(stopped.stop == .tooManyFailures)
    let repeated = try await Bench.run(manifest, Bench.repeating, transport: RowTransport())
    #expect(repeated.stop == nil && repeated.counts.byState == [.done: 1] && repeated.hasFailures)
    #expect(repeated.warnings.contains { $0.hasPrefix("tasks of `likes` are left") })
    #expect(try RunInspection(manifest).status().contains("tasks are left; --resume continues it"))
    let rest = try await Bench.run(manifest, Bench.resuming, transport: RowTransport())
    #expect(rest.counts.byState == [.done: 5] && !rest.hasFailures)
  }

  @Test("mutations that --only failed could not send remain failed")
  func notSent() async throws {
    let manifest = try Bench.load(Self.likes, in: location)
    _ = try await Bench.run(manifest, transport: RowTransport(lost: [], failing: [2]))
    let refused = try await Bench.run(
      manifest, Bench.repeating,
      transport: RowTransport(answer: { _, _ in .response(401, "") }))
    #expect(refused.stop == .unauthorized)
    #expect(refused.counts.byState == [.done: 4, .failed: 1])
    let again = RowTransport()
    _ = try await Bench.run(manifest, Bench.resuming, transport: again)
    #expect(await again.arrived == [])
    #expect(try RunInspection(manifest).failureReasons().all.map(\.http) == [200])
    let rest = try await Bench.run(manifest, Bench.repeating, transport: again)
    #expect(rest.counts.byState == [.done: 5])
  }

  @Test("mutations that a killed run sent have keys and an attempt, and count nowhere as failed")
  func killed() async throws {
    let manifest = try Bench.load(Self.likes, in: location)
    let summary = try await Bench.run(
      manifest,
      transport: RowTransport(answer: { row, _ in
        // Another process would find this if the run were killed now.
        guard row == 3 else { return nil }
        let inspection = try RunInspection(manifest)
        let reasons = try inspection.failureReasons()
        #expect(reasons.unknown == 1 && reasons.all.map(\.keys) == [["U_3"]])
        #expect(reasons.all.first?.lastTime == "")
        let json = try JSONValue(parsing: reasons.json("m.batch.yaml"))
        #expect(json[0]?["state"] == "unknown" && json[0]?["keys"] == ["U_3"])
        #expect(json[0]?["advice"]?.stringValue?.contains("batch resolve m.batch.yaml") == true)
        #expect(try !inspection.hasEnded())
        #expect(try inspection.status().contains("unknown    1, or in flight"))
        let path = try #require(try JournalFolder(manifest).newest())
        let journal = try Journal(path: path, isReadOnly: true)
        defer { journal.close() }
        let data = try ReportData(journal, manifest: manifest)
        #expect(data.failed.map(\.attempts) == [1])
        #expect(data.slowest.count == 2, "its duration is not known")
        let page = try data.page(manifest)
        let table = page.split(separator: "<h2>Operations</h2>")[1]
        let heads = ["Failed", "Unknown", "Skipped"].map {
          "<th scope=\"col\" class=\"n\">\($0)</th>"
        }
        #expect(table.contains(heads.joined()), "\(page)")
        let row = table.split(separator: "<code>likes</code></th>")[1].prefix { $0 != "\n" }
        let numbers = row.split(separator: "</td>").prefix(5).map {
          $0.drop { $0 != ">" }.dropFirst()
        }
        // Tasks, done, failed, unknown, skipped.
        #expect(numbers == ["3", "2", "0", "1", "0"], "\(row)")
        return nil
      }))
    #expect(summary.counters.done == 5)
  }
}

@Suite("Decisions about tasks of a queue", .needsPostgres, .timeLimit(.minutes(10)))
struct QueueResolutionTests {
  @Test("failed tasks of a queue are repeated, with the history of their attempts")
  func retry() async throws {
    let (bench, manifest) = try QueueBench.begun(6)
    try await bench.work(manifest, transport: RowTransport(lost: [], failing: [2, 5]))
    #expect(try bench.counts() == ["done": 4, "failed": 2])
    let refusal = await #expect(throws: JournalError.self) {
      _ = try await Bench.run(manifest, Bench.repeating)
    }
    #expect(refusal?.description.contains("gqlrun batch retry \(manifest.file) --failed") == true)
    let one = try decide(.retry, .failed, ["U_5"]).apply(to: manifest)
    #expect(one == TaskResolution.Resolved(count: 1))
    #expect(try decide(.retry, .failed).apply(to: manifest).count == 1)
    #expect(throws: JournalError.self) { _ = try BatchQueue(manifest).merge() }
    let again = RowTransport()
    try await bench.work(manifest, transport: again)
    #expect(await Set(again.arrived) == [2, 5])
    #expect(try bench.counts() == ["done": 6])
    let requests = try bench.connection.run(
      "SELECT sum(requests)::bigint FROM gq_task WHERE key IN ('U_2', 'U_5')")
    #expect(requests.int(0, 0) == 4)
    #expect(try decide(.retry, .failed).apply(to: manifest).count == 0)
  }

  @Test("mutations of lost workers are resolved as done or sent again")
  func unknown() async throws {
    let (bench, manifest) = try QueueBench.begun(3, document: "m.graphql")
    let worker = try bench.worker(manifest)
    let claims = try bench.claim(3, worker)
    let (stage, _) = try await bench.stage(manifest, worker, claims)
    try await stage.commit(claims.map { bench.outcome($0, .unknown, ended: 0) })
    try bench.lose(worker)
    #expect(try bench.reap(manifest) == 3)
    let reasons = try BatchQueue(manifest).inspect { try $0.failureReasons() }
    #expect(Set(reasons.all.flatMap(\.keys)) == ["U_1", "U_2", "U_3"])
    #expect(try BatchQueue(manifest).status().taskCounts[.unknown] == 3)
    #expect(try decide(.done, .unknown, ["U_1"]).apply(to: manifest).count == 1)
    #expect(try decide(.retry, .unknown).apply(to: manifest).count == 2)
    // The worker that was lost comes too late.
    try await stage.commit(claims.map { bench.outcome($0) })
    await stage.close()
    #expect(try bench.counts() == ["done": 1, "queued": 2])
    let again = RowTransport()
    try await bench.work(manifest, transport: again)
    #expect(await Set(again.arrived) == [2, 3])
    #expect(try bench.counts() == ["done": 3])
    let report = try BatchQueue(manifest).inspect { try JSONValue(parsing: $0.report()) }
    #expect(report["resolved"]?.arrayValue?.map { $0["key"]?.stringValue } == ["U_1"])
    _ = try BatchQueue(manifest).merge()
    #expect(try bench.location.lines("out/users.ndjson").count == 2)
  }

  @Test("tasks whose rows do not fit are not sent, and a cancelled run is not repeated")
  func unfit() async throws {
    let bench = try QueueBench()
    try bench.location.write(
      "query User($id: Int!) { user(id: $id) { id login } }", to: "n.graphql")
    let manifest = try bench.manifest(2, document: "n.graphql")
    try bench.begin(manifest)
    #expect(try bench.counts() == ["failed": 2])
    let resolved = try decide(.retry, .failed).apply(to: manifest)
    #expect(resolved == TaskResolution.Resolved(count: 0, released: 0, unfit: 2))
    _ = try BatchQueue(manifest).cancel()
    let error = #expect(throws: JournalError.self) {
      _ = try decide(.retry, .failed).apply(to: manifest)
    }
    #expect(error?.description.contains("was cancelled") == true)
  }

  @Test("operations that need repeated tasks get the rows that these capture")
  func levels() async throws {
    let bench = try QueueBench()
    let manifest = try QueueLevelsTests.manifest(bench, 3)
    try bench.begin(manifest)
    try await bench.work(manifest, transport: RowTransport(lost: [], failing: [1, 2, 3]))
    #expect(try bench.counts() == ["failed": 3, "skipped": 1])
    let resolved = try decide(.retry, .failed).apply(to: manifest)
    #expect(resolved.count == 3 && resolved.released == 1)
    try await bench.work(manifest, transport: RowTransport(lost: [], failing: [2]))
    // Row 2 fails again, so two friends and the last one follow.
    #expect(try bench.counts() == ["done": 5, "failed": 1])
    #expect(try decide(.retry, .failed).apply(to: manifest).count == 1)
    try await bench.work(manifest, transport: RowTransport())
    #expect(try bench.counts() == ["done": 7])
    #expect(try BatchQueue(manifest).status().isEnded)
  }
}
