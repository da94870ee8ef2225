import GQLRunDemoServer
import GQLRunJSON
import GQLRunPipeline
import GRDB
import Testing

@testable import GQLRunBatch

@Suite("Rows of the journal, with and without an index of ids", .timeLimit(.minutes(10)))
struct JournalRowsTests {
  private let location: Place

  init() throws { location = try Place() }

  private static let yaml = """
    version: 1
    sinks: [{ ndjson: { path: o.ndjson } }]
    operations:
    \(Bench.users)
    """

  private static func id(_ number: UInt64) -> TaskID {
    // Spread like a hash: a product with an odd constant does not repeat.
    let high = number &* 0xC2B2_AE3D_27D4_EB4F
    let low = number &* 0x9E37_79B9_7F4A_7C15
    return withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { TaskID($0) }
  }

  private static func update(
    _ number: UInt64, _ state: TaskState, page: Int = 0, ended: Double = 0
  ) -> TaskUpdate {
    var update = TaskUpdate(id: id(number), operation: 1, key: "\(number)", state: state)
    update.page = page
    update.ended = ended
    return update
  }

  private func indices(_ journal: String) throws -> [String] {
    try DatabaseQueue(path: journal).read {
      try String.fetchAll($0, sql: "SELECT name FROM pragma_index_list('tasks')")
    }
  }

  @Test("a run whose rows differ makes no index, and one with equal rows does")
  func onDemand() async throws {
    try await DemoServer.withServer { server in
      try location.write(Bench.ids(200), to: "ids.csv")
      let differ = try await Bench.run(Self.yaml, in: location, url: server.url)
      #expect(differ.counters.done == 200 && differ.counters.duplicates == 0)
      #expect(try indices(differ.journal).isEmpty)
      try location.write(Bench.ids(200) + "U_7\nU_8\n", to: "ids.csv")
      let equal = try await Bench.run(Self.yaml, in: location, url: server.url)
      #expect(equal.counters.done == 200 && equal.counters.duplicates == 2)
      let again = try await Bench.run(Self.yaml, in: location, url: server.url, Bench.resuming)
      #expect(again.counters.alreadyDone == 200 && again.counters.duplicates == 2)
    }
  }

  @Test(
    "a task has one row, whatever is recorded of it and when the index is made", arguments: 0..<6)
  func oneRow(_ indexed: Int) throws {
    let path = location.file("a.journal")
    let journal = try Journal(path: path)
    let steps: [[TaskUpdate]] = [
      // A mutation that is about to be sent, and one page of another task.
      [Self.update(1, .unknown), Self.update(2, .running, page: 1, ended: 5)],
      [Self.update(3, .done, ended: 6), Self.update(2, .running, page: 2, ended: 6)],
      // Begun and ended within one step.
      [Self.update(4, .unknown), Self.update(4, .done, page: 1, ended: 7)],
      [Self.update(1, .done, page: 1, ended: 8), Self.update(2, .done, page: 3, ended: 8)],
    ]
    for (number, tasks) in steps.enumerated() {
      if number == indexed { #expect(try journal.task(Self.id(9)) == nil) }
      try journal.record(JournalStep(tasks: tasks))
    }
    if indexed == 5 {
      journal.close()
      let again = try Journal(path: path)
      // Failed before, and run again.
      #expect(try again.task(Self.id(3))?.state == .done)
      try again.record(JournalStep(tasks: [Self.update(3, .failed, page: 1, ended: 9)]))
      #expect(try again.task(Self.id(3))?.state == .failed)
      #expect(try again.counts().total == 4)
      again.close()
      return
    }
    #expect(try journal.counts().byState == [.done: 4])
    for (number, page) in [(1, 1), (2, 3), (3, 0), (4, 1)] {
      #expect(try journal.task(Self.id(UInt64(number)))?.page == page)
    }
    #expect(try indices(path) == ["tasks_id"])
    journal.close()
  }

  @Test("--only failed runs a task once, although its row comes twice and it fails again")
  func failsAgain() async throws {
    try location.write("id\nU_7\nU_7\n", to: "ids.csv")
    let manifest = try Bench.load(Self.yaml, in: location, url: "http://127.0.0.1:1/graphql")
    let journal = try Journal(path: location.file("a.journal"))
    let plan = try SinkPlan(manifest)
    for options in [RunOptions(), Bench.repeating] {
      let store = try JournalStore(
        manifest, state: [:], journal: journal,
        stage: SinkStage(
          manifest, journal: journal, plan: plan, ledger: OutputLedger(manifest)), plan: plan,
        options: options, services: Services())
      guard case .task(let item) = try await store.claim() else {
        Issue.record("the row has no task")
        return
      }
      var update = TaskUpdate(
        id: item.id, operation: store.numbers[0], key: item.key, state: .failed)
      update.ended = store.progress.now()
      try await store.commit([Outcome(update: update, operation: 0)])
      guard case .none = try await store.claim() else {
        Issue.record("the row has two tasks")
        return
      }
      let counters = store.progress.counters
      #expect(counters.duplicates == 1 && counters.earlier[.failed] == 0)
      #expect(try journal.counts().total == 1)
    }
    journal.close()
  }

  @Test("tasks of other journals are added with all columns, to the operations with the same ids")
  func others() throws {
    let journal = try Journal(path: location.file("a.journal"))
    _ = try journal.register(["users", "posts"])
    for number in 1...2 {
      let other = try Journal(path: location.file("\(number).journal"))
      _ = try other.register(["posts", "users"])
      var update = Self.update(UInt64(number), .failed, page: 3, ended: 5)
      update.cursor = "c3"
      try other.record(JournalStep(tasks: [update]))
      other.close()
      try journal.add(tasksOf: other.path)
    }
    let task = try journal.task(Self.id(2))
    #expect(task?.page == 3 && task?.cursor == "c3" && task?.ended == 5)
    #expect(
      try journal.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tasks WHERE op = 2") } == 2
    )
    journal.close()
  }

