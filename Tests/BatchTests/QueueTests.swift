import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunPostgres
import GQLRunSupport
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite("Queues in PostgreSQL", .needsPostgres, .timeLimit(.minutes(10)))
struct QueueTests {
  @Test("several workers run each task once, and a merge joins their files")
  func workers() async throws {
    let bench = try QueueBench()
    try await DemoServer.withServer { server in
      let manifest = try bench.manifest(500, server: server.url)
      try bench.begin(manifest)
      let summaries = try await bench.work(manifest, workers: 3)
      #expect(summaries.reduce(0) { $0 + $1.counters.done } == 500)
      #expect(summaries.allSatisfy { $0.stop == nil })
      #expect(server.requestCount == 500)
      #expect(try BatchQueue(manifest).merge().count == 1)
      // Again: it replaces its own file.
      _ = try BatchQueue(manifest).merge()
    }
    let lines = try bench.location.lines("out/users.ndjson").map { try JSONValue(parsing: $0) }
    #expect(lines.count == 500)
    #expect(Set(lines.compactMap { $0["key"]?.stringValue }).count == 500)
    #expect(lines.allSatisfy { $0["data"]?["user"]?["id"] == $0["key"] })
  }

  @Test("a segment that is a pipe is refused by a merge, and is not read")
  func pipe() async throws {
    let (bench, manifest) = try QueueBench.begun(3)
    try await bench.work(manifest, transport: ScriptedTransport { _ in .response() })
    let segments = try FileManager.default.contentsOfDirectory(atPath: bench.location.file("out"))
    #expect(segments.count == 1)
    for name in segments {
      let path = bench.location.file("out/\(name)")
      try FileManager.default.removeItem(atPath: path)
      #expect(mkfifo(path, 0o600) == 0)
    }
    let error = #expect(throws: StoppedByStorage.self) { try BatchQueue(manifest).merge() }
    #expect(error?.message.contains("is not a regular file") == true)
  }

  @Test("rows are in the table once, with the types of an existing table")
  func tables() async throws {
    let bench = try QueueBench()
    try bench.connection.run(
      "CREATE TABLE typed (id varchar(20) PRIMARY KEY, login text, seen int DEFAULT 7)")
    try await DemoServer.withServer { server in
      let manifest = try bench.manifest(
        60, operation: "emit: user",
        sinks: """
          [{ postgres: { table: typed, key: [id] } }, { postgres: { table: "all {{op}}" } }]
          """, server: server.url)
      try bench.begin(manifest)
      try await bench.work(manifest, workers: 2)
    }
    let typed = try bench.connection.run(
      "SELECT count(*), count(DISTINCT id), min(seen)::bigint FROM typed")
    #expect(typed.int(0, 0) == 60)
    #expect(typed.int(0, 1) == 60)
    #expect(typed.int(0, 2) == 7)
    let all = try bench.connection.run(
      "SELECT count(*), count(DISTINCT _task) FROM \"all users\"")
    #expect(all.int(0, 0) == 60)
    #expect(all.int(0, 1) == 60)
  }

  @Test(
    "a text that is longer than its column stops the worker, and is not cut",
    arguments: ["varchar(3)", "char(3)", "short"])
  func longText(type: String) async throws {
    let bench = try QueueBench()
    try bench.connection.run("CREATE DOMAIN short AS varchar(3)")
    try bench.connection.run("CREATE TABLE logins (id text PRIMARY KEY, login \(type))")
    let manifest = try bench.manifest(
      1, operation: "emit: user", sinks: "[{ postgres: { table: logins, key: [id] } }]")
    try bench.begin(manifest)
    let transport = ScriptedTransport { _ in .data(#"{"user":{"id":"U_1","login":"abcd"}}"#) }
    let error = await #expect(throws: JournalError.self) {
      _ = try await bench.work(manifest, transport: transport)
    }
    #expect(
      error?.description.contains("value too long for type character") == true,
      "\(error?.description ?? "")")
    #expect(try bench.connection.run("SELECT count(*) FROM logins").int(0, 0) == 0)
  }

