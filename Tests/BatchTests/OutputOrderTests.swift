import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite("Results in the order of the rows", .timeLimit(.minutes(10)))
struct OutputOrderTests {
  private let location: Place

  init() throws { location = try Place() }

  private func manifest(_ count: Int, run: String = "concurrency: 8, order: output") throws
    -> Manifest
  {
    try location.write(Bench.ids(count), to: "ids.csv")
    return try Bench.load(
      """
      version: 1
      pipeline: p.pipeline.yaml
      run: { \(run) }
      sinks:
        - csv: { path: o.csv }
        - json: { path: o.json }
        - ndjson: { path: o.ndjson }
        - ndjson: { path: o.ndjson.gz }
        - ndjson: { path: results.ndjson, lines: results }
        - sqlite: { path: o.db, table: users }
      operations:
      \(Bench.users)
          emit: user
      """, in: location)
  }

  /// Every sink has the records of these rows, in this order.
  private func expectRows(_ rows: [Int]) throws {
    let ids = rows.map { "U_\($0)" }
    #expect(
      try location.lines("o.csv") == ["id,login"] + rows.map { "U_\($0),u\($0)" })
    #expect(
      try JSONValue(parsing: location.text("o.json")).arrayValue?.map { $0["id"]?.stringValue }
        == ids)
    let lines = try location.text("o.ndjson")
    #expect(try lines.split(separator: "\n").map { try id(String($0)) } == ids)
    #expect(
      try ChildProcess("/bin/gzip", ["-dc", location.file("o.ndjson.gz")]).finish().output == lines)
    #expect(try location.values("SELECT id FROM users ORDER BY rowid", in: "o.db") == ids)
  }

  private func id(_ line: String) throws -> String? {
    try JSONValue(parsing: line)["id"]?.stringValue
  }

  /// The key and success of each result line.
  private func results() throws -> [String] {
    try location.lines("results.ndjson").map { line in
      let line = try JSONValue(parsing: line)
      return "\(line["key"]?.stringValue ?? "") \(line["ok"]?.boolValue == true)"
    }
  }

  @Test(
    "a run with one worker writes every sink in the order of the rows, in any order of operations",
    arguments: ["declared", "interleaved", "output"])
  func oneWorker(_ order: String) async throws {
    let summary = try await Bench.run(
      manifest(100, run: "concurrency: 1, order: \(order)"), transport: RowTransport())
    #expect(summary.counters.done == 100)
    try expectRows(Array(1...100))
  }

  @Test("with eight workers and answers in another order, the results have the order of the rows")
  func eightWorkers() async throws {
    // Every seventh row is answered after requests of much later rows.
    let transport = RowTransport(waits: { $0 % 7 == 0 ? min($0 + 20, 300) : nil })
    let summary = try await Bench.run(manifest(300), transport: transport)
    #expect(summary.counters.done == 300)
    #expect(await transport.arrived.count == 300)
    try expectRows(Array(1...300))
  }

  @Test("a slow row stops the start of tasks when the window is full, and not before")
  func window() async throws {
    let window = OutputOrder.window(2)
    let transport = RowTransport(waits: { $0 % 40 == 1 ? min($0 + window - 1, 200) : nil })
    let summary = try await Bench.run(
      manifest(200, run: "concurrency: 2, order: output"), transport: transport)
    #expect(summary.counters.done == 200)
    #expect(await transport.early(window: window) == [])
    try expectRows(Array(1...200))
  }

  @Test("a task starts only while there is room for its results")
  func room() async throws {
    let order = OutputOrder(window: 2)
    try await order.start()
    #expect(order.hasRoom)
    try await order.start()
    #expect(!order.hasRoom, "two tasks have started")
    #expect(order.keeps(OutputOrder.maxBytes, at: 1))
    #expect(!order.keeps(1, at: 1), "more than the limit")
    #expect(!order.keeps(1, at: 0), "the first task submits its results")
    #expect(try await order.turn(of: 0))
    #expect(order.end(0) == nil, "the next task runs")
    #expect(!order.hasRoom, "the results are kept until the task submits them")
    #expect(try await order.turn(of: 1))
    #expect(order.hasRoom)
    order.withdraw(1)
    #expect(try await order.turn(of: 2) == false)
    #expect(!order.keeps(1, at: 2), "results after a withdrawn task are discarded")
  }

  @Test("results with joined pages, which are in memory, count in full")
  func sizes() throws {
    let update = TaskUpdate(id: TaskID([1]), operation: 0, key: "", state: .done)
    var outcome = Outcome(update: update, operation: 0)
    outcome.data = [UInt8](repeating: 0x20, count: OutputOrder.maxBytes)
    #expect(outcome.size > OutputOrder.maxBytes)
  }

  @Test("a task that is cancelled while it waits for its turn submits its results with its turn")
  func cancelledTurn() async throws {
    let order = OutputOrder(window: 3)
    for _ in 0..<3 { try await order.start() }
    let second = Task { try await order.turn(of: 1, bytes: 1) }
    let third = Task { try await order.turn(of: 2, bytes: 1) }
    second.cancel()
    third.cancel()
    #expect(try await order.turn(of: 0))
    #expect(order.end(0) == nil)
    #expect(try await second.value)
    order.withdraw(1)
    #expect(try await third.value == false, "no task is left before it")
  }

  @Test("a row that fails has its place among the results, and the rows after it are written")
  func failure() async throws {
    let transport = RowTransport(
      waits: { $0 == 5 ? 25 : nil },
      answer: { row, _ in
        row == 5 || row == 30 ? .errors("no") : nil
      })
    let summary = try await Bench.run(manifest(60), transport: transport)
    #expect(summary.counters.failed == 2)
    try expectRows((1...60).filter { $0 != 5 && $0 != 30 })
    #expect(try results() == (1...60).map { "U_\($0) \($0 != 5 && $0 != 30)" })
    // Rows that are repeated follow the others.
    let second = try await Bench.run(manifest(60), Bench.repeating, transport: RowTransport())
    #expect(second.counters.done == 2)
    try expectRows((1...60).filter { $0 != 5 && $0 != 30 } + [5, 30])
  }

  @Test(
    "a run that stops before a row is answered has written the rows before it, and resumes there")
  func resumes() async throws {
    let control = RunControl()
    let transport = RowTransport(
      waits: { $0 == 10 ? 40 : nil },
      answer: { row, _ in
        guard row == 10 else { return nil }
        await control.stop()
        return .response(429, "", headers: ["Retry-After": "3600"])
      })
    let first = try await Bench.run(manifest(200), control: control, transport: transport)
    #expect(first.stop == .interrupted)
    #expect(first.counters.done == 9)
    #expect(try location.lines("o.csv.part") == ["id,login"] + (1...9).map { "U_\($0),u\($0)" })
    let rest = RowTransport(waits: { $0 % 7 == 0 ? min($0 + 20, 200) : nil })
    let second = try await Bench.run(manifest(200), Bench.resuming, transport: rest)
    #expect(second.counters.alreadyDone == 9)
    #expect(await rest.arrived.sorted() == Array(10...200))
    try expectRows(Array(1...200))
  }

  @Test("pages of later tasks are requested ahead, and each task's pages are together")
  func pages() async throws {
    try location.write(Bench.ids(40), to: "ids.csv")
    let manifest = try Bench.posts(run: "concurrency: 4, order: output", in: location)
    let pages = Locked<[Int: Int]>([:])
    // The first row waits until others have all their pages.
    let transport = RowTransport(
      waits: { $0 == 1 ? 12 : nil },
      answer: { row, _ in
        let page = pages.withLock { pages in
          pages[row, default: 0] += 1
          return pages[row] ?? 0
        }
        return .page(
          of: "posts", #"{"id":"\#(row).\#(page)"}"#, hasNextPage: page < 3, endCursor: "\(page)")
      })
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.done == 40)
    #expect(
      try location.lines("o.ndjson").map { try id($0) }
        == (1...40).flatMap { row in (1...3).map { "\(row).\($0)" } })
  }

  @Test("a mutation that must not be repeated is sent after all earlier results were submitted")
  func mutations() async throws {
    try location.write(Bench.ids(50), to: "ids.csv")
    let yaml = """
      version: 1
      pipeline: p.pipeline.yaml
      run: { concurrency: 8, order: output }
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations:
        - id: likes
          query: "mutation($id: ID!) { user: likePost(id: $id) { id } }"
          foreach: { csv: ids.csv, key: "{{row.id}}" }
          variables: { id: "{{row.id}}" }
          emit: user
      """
    let transport = RowTransport()
    let summary = try await Bench.run(Bench.load(yaml, in: location), transport: transport)
    #expect(summary.counters.done == 50)
    #expect(await transport.arrived == Array(1...50))
    #expect(await transport.early(window: 1) == [])
    // One that may be repeated is not slowed down.
    let repeatable = RowTransport(waits: { $0 == 1 ? 20 : nil })
    let again = try await Bench.run(
      Bench.load(yaml + "\n    idempotency: id", in: location), transport: repeatable)
    #expect(again.counters.done == 50)
  }
}