  @Test("the parts of a cursor are read as one, in the journal and in one that takes its tasks")
  func parts() throws {
    let journal = try Journal(path: location.file("a.journal"))
    _ = try journal.register(["users"])
    var update = Self.update(1, .running)
    func record(_ part: Int, _ texts: [String?]) throws -> String? {
      var step = JournalStep()
      for (index, text) in texts.enumerated() {
        (update.part, update.cursor) = (part + index, text)
        step.add(update)
      }
      #expect(step.tasks.count == 1)
      try journal.record(step)
      return try journal.task(update.id)?.cursor
    }
    #expect(try record(0, ["a"]) == "a")
    #expect(try record(1, ["b"]) == "ab")
    #expect(try record(2, ["c", "d", nil]) == "abcd")
    // A step that is recorded again replaces what it had recorded.
    #expect(try record(2, ["c", "e"]) == "abce")
    #expect(try record(0, ["f"]) == "f")
    #expect(try record(1, ["g"]) == "fg")
    let other = try Journal(path: location.file("b.journal"))
    _ = try other.register(["users"])
    try other.add(tasksOf: journal.path)
    #expect(try other.task(update.id)?.cursor == "fg")
    other.close()
    #expect(try record(0, [nil]) == nil)
    #expect(
      try journal.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM cursors") } == 0)
    journal.close()
  }

  @Test("a whole cursor replaces the parts before it in a step")
  func wholeAfterParts() throws {
    var update = Self.update(1, .running)
    var step = JournalStep()
    for (part, text) in [(4, "a"), (5, "b"), (0, "c"), (1, "d")] {
      (update.part, update.cursor) = (part, text)
      step.add(update)
    }
    #expect(step.tasks.map(\.part) == [0] && step.tasks.map(\.cursor) == ["cd"])
  }

  @Test("values are kept as they are, and nothing is not the empty text")
  func values() throws {
    let journal = try Journal(path: location.file("a.journal"))
    var rich = Self.update(1, .failed, page: 7, ended: 1_790_000_000.125)
    rich.key = "ключ \u{1F511} \"'"
    rich.cursor = ""
    rich.error = String(repeating: "é", count: 100_000)
    rich.http = 503
    rich.milliseconds = 0.1
    rich.bytes = 1 << 40
    var bare = Self.update(2, .done, ended: 5)
    bare.key = ""
    let plain = Self.update(3, .done, ended: 6)
    _ = try journal.register(["one"])
    try journal.record(JournalStep(tasks: [rich, bare, plain]))
    var found: [ReportedTask] = []
    try ReportData.forEachTask(journal) { found.append($0) }
    try #require(found.map(\.id) == [rich, bare, plain].map(\.id))
    #expect(found[0].key == rich.key && found[0].error == rich.error && found[0].http == 503)
    #expect(found[0].ended == rich.ended && found[0].milliseconds == 0.1)
    #expect(found[0].bytes == 1 << 40 && found[0].page == 7 && found[0].state == .failed)
    #expect(found[1].key.isEmpty && found[1].error == nil && found[1].http == nil)
    #expect(
      try journal.read { try Bool.fetchAll($0, sql: "SELECT cursor IS NULL FROM tasks") }
        == [false, true, true])
    journal.close()
  }

  @Test("a journal of the first version is continued")
  func firstVersion() async throws {
    try await DemoServer.withServer { server in
      try location.write(Bench.ids(60), to: "ids.csv")
      let run = try await Bench.run(Self.yaml, in: location, url: server.url)
      // Ids were the key of the table. As if the last twenty had not been asked for.
      try location.execute(
        """
        ALTER TABLE tasks RENAME TO newer;
        CREATE TABLE tasks (
          id BLOB NOT NULL PRIMARY KEY, op INTEGER NOT NULL, key TEXT NOT NULL,
          state INTEGER NOT NULL, page INTEGER NOT NULL, attempts INTEGER NOT NULL,
          http INTEGER, ended REAL NOT NULL, ms REAL NOT NULL, bytes INTEGER NOT NULL,
          records INTEGER NOT NULL, cursor TEXT, error TEXT
        );
        INSERT INTO tasks SELECT * FROM newer ORDER BY rowid LIMIT 40;
        DROP TABLE newer;
        PRAGMA user_version = 1;
        """, in: run.journal)
      let rest = try await Bench.run(Self.yaml, in: location, url: server.url, Bench.resuming)
      #expect(rest.counters.alreadyDone == 40 && rest.counters.done == 20)
      #expect(rest.counts.total == 60)
      #expect(server.requestCount == 80)
    }
  }

  @Test("what was seen is known, and hardly anything else")
  func seen() {
    var seen = SeenTasks()
    // More than one table of them, and some twice.
    for number in 0..<200_000 { seen.insert(Self.id(UInt64(number))) }
    for number in 0..<1_000 { seen.insert(Self.id(UInt64(number))) }
    for number in stride(from: 0, to: 200_000, by: 9) {
      #expect(seen.mayContain(Self.id(UInt64(number))))
    }
    let wrong = (200_000..<240_000).count { seen.mayContain(Self.id(UInt64($0))) }
    #expect(wrong < 3)
  }
}
