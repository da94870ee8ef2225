import Foundation
import GQLRunPipeline
import GQLRunSupport
import Testing

@testable import GQLRunBatch

@Suite("Files that runs left")
struct RunLeftoversTests {
  private let location: Place

  init() throws { location = try Place(ids: 30) }

  private func manifest(
    output: String = "o.ndjson", name: String = "nightly"
  ) throws -> Manifest {
    try Bench.load(
      """
      version: 1
      name: \(name)
      pipeline: p.pipeline.yaml
      run: { concurrency: 1 }
      sinks: [{ ndjson: { path: \(output) } }, { csv: { path: o.csv } }]
      report: { json: r.json }
      operations:
      \(Bench.users)
          emit: user
      """, in: location)
  }

  /// A run that stops after ten rows.
  private func interrupt(_ manifest: Manifest) async throws {
    let control = RunControl()
    let transport = RowTransport(answer: { row, _ in
      if row == 10 { await control.stop() }
      return nil
    })
    let summary = try await Bench.run(manifest, control: control, transport: transport)
    #expect(summary.stop == .interrupted && summary.counters.done == 10)
  }

  /// The names of all files, without the inputs.
  private func files() throws -> Set<String> {
    let inputs: Set = ["u.graphql", "ids.csv", "p.pipeline.yaml", "m.batch.yaml", "runs"]
    return Set(try FileManager.default.subpathsOfDirectory(atPath: location.path))
      .subtracting(inputs)
  }

  private func names(_ leftovers: RunLeftovers) -> Set<String> {
    Set(leftovers.files.map { String($0.path.dropFirst(location.path.count + 1)) })
  }

  private func journals() throws -> [String] {
    try files().filter { $0.hasSuffix(".journal") }.sorted()
  }

  @Test("the times in the names of journals are in UTC, and sort as the runs do")
  func journalTimes() {
    #expect(JournalFolder.stamp(of: 0) == "19700101-000000-000")
    #expect(JournalFolder.stamp(of: 1_768_843_800_250) == "20260119-173000-250")
    for time in [0, 999, 1_709_164_800_000, 1_709_251_199_999, 4_102_444_800_001] {
      #expect(JournalFolder.milliseconds(of: JournalFolder.stamp(of: time)) == time)
    }
    for other in ["", "20260119", "20260119-173000", "2026-01-19", "20260119-173000-25x"] {
      #expect(JournalFolder.milliseconds(of: other) == nil)
    }
  }

  @Test("journals of earlier runs are removed, whether or not they finished; the newest one stays")
  func earlierRuns() async throws {
    let manifest = try manifest()
    _ = try await Bench.run(manifest, transport: RowTransport())
    try await interrupt(manifest)
    _ = try await Bench.run(manifest, transport: RowTransport())
    let journals = try journals()
    #expect(journals.count == 3)
    var leftovers = try RunLeftovers(manifest)
    #expect(names(leftovers) == Set(journals.prefix(2).flatMap { [$0, $0 + ".lock"] }))
    #expect(leftovers.bytes == leftovers.files.reduce(0) { $0 + $1.bytes } && leftovers.bytes > 0)
    #expect(leftovers.keptJournals.map { $0.hasSuffix(journals[2]) } == [true])
    let before = try files()
    try leftovers.remove()
    #expect(try files() == before.subtracting(names(leftovers)))
    // The outputs are still those of the manifest, and the newest run is complete.
    let again = try await Bench.run(manifest, Bench.resuming, transport: RowTransport())
    #expect(again.counters.alreadyDone == 30)
    #expect(try await Bench.run(manifest, transport: RowTransport()).counters.done == 30)
  }