  @Test("records whose keys are the same in the type of the column are one row")
  func equalKeys() async throws {
    let bench = try QueueBench()
    try bench.connection.run("CREATE TABLE typed (id numeric PRIMARY KEY, login text)")
    try bench.location.write("query($id: ID!) { users(id: $id) { id login } }", to: "l.graphql")
    let manifest = try bench.manifest(
      1, document: "l.graphql", operation: "emit: users[*]",
      sinks: "[{ postgres: { table: typed, key: [id] } }]")
    try bench.begin(manifest)
    let users = ["1.0", "2", "1"].map { #"{"id":\#($0),"login":"of \#($0)"}"# }
    let transport = ScriptedTransport { _ in
      .data(#"{"users":[\#(users.joined(separator: ","))]}"#)
    }
    let summary = try await bench.work(manifest, transport: transport)
    #expect(summary.map(\.counters.done) == [1])
    let rows = try bench.connection.run("SELECT login FROM typed ORDER BY id")
    #expect((0..<rows.count).map { rows.text($0, 0) } == ["of 1", "of 2"])
  }

  @Test("a table in a later schema of the search path exists, and gets the rows")
  func laterSchema() async throws {
    let bench = try QueueBench()
    let schema = try bench.connection.run("SELECT current_schema()::text").text(0, 0)
    try bench.connection.run("CREATE SCHEMA \(schema)_later")
    try bench.connection.run(
      "CREATE TABLE \(schema)_later.logins (id varchar(20) PRIMARY KEY, login text)")
    var manifest = try bench.manifest(
      1, operation: "emit: user", sinks: "[{ postgres: { table: logins, key: [id] } }]")
    manifest.queueURL = "\(bench.url),\(schema)_later"
    try bench.begin(manifest)
    let transport = ScriptedTransport { _ in .data(#"{"user":{"id":"U_1","login":"a"}}"#) }
    try await bench.work(manifest, transport: transport)
    #expect(try bench.connection.run("SELECT to_regclass('logins') IS NULL").int(0, 0) == 1)
    let rows = try bench.connection.run("SELECT id::text FROM \(schema)_later.logins")
    #expect((0..<rows.count).map { rows.text($0, 0) } == ["U_1"])
  }

  @Test("a record that PostgreSQL cannot store fails its task, and no other one")
  func nulCharacter() async throws {
    let bench = try QueueBench()
    try bench.connection.run("CREATE TABLE logins (id text PRIMARY KEY, login text)")
    let manifest = try bench.manifest(
      3, operation: "emit: user", sinks: "[{ postgres: { table: logins, key: [id] } }]")
    try bench.begin(manifest)
    let transport = ScriptedTransport { request, _ in
      let id = (1...3).first { request.contains("U_\($0)") } ?? 0
      return .data(#"{"user":{"id":"U_\#(id)","login":"a\#(id == 2 ? #"\u0000"# : "")"}}"#)
    }
    let summary = try await bench.work(manifest, transport: transport)
    #expect(summary.map(\.counters.failed) == [1] && summary.map(\.counters.done) == [2])
    let rows = try bench.connection.run("SELECT id FROM logins ORDER BY id")
    #expect((0..<rows.count).map { rows.text($0, 0) } == ["U_1", "U_3"])
    let errors = try bench.connection.run("SELECT error FROM gq_task WHERE error IS NOT NULL")
    #expect(errors.text(0, 0).contains("the column `login` of a record has a NUL character"))
  }

  @Test("a cursor that PostgreSQL cannot store fails its task, and no other one")
  func nulCharacterInCursor() async throws {
    let bench = try QueueBench()
    try bench.location.write(
      "query($id: ID!, $after: String) { posts(user: $id, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }",
      to: "p.graphql")
    let manifest = try bench.manifest(
      3, document: "p.graphql",
      operation: "paginate: { connection: posts }\n    emit: posts.nodes[*]")
    try bench.begin(manifest)
    let transport = ScriptedTransport { request, _ in
      let hasMore = request.contains("U_2")
      return .data(
        #"{"posts":{"nodes":[],"pageInfo":{"hasNextPage":\#(hasMore),"endCursor":"a\u0000"}}}"#)
    }
    let summary = try await bench.work(manifest, transport: transport)
    #expect(summary.map(\.counters.failed) == [1] && summary.map(\.counters.done) == [2])
    let errors = try bench.connection.run("SELECT error FROM gq_task WHERE error IS NOT NULL")
    #expect(errors.text(0, 0).contains("the cursor of the next page has a NUL character"))
  }

  @Test("rows are added once, also if the command is repeated with more of them")
  func enqueue() throws {
    let bench = try QueueBench()
    let queue = try BatchQueue(bench.manifest(20))
    #expect(try queue.initialize())
    #expect(try !queue.initialize())
    #expect(try queue.enqueue().added == 20)
    _ = try bench.manifest(25)
    let again = try queue.enqueue()
    #expect(again.added == 5)
    #expect(again.known == 20)
    #expect(try bench.counts() == ["queued": 25])
    #expect(try queue.initialize(beginsNew: true))
    #expect(try queue.enqueue().added == 25)
  }

  @Test(
    "tasks are added beside workers, also by a user whose transactions are serializable by default")
  func isolation() throws {
    let bench = try QueueBench()
    var manifest = try bench.manifest(3)
    manifest.queueURL = bench.url + "%20-cdefault_transaction_isolation%3Dserializable"
    let queue = try BatchQueue(manifest)
    _ = try queue.initialize()
    // Others would conflict with the statements of workers.
    try bench.connection.run(
      """
      CREATE FUNCTION require_read_committed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF current_setting('transaction_isolation') <> 'read committed' THEN
          RAISE EXCEPTION 'the transaction is %', current_setting('transaction_isolation');
        END IF;
        RETURN NEW;
      END $$
      """)
    for change in ["INSERT ON gq_task", "UPDATE ON gq_run"] {
      try bench.connection.run(
        """
        CREATE TRIGGER isolation BEFORE \(change)
        FOR EACH ROW EXECUTE FUNCTION require_read_committed()
        """)
    }
    #expect(try queue.enqueue().added == 3)
  }

  @Test("a run is the newest one, also if it begins after the clock of the database was set back")
  func clockSetBack() throws {
    let (bench, manifest) = try QueueBench.begun(3)
    let queue = try BatchQueue(manifest)
    let first = try queue.status().run
    try bench.connection.run("UPDATE gq_run SET started_at = started_at + interval '1 day'")
    #expect(try queue.initialize(beginsNew: true))
    #expect(try queue.status().run != first)
    #expect(try queue.enqueue().added == 3)
  }

  @Test(
    "a worker is noticed as lost, also if the clock of the database was set back since its last heartbeat",
    arguments: ["", ", ended_at = now()"])
  func lostBeforeClockSetBack(_ end: String) throws {
    let (bench, manifest) = try QueueBench.begun(1)
    let worker = try bench.worker(manifest)
    #expect(try bench.claim(1, worker).count == 1)
    try bench.connection.run("UPDATE gq_worker SET seen_at = seen_at + interval '1 day'\(end)")
    #expect(try bench.reap(manifest) == 0)
    try bench.lose(worker)
    #expect(try bench.reap(manifest) == 1)
  }

  @Test("tasks that were queued before the clock of the database was set back are claimed")
  func queuedBeforeClockSetBack() throws {
    let (bench, manifest) = try QueueBench.begun(2)
    try bench.connection.run("UPDATE gq_task SET run_at = run_at + interval '1 day'")
    let worker = try bench.worker(manifest)
    #expect(try bench.claim(2, worker).isEmpty)
    #expect(try bench.reap(manifest) == 0)
    #expect(try bench.claim(2, worker).count == 2)
  }

  @Test("a claim takes no more tasks than its limit, none that is not due, and none twice")
  func claims() throws {
    let (bench, manifest) = try QueueBench.begun(10)
    try bench.connection.run(
      """
      UPDATE gq_task SET run_at = now() + interval '1 h'
      WHERE id IN (SELECT id FROM gq_task ORDER BY id LIMIT 3)
      """)
    let (first, second) = (try bench.worker(manifest), try bench.worker(manifest))
    let one = try bench.claim(4, first)
    let two = try bench.claim(100, second)
    #expect(one.count == 4)
    #expect(two.count == 3)
    #expect(Set(one.map(\.id)).isDisjoint(with: two.map(\.id)))
    #expect(Set((one + two).map(\.lease)).count == 7)
    #expect(try bench.claim(100, first).isEmpty)
  }

  @Test(
    "a worker that counted as lost and claims its own task again records one of the two executions")
  func ownTaskAgain() async throws {
    let (bench, manifest) = try QueueBench.begun(1)
    let worker = try bench.worker(manifest)
    let first = try bench.claim(1, worker)
    try bench.lose(worker)
    #expect(try bench.reap(manifest) == 1)
    let second = try bench.claim(1, worker)
    #expect(second.map(\.id) == first.map(\.id))
    let (stage, leases) = try await bench.stage(manifest, worker, second)
    // The end of the first execution changes nothing, alone or in one group with the second.
    try await stage.commit([bench.outcome(first[0])])
    #expect(try bench.counts() == ["leased": 1])
    #expect(leases.holds(second[0].id, second[0].lease))
    try await stage.commit([bench.outcome(first[0]), bench.outcome(second[0])])
    await stage.close()
    #expect(try bench.counts() == ["done": 1])
    _ = try BatchQueue(manifest).merge()
    #expect(try bench.location.lines("out/users.ndjson").count == 1)
  }

  @Test("tasks of a claim whose answer was lost are returned, and claimed again")
  func lostClaim() async throws {
    let (bench, manifest) = try QueueBench.begun(3)
    let (worker, other) = (try bench.worker(manifest), try bench.worker(manifest))
    // The database has executed this claim, and the worker does not know its lease.
    let lost = try bench.claim(1, worker)
    let others = try bench.claim(1, other)
    let store = try bench.store(manifest, worker)
    var claimed: [TaskID] = []
    for _ in 0..<2 {
      guard case .task(let item) = try await store.claim() else { break }
      claimed.append(item.id)
    }
    #expect(claimed.count == 2 && claimed.last == lost[0].id)
    #expect(!claimed.contains(others[0].id))
    // A claim that was returned does not count as a lost worker.
    #expect(try bench.connection.run("SELECT max(attempt) FROM gq_task").int(0, 0) == 1)
    // A second lost claim is returned at the end.
    await store.abandon()
    #expect(try bench.claim(1, worker).count == 1)
    let next = try bench.store(manifest, worker)
    await next.abandon()
    #expect(try bench.counts() == ["leased": 1, "queued": 2])
  }

  @Test("a late worker, whose tasks another one has, changes nothing")
  func fences() async throws {
    let (bench, manifest) = try QueueBench.begun(2)
    let (late, other) = (try bench.worker(manifest), try bench.worker(manifest))
    let claims = try bench.claim(2, late)
    let (stage, leases) = try await bench.stage(manifest, late, claims)
    try await stage.commit([bench.outcome(claims[0])])
    try bench.lose(late)
    #expect(try bench.reap(manifest) == 1)
    let second = try bench.claim(2, other)
    #expect(second.map(\.id) == [claims[1].id])
    try await stage.commit([bench.outcome(claims[1])])
    #expect(!leases.holds(claims[1].id, claims[1].lease))
    await stage.close()
    #expect(try bench.counts() == ["done": 1, "leased": 1])
    let (own, _) = try await bench.stage(manifest, other, second)
    try await own.commit([bench.outcome(second[0])])
    await own.close()
    #expect(try bench.counts() == ["done": 2])
    _ = try BatchQueue(manifest).merge()
    let keys = try bench.location.lines("out/users.ndjson")
    #expect(keys.sorted() == ["\"U_1\"", "\"U_2\""])
  }

  @Test("two searches for lost workers take each task back once, in groups")
  func reapers() async throws {
    let (bench, manifest) = try QueueBench.begun(2_500)
    let (lost, alive) = (try bench.worker(manifest), try bench.worker(manifest))
    #expect(try bench.claim(2_300, lost).count == 2_300)
    #expect(try bench.claim(200, alive).count == 200)
    try bench.lose(lost)
    let url = bench.url
    let reaper = QueueReaper(manifest, run: lost.run)
    let counts = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<2 {
        group.addTask {
          try await QueueClient(QueueDatabase(url: url))
            .run("reap") { try reaper.reap($0) }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(counts.reduce(0, +) + (try reaper.reap(bench.connection)) == 2_300)
    #expect(try bench.counts() == ["queued": 2_300, "leased": 200])
  }

  @Test(
    "a mutation that a lost worker sent is unknown, with a reason; an idempotent one is repeated")
  func mutations() async throws {
    for (operation, state) in [("", "unknown"), ("idempotency: id", "queued")] {
      let (bench, manifest) = try QueueBench.begun(2, document: "m.graphql", operation: operation)
      let worker = try bench.worker(manifest)
      let claims = try bench.claim(2, worker)
      let (stage, _) = try await bench.stage(manifest, worker, claims)
      try await stage.commit([bench.outcome(claims[0], .unknown, ended: 0)])
      #expect(try bench.counts() == ["sent": 1, "leased": 1])
      try bench.lose(worker)
      #expect(try bench.reap(manifest) == 2)
      #expect(try bench.counts()[state] == (state == "queued" ? 2 : 1))
      if state == "unknown" {
        let row = try bench.connection.run("SELECT error FROM gq_task WHERE state = 'unknown'")
        #expect(row.text(0, 0).contains("sent, and the worker on test was lost"))
      }
      await stage.close()
    }
  }

  @Test("a mutation whose lease was taken meanwhile is not sent")
  func lateMutation() async throws {
    let (bench, manifest) = try QueueBench.begun(1, document: "m.graphql")
    let worker = try bench.worker(manifest)
    let claims = try bench.claim(1, worker)
    let (stage, leases) = try await bench.stage(manifest, worker, claims)
    try bench.lose(worker)
    #expect(try bench.reap(manifest) == 1)
    try await stage.commit([bench.outcome(claims[0], .unknown, ended: 0)])
    #expect(!leases.holds(claims[0].id, claims[0].lease))
    #expect(try bench.counts() == ["queued": 1])
    await stage.close()
  }

  @Test("a task that lost many workers fails")
  func poison() throws {
    let (bench, manifest) = try QueueBench.begun(1)
    let worker = try bench.worker(manifest)
    #expect(try bench.claim(1, worker).count == 1)
    try bench.connection.run("UPDATE gq_task SET attempt = \(QueueReaper.maxAttempts)")
    try bench.lose(worker)
    #expect(try bench.reap(manifest) == 1)
    #expect(try bench.counts() == ["failed": 1])
  }

  @Test("tasks of a stopped worker are queued again; those of a cancelled run are skipped")
  func stopping() async throws {
    let bench = try QueueBench()
    try await DemoServer.withServer { server in
      let manifest = try bench.manifest(400, server: server.url)
      try bench.begin(manifest)
      let summary = try #require(try await bench.work(manifest, stopAt: 30).first)
      #expect(summary.stop == .interrupted)
      #expect(summary.outputs.map(\.records) == [summary.counters.records])
      #expect(summary.outputs.first?.text?.contains("users.ndjson.") == true)
      let counts = try bench.counts()
      #expect(counts["done"] == summary.counters.done)
      #expect(counts["queued"] == 400 - summary.counters.done)
      let skipped = try BatchQueue(manifest).cancel()
      #expect(skipped == 400 - summary.counters.done)
      #expect(throws: JournalError.self) { _ = try BatchQueue(manifest).enqueue() }
      let status = try BatchQueue(manifest).status()
      #expect(status.state == "cancelled")
      #expect(status.open == 0)
    }
  }

  @Test("the newest run gives the reports of a journal")
  func reports() async throws {
    let (bench, manifest) = try QueueBench.begun(3)
    try await bench.work(
      manifest,
      transport: ScriptedTransport { number in
        number == 1 ? .errors("no such user") : .response()
      })
    let queue = try BatchQueue(manifest)
    let report = try queue.inspect { try JSONValue(parsing: $0.report()) }
    #expect(report["tasks"]?["done"]?.intValue == 2)
    #expect(report["failed"]?[0]?["error"]?.stringValue?.contains("no such user") == true)
    #expect(try queue.inspect { try $0.failureReasons().all.count } == 1)
  }

  @Test("numbers of the database that are too large to be added or compared are limited")
  func largeNumbers() throws {
    let (bench, manifest) = try QueueBench.begun(2)
    try bench.connection.run(
      """
      UPDATE gq_task SET records = \(Int.max), bytes = \(Int.max), requests = 1, ms = 'NaN',
        ended = 'Infinity'
      """)
    try bench.connection.run(
      "UPDATE gq_task SET state = 'done' WHERE id IN (SELECT id FROM gq_task LIMIT 1)")
    let queue = try BatchQueue(manifest)
    #expect(try queue.status().records == 2 << 40)
    let report = try queue.inspect { try JSONValue(parsing: $0.report()) }
    #expect(report["tasks"]?["done"]?.intValue == 1)
    let record = try bench.claim(1, bench.worker(manifest)).first?.record
    #expect(record?.bytes == 1 << 40 && record?.ended == 1e12)
    #expect(record?.milliseconds == -1e12)
  }

  @Test("the status counts the failed tasks that are incomplete, as that of a journal does")
  func incomplete() async throws {
    let bench = try QueueBench()
    try bench.location.write(
      "query($id: ID!) { posts(user: $id) { nodes { id } pageInfo { hasNextPage } } }",
      to: "p.graphql")
    let manifest = try bench.manifest(3, document: "p.graphql")
    try bench.begin(manifest)
    try await bench.work(
      manifest,
      transport: ScriptedTransport { number in
        number == 1
          ? .errors("no such user")
          : .data(#"{"posts":{"nodes":[],"pageInfo":{"hasNextPage":\#(number == 2)}}}"#)
      })
    let queue = try BatchQueue(manifest)
    let status = try queue.status()
    #expect(status.counts == ["failed": 2, "done": 1] && status.incomplete == 1)
    let fact = "incomplete  1 of those that failed"
    #expect(try status.text.contains(fact) && queue.inspect { try $0.status() }.contains(fact))
    #expect(try JSONValue(parsing: status.json)["incomplete"]?.intValue == 1)
  }

  @Test("a worker survives a crash of the database, and its results are there once")
  func crash() async throws {
    let server = try PostgresServer(named: "-crash")
    let bench = try QueueBench(server)
    try await DemoServer.withServer { demo in
      let manifest = try bench.manifest(300, server: demo.url)
      try bench.begin(manifest)
      let network = Bench.network()
      let transport = BreakingTransport(network) { try server.restart() }
      try await bench.work(manifest, workers: 2, transport: transport)
      await network.shutdown()
      let after = try QueueRun.current(manifest, PostgresConnection(bench.url))
      #expect(after.state == "open")
      #expect(try BatchQueue(manifest).status().counts == ["done": 300])
      _ = try BatchQueue(manifest).merge()
    }
    #expect(try bench.location.lines("out/users.ndjson").count == 300)
  }

  @Test(
    "a worker continues the pages of another one where it stopped, and each record is there once")
  func pages() async throws {
    let bench = try QueueBench()
    try bench.location.write(
      """
      query Feed($id: ID!, $first: Int!, $after: String) {
        user(id: $id) { id }
        feed(first: $first, after: $after) { edges { node { id } } pageInfo { hasNextPage endCursor } }
      }
      """, to: "feed.graphql")
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 30
    try await DemoServer.withServer(configuration) { server in
      let manifest = try bench.manifest(
        1, document: "feed.graphql",
        operation: """
          paginate: { connection: feed, page_size: { start: 5 } }
              emit: feed.edges[*].node
          """,
        sinks: """
          [{ ndjson: { path: "out/{{op}}.ndjson" } }, { postgres: { table: keyed, key: [id] } }, { postgres: { table: plain } }]
          """, server: server.url)
      try bench.begin(manifest)
      let first = try #require(try await bench.work(manifest, stopAt: 3).first)
      #expect(first.stop == .interrupted)
      let before = try bench.connection.run("SELECT records, page FROM gq_task")
      #expect(before.int(0, 0) == 15 && before.int(0, 1) == 3)
      let second = try await bench.work(manifest)
      #expect(second.map(\.stop) == [nil])
      // The pages that the first worker wrote were not requested again.
      #expect(server.requestCount == 6)
      _ = try BatchQueue(manifest).merge()
    }
    let lines = try bench.location.lines("out/users.ndjson")
    #expect(lines.count == 30 && Set(lines).count == 30)
    for table in ["keyed", "plain"] {
      #expect(try bench.connection.run("SELECT count(*) FROM \(table)").int(0, 0) == 30)
    }
  }

  @Test("the files of tasks are in the manifest's folder of each worker")
  func uploads() async throws {
    let bench = try QueueBench()
    try bench.location.write(
      "mutation Attach($file: Upload!, $id: ID!) { user: attach(file: $file, id: $id) { id } }",
      to: "attach.graphql")
    for number in 1...3 { try bench.location.write("text \(number)", to: "U_\(number).txt") }
    let manifest = try bench.manifest(
      3, document: "attach.graphql",
      variables: """
        { id: "{{row.id}}", file: { upload: "{{row.id}}.txt", type: text/x-test, filename: "my {{row.id}}" } }
        """)
    try bench.begin(manifest)
    let transport = UploadTransport()
    try await bench.work(manifest, transport: transport)
    #expect(try bench.counts() == ["done": 3])
    let bodies = await transport.bodies
    #expect(bodies.count == 3)
    for number in 1...3 {
      let body = bodies.first { $0.contains("text \(number)") } ?? ""
      #expect(
        body.contains("filename=\"my U_\(number)\"") && body.contains("text/x-test"), "\(bodies)")
    }
  }

  @Test("a worker that cannot beat for 20 seconds sends nothing, and continues after a heartbeat")
  func silence() async throws {
    let bench = try QueueBench()
    var manifest = try bench.manifest(40)
    manifest.settings.concurrency = 1
    try bench.begin(manifest)
    let clock = TestClock()
    let services = ServiceClock(clock)
    let blocker = QueueClient(QueueDatabase(url: bench.url, clock: services))
    let transport = ScriptedTransport { number in
      if number == 5 {
        // Heartbeats wait for this row, and 21 seconds pass.
        try await blocker.run("block") { connection in
          try connection.run("BEGIN")
          try connection.run("SELECT FROM gq_worker FOR UPDATE")
        }
        clock.advance(by: .seconds(21))
      }
      return .response()
    }
    let worker = Task {
      try await BatchWorker(manifest, services: Services(transport: transport, clock: services))
        .run()
    }
    while transport.count < 5 { await Task.yield() }
    // The worker has claimed 32 tasks, and returns those that it does not send: without the rule, it would send them.
    while try bench.counts()["queued"] != 35, transport.count == 5 {
      clock.advance(by: .milliseconds(50))
      await Task.yield()
    }
    #expect(transport.count == 5)
    try await blocker.run("continue") {
      try $0.run("COMMIT")
      return
    }
    let hasEnded = Locked(false)
    Task {
      _ = try? await worker.value
      hasEnded.withLock { $0 = true }
    }
    while !hasEnded.withLock({ $0 }) {
      // The clock runs, and heartbeats have the time of a statement.
      clock.advance(by: .milliseconds(100))
      _ = try bench.counts()
    }
    _ = try await worker.value
    #expect(try bench.counts() == ["done": 40])
    #expect(transport.count == 40)
  }

  @Test("a worker that has waited for its database for its patience does not wait again")
  func lostDatabase() async throws {
    let clock = ServiceClock(TestClock.jumping())
    let database = QueueDatabase(
      url: "postgres://127.0.0.1:1/none", clock: clock, patience: .seconds(60))
    let start = clock.now()
    for _ in 0..<2 {
      await #expect(throws: StoppedByStorage.self) {
        try await QueueClient(database).run("claim tasks") { _ in }
      }
      #expect((.seconds(60)...Duration.seconds(65)).contains(clock.now() - start))
    }
    // Another worker begins to wait when it loses the database itself.
    let other = QueueDatabase(
      url: "postgres://127.0.0.1:1/none", clock: clock, patience: .seconds(60))
    await #expect(throws: StoppedByStorage.self) {
      try await QueueClient(other.waiting(atMost: .zero)).run("claim tasks") { _ in }
    }
    await #expect(throws: StoppedByStorage.self) {
      try await QueueClient(other).run("claim tasks") { _ in }
    }
    #expect((.seconds(120)...Duration.seconds(130)).contains(clock.now() - start))
  }

  @Test(
    "what conflicts with another transaction, or is cancelled by the server, is done again",
    arguments: ["40001", "40P01", "55P03", "57014"])
  func conflict(state: String) async throws {
    let database = QueueDatabase(
      url: try PostgresServer.shared.get().url, clock: ServiceClock(TestClock.jumping()),
      patience: .seconds(60))
    let calls = Locked(0)
    let count = try await QueueClient(database).run("claim tasks") { connection in
      let number = calls.increment()
      if number < 3 {
        try connection.run(
          "DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '\(state)'; END $$")
      }
      return number
    }
    #expect(count == 3)
  }

  @Test(
    "a user or a database that the server does not have is not tried again",
    arguments: [("user=test", "user=none", "28000"), ("/postgres?", "/none?", "3D000")])
  func refusedDatabase(part: String, other: String, state: String) async throws {
    let clock = ServiceClock(TestClock.jumping())
    let url = try PostgresServer.shared.get().url.replacing(part, with: other)
    let start = clock.now()
    let error = await #expect(throws: JournalError.self) {
      try await QueueClient(QueueDatabase(url: url, clock: clock, patience: .seconds(60)))
        .run("claim tasks") { _ in }
    }
    #expect(error?.description.hasSuffix("does not exist (\(state))") == true, "\(error as Any)")
    #expect(clock.now() == start)
  }
}
