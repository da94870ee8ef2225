import GQLRunJSON
import GQLRunPipeline
import GQLRunPostgres
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite("Levels of a queue", .needsPostgres, .timeLimit(.minutes(10)))
struct QueueLevelsTests {
  /// Three levels: users from rows, their friends from captured values, and an operation without rows.
  static func manifest(_ bench: QueueBench, _ count: Int) throws -> Manifest {
    try bench.location.write(Bench.ids(count), to: "ids.csv")
    return try Bench.load(
      """
      version: 1
      name: levels
      run: { concurrency: 4, journal: "\(bench.url)" }
      sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }]
      operations:
        - id: users
          query: "query User($id: ID!) { user(id: $id) { id login } }"
          foreach: { csv: ids.csv, key: "{{row.id}}" }
          variables: { id: "{{row.id}}" }
          capture: { login: user.login }
        - id: friends
          needs: [users]
          query: "query Friend($login: ID!) { user(id: $login) { id } }"
          foreach: { capture: users, as: user, key: "{{user.key}}" }
          variables: { login: "{{user.login}}" }
        - id: last
          needs: [users, friends]
          query: "query Last { user(id: 0) { id } }"
      """, in: bench.location)
  }

  private static func transport(_ log: RequestNames, fails: Bool = false) -> ScriptedTransport {
    ScriptedTransport { (body: String, _: Int) in
      let request = try JSONValue(parsing: body)
      let query = request["query"]?.stringValue ?? ""
      let id =
        request["variables"]?["id"]?.stringValue ?? request["variables"]?["login"]?.stringValue
        ?? ""
      let name = String(query.dropFirst("query ".count).prefix { $0.isLetter })
      await log.note(name, id)
      if fails, name == "User" { return .errors("no such user") }
      return .data(#"{"user":{"id":"\#(id)","login":"login of \#(id)"}}"#)
    }
  }

  @Test(
    "workers add the tasks of an operation when all before it have ended, with the values that those captured"
  )
  func levels() async throws {
    let bench = try QueueBench()
    let manifest = try Self.manifest(bench, 80)
    let queue = try BatchQueue(manifest)
    _ = try queue.initialize()
    let enqueued = try queue.enqueue()
    #expect(enqueued.added == 80 && enqueued.waiting == 2)
    let log = RequestNames()
    try await bench.work(manifest, workers: 3, transport: Self.transport(log))
    let status = try queue.status()
    #expect(status.counts == ["done": 161])
    #expect(status.waiting == 0 && status.isEnded)
    let names = await log.names
    #expect(
      names == Array(repeating: "User", count: 80) + Array(repeating: "Friend", count: 80) + [
        "Last"
      ])
    #expect(await log.ids["Friend"] == Set((1...80).map { "login of U_\($0)" }))
    #expect(try queue.merge().count == 3)
    #expect(try bench.location.lines("out/friends.ndjson").count == 80)
  }

  /// A run whose three rows have failed, so that nothing is left for what needs them.
  private static func failed(
    _ bench: QueueBench
  ) async throws -> (manifest: Manifest, queue: BatchQueue) {
    let manifest = try manifest(bench, 3)
    let queue = try BatchQueue(manifest)
    _ = try queue.initialize()
    _ = try queue.enqueue()
    try await bench.work(manifest, transport: transport(RequestNames(), fails: true))
    #expect(try queue.status().counts == ["failed": 3, "skipped": 1])
    return (manifest, queue)
  }