  @Test("what --resume needs of an interrupted run stays, and is removed on request")
  func interrupted() async throws {
    let manifest = try manifest()
    _ = try await Bench.run(manifest, transport: RowTransport())
    try await interrupt(manifest)
    let needed: Set = ["o.ndjson.part", "o.csv.part", try #require(journals().last)]
    do {
      var leftovers = try RunLeftovers(manifest)
      #expect(names(leftovers).isDisjoint(with: needed))
      try leftovers.remove()
    }
    #expect(try files().isSuperset(of: needed))
    let transport = RowTransport()
    let rest = try await Bench.run(manifest, Bench.resuming, transport: transport)
    #expect(rest.stop == nil)
    #expect(await transport.arrived == Array(11...30))
    try await interrupt(manifest)
    do {
      var all = try RunLeftovers(manifest, includingNewest: true)
      #expect(names(all).isSuperset(of: ["o.ndjson.part", "o.csv.part"]))
      #expect(all.keptJournals.isEmpty)
      try all.remove()
    }
    let remaining: Set = try files().filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    #expect(remaining == ["o.ndjson", "o.csv", "r.json", "runs/nightly.outputs.json"])
    #expect(try location.lines("o.ndjson").count == 30, "results are never removed")
    #expect(try await Bench.run(manifest, transport: RowTransport()).counters.done == 30)
  }

  @Test(
    "unfinished outputs that the manifest no longer names are removed, and files of others are not")
  func unfinishedOutputs() async throws {
    try await interrupt(try manifest(output: "old.ndjson"))
    let manifest = try manifest()
    _ = try await Bench.run(manifest, transport: RowTransport())
    try location.write("not an output", to: "other.ndjson.part")
    try location.write("half", to: "r.json.4711-99.part")
    try location.write("half", to: "runs/nightly.outputs.json.4711-99.part")
    try location.write("of another manifest", to: "runs/nightly-2-20260101-000000-000.journal")
    try location.write("not of a run", to: "runs/nightly-20260101-000000-000.txt")
    // A list of outputs that leads out of the folder.
    try location.write(
      location.text("runs/nightly.outputs.json").replacing(
        "\"o.csv\"", with: "\"../outside\": {}, \"o.csv\""), to: "runs/nightly.outputs.json")
    let outside = location.path + "/../outside.part"
    try Data("outside".utf8).write(to: URL(fileURLWithPath: outside))
    defer { try? FileManager.default.removeItem(atPath: outside) }
    #expect(try location.text("runs/nightly.outputs.json").contains("../outside"))
    var leftovers = try RunLeftovers(manifest)
    let older = try #require(journals().first { !$0.contains("nightly-2-") })
    #expect(
      names(leftovers) == [
        "old.ndjson.part", "r.json.4711-99.part", "runs/nightly.outputs.json.4711-99.part", older,
        older + ".lock",
      ])
    try leftovers.remove()
    #expect(location.exists("other.ndjson.part"))
    #expect(FileManager.default.fileExists(atPath: outside))
    #expect(location.exists("runs/nightly-2-20260101-000000-000.journal"))
  }

  @Test("interrupted writes of a report and a list of outputs behind symbolic links are removed")
  func linkedWrites() async throws {
    let manifest = try manifest()
    _ = try await Bench.run(manifest, transport: RowTransport())
    try location.write("half", to: "kept/report.4711-99.part")
    try location.write("half", to: "kept/list.4711-99.part")
    for (link, target) in [("r.json", "report"), ("runs/nightly.outputs.json", "list")] {
      let kept = location.file("kept/\(target)")
      try FileManager.default.moveItem(atPath: location.file(link), toPath: kept)
      try FileManager.default.createSymbolicLink(
        atPath: location.file(link), withDestinationPath: kept)
    }
    #expect(
      names(try RunLeftovers(manifest)) == ["kept/list.4711-99.part", "kept/report.4711-99.part"])
  }

  @Test("nothing of a running run is removed, even on request")
  func underWay() async throws {
    let manifest = try manifest()
    try await interrupt(manifest)
    let found = Locked<RunLeftovers?>(nil)
    let transport = RowTransport(answer: { row, _ in
      if row == 5 {
        let leftovers = try RunLeftovers(manifest, includingNewest: true)
        found.withLock { $0 = leftovers }
      }
      return nil
    })
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.done == 30)
    let value = found.withLock { $0 }
    let leftovers = try #require(value)
    let older = try #require(journals().first)
    let removable: Set = names(leftovers).filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    #expect(removable == [older, older + ".lock"])
    #expect(leftovers.keptJournals == [summary.journal])
  }

  @Test("journals of another batch, whose name is the same in names of files, are not removed")
  func otherName() async throws {
    try await interrupt(manifest(name: "a b"))
    _ = try await Bench.run(manifest(name: "a-b"), transport: RowTransport())
    for name in ["a b", "a-b"] {
      let error = #expect(throws: JournalError.self) {
        _ = try RunLeftovers(manifest(name: name))
      }
      #expect(error?.description.contains("and not of `\(name)`") == true)
    }
  }

  @Test("the newest journal of each shard stays, so that the shards can be merged")
  func shards() async throws {
    let manifest = try manifest()
    for _ in 1...2 {
      for number in 1...2 {
        _ = try await Bench.run(manifest, Bench.shard("\(number)/2"), transport: RowTransport())
      }
    }
    var leftovers = try RunLeftovers(manifest)
    #expect(leftovers.files.count == 4 && leftovers.keptJournals.count == 2)
    try leftovers.remove()
    #expect(try ShardMerge(manifest).tasks == 30)
  }
}