  @Test("new rows that are enqueued have tasks of later operations, too, for what they capture")
  func newRows() async throws {
    let bench = try QueueBench()
    let (manifest, queue) = try await Self.failed(bench)
    // Nothing is new, so that the skipped task stays.
    let again = try queue.enqueue()
    #expect(again.added == 0 && again.known == 3 && again.waiting == 0)

    try bench.location.write(Bench.ids(5), to: "ids.csv")
    let enqueued = try queue.enqueue()
    #expect(enqueued.added == 2 && enqueued.waiting == 2)
    let log = RequestNames()
    try await bench.work(manifest, workers: 2, transport: Self.transport(log))
    #expect(await log.ids["Friend"] == ["login of U_4", "login of U_5"])
    #expect(try queue.status().counts == ["failed": 3, "done": 5])
    // Once more after operations that have tasks.
    try bench.location.write(Bench.ids(6), to: "ids.csv")
    #expect(try queue.enqueue().added == 1)
    try await bench.work(manifest, transport: Self.transport(log))
    #expect(await log.ids["Friend"] == ["login of U_4", "login of U_5", "login of U_6"])
    #expect(try queue.status().counts == ["failed": 3, "done": 7])
    #expect(try queue.enqueue().added == 0)
    #expect(try queue.status().isEnded)
  }

  @Test("new rows have tasks of later operations, too, if the call that added them was interrupted")
  func interrupted() async throws {
    let bench = try QueueBench()
    let (manifest, queue) = try await Self.failed(bench)
    // The call ends after it has added the new rows.
    try bench.location.write(Bench.ids(5), to: "ids.csv")
    try bench.connection.run("UPDATE gq_run SET added = '{users}'")
    let run = try QueueRun.current(manifest, bench.connection)
    #expect(try QueueLevels(manifest: manifest, run: run.id).addFirst(bench.connection).added == 2)
    try await bench.work(manifest, transport: Self.transport(RequestNames()))
    #expect(try queue.status().counts == ["failed": 3, "done": 5])
    #expect(try queue.enqueue().added == 0)
  }

  @Test("a run with operations that follow has not ended, and cannot be merged")
  func open() async throws {
    let bench = try QueueBench()
    let manifest = try Self.manifest(bench, 3)
    let queue = try BatchQueue(manifest)
    _ = try queue.initialize()
    _ = try queue.enqueue()
    try bench.connection.run("UPDATE gq_task SET state = 'done'")
    let status = try queue.status()
    #expect(status.open == 0 && status.waiting == 2 && !status.isEnded)
    #expect(
      status.text.contains("state      open") && status.json.contains("\"waiting_operations\":2"))
    #expect(throws: JournalError.self) { try queue.merge() }
    // The next level can also be added by the command.
    #expect(try queue.enqueue().waiting == 0)
  }

  @Test("the tasks of an operation are skipped if nothing that it needs succeeded")
  func skipped() async throws {
    let bench = try QueueBench()
    let manifest = try Self.manifest(bench, 5)
    let queue = try BatchQueue(manifest)
    _ = try queue.initialize()
    _ = try queue.enqueue()
    let log = RequestNames()
    try await bench.work(manifest, workers: 2, transport: Self.transport(log, fails: true))
    // Without captured values, there are no friends.
    #expect(try queue.status().counts == ["failed": 5, "skipped": 1])
    #expect(await log.names == Array(repeating: "User", count: 5))
    let reason = try bench.connection.run("SELECT error FROM gq_task WHERE op = 'last'").text(0, 0)
    #expect(reason == "nothing of `users` succeeded, which it needs")
  }

  @Test("rows from a file that the run writes are refused")
  func ownFiles() throws {
    let location = try Place()
    try location.write("{\"id\": 1}\n", to: "a.ndjson")
    let findings = try Bench.findings(
      """
      version: 1
      run: { journal: "postgres://" }
      sinks: [{ ndjson: { path: "{{op}}.ndjson" } }]
      operations:
        - { id: a, query: "query A { user(id: 1) { id } }" }
        - id: b
          query: "query B($id: ID!) { user(id: $id) { id } }"
          needs: [a]
          foreach: { jsonl: a.ndjson, key: "{{row.id}}" }
          variables: { id: "{{row.id}}" }
      """, in: location)
    #expect(findings.contains { $0.contains("from a file that the run writes") }, "\(findings)")
  }
}

/// The names of operations in the order of their requests.
private actor RequestNames {
  private(set) var names: [String] = []
  private(set) var ids: [String: Set<String>] = [:]

  func note(_ name: String, _ id: String) {
    names.append(name)
    ids[name, default: []].insert(id)
  }
}
