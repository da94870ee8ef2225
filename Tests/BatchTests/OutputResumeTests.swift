import Foundation
import GQLRunCache
import GQLRunConfiguration
import GQLRunDemoServer
import GQLRunJSON
import GQLRunPlugins
import GRDB
import Testing

@testable import GQLRunBatch

/// A resumed run continues only when every output has what the journal recorded.
@Suite("Outputs of a resumed run", .timeLimit(.minutes(10)))
struct OutputResumeTests {
  private let location: Place

  init() throws { location = try Place(ids: 200) }

  private static let entries =
    FileSinkEntry.all(named: "o") + [
      FileSinkEntry(text: "{ ndjson: { path: r.ndjson, lines: results } }", file: "r.ndjson")
    ]
  private static let files = entries.map(\.file)

  private static func yaml(_ sinks: String) -> String {
    """
    version: 1
    run: { concurrency: 4 }
    sinks: [\(sinks)]
    operations:
    \(Bench.users)
        emit: user
    """
  }

  @Test("the transaction of a database that a crash has interrupted is undone")
  func hotJournal() throws {
    let (original, path) = (location.file("running.db"), location.file("o.db"))
    try DatabaseQueue(path: original).inDatabase { db in
      // A small page cache, so that the transaction writes to the file before its end.
      try db.execute(sql: "PRAGMA cache_size = 1; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
      try db.beginTransaction()
      try db.execute(
        sql: """
          INSERT INTO t
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
          SELECT randomblob(100) FROM n
          """)
      for end in ["", "-journal"] {
        try FileManager.default.copyItem(atPath: original + end, toPath: path + end)
      }
      try db.rollback()
    }
    let refused = #expect(throws: DatabaseError.self) {
      try DatabaseQueue(path: path, configuration: .reading).read {
        try Int.fetchOne($0, sql: "SELECT count(*) FROM t")
      }
    }
    #expect(refused?.resultCode == .SQLITE_READONLY)
    #expect(TableFile.foreign(path, tables: ["u"])?.reason == nil)
    #expect(TableFile.foreign(path, tables: ["t"])?.reason.contains("already exists") == true)
    #expect(
      try DatabaseQueue.reading(path) { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 1)
  }

  private static let allFiles = yaml(entries.map(\.text).joined(separator: ", "))
  private static let tables = yaml(
    "{ sqlite: { path: o.db, table: keyed, key: [id] } }, { sqlite: { path: o.db, table: plain } }")

  /// Stops a run in its middle, changes something, and returns how the resumed run is refused.
  private func refusal(
    _ yaml: String, then changed: String? = nil, _ change: () throws -> Void = {}
  ) async throws -> String {
    try await DemoServer.withServer { server in
      let first = try await Bench.run(
        Bench.load(yaml, in: location, url: server.url), control: RunControl(), stopAt: 80)
      #expect(first.stop == .interrupted)
      #expect(first.counters.done > 0)
      try change()
      let sent = server.requestCount
      let manifest = try Bench.load(changed ?? yaml, in: location, url: server.url)
      let error = await #expect(throws: StoppedByStorage.self) {
        _ = try await Bench.run(manifest, Bench.resuming)
      }
      #expect(server.requestCount == sent)
      #expect(error?.isRefusal == true)
      return error?.message ?? ""
    }
  }

  @Test("a file that was removed is refused, whatever its kind", arguments: files)
  func removed(_ name: String) async throws {
    let message = try await refusal(Self.allFiles) {
      try FileManager.default.removeItem(atPath: location.file("\(name).part"))
    }
    #expect(message.contains("\(name).part: No such file") && message.contains("without --resume"))
  }

  @Test("a file that was emptied is refused, whatever its kind", arguments: files)
  func emptied(_ name: String) async throws {
    let message = try await refusal(Self.allFiles) { try location.write("", to: "\(name).part") }
    #expect(message.contains("\(name).part is shorter than"), "\(message)")
  }

  @Test("another file under the same name is refused, although it is long enough", arguments: files)
  func replaced(_ name: String) async throws {
    let message = try await refusal(Self.allFiles) {
      try location.write(String(repeating: "x", count: 1 << 20), to: "\(name).part")
    }
    #expect(message.contains("\(name).part does not begin with"), "\(message)")
  }

  @Test("a run that is refused leaves the outputs of one that has ended", arguments: files)
  func unchanged(_ name: String) async throws {
    try await Bench.withServer(Self.allFiles, in: location) { manifest, _ in
      #expect(try await Bench.run(manifest).stop == nil)
      try FileManager.default.removeItem(atPath: location.file(name))
      let others = Self.files.filter { $0 != name }.map { URL(fileURLWithPath: location.file($0)) }
      let before = try others.map { try Data(contentsOf: $0) }
      await #expect(throws: StoppedByStorage.self) {
        _ = try await Bench.run(manifest, Bench.resuming)
      }
      #expect(try others.map { try Data(contentsOf: $0) } == before)
    }
  }

  @Test("a file that is removed or replaced while it is written is lost, and that is an error")
  func lostFile() throws {
    let base = OutputPath(folder: location.path)
    for isReplaced in [false, true] {
      let sink = try FileSink(
        path: location.file("x.ndjson"), format: FileFormat(name: "ndjson"), recorded: nil,
        base: base)
      try sink.append(Array("{}\n".utf8), records: 1)
      try FileManager.default.removeItem(atPath: location.file("x.ndjson.part"))
      if isReplaced { try location.write("other", to: "x.ndjson.part") }
      let error = #expect(throws: StoppedByStorage.self) { try sink.finish(isComplete: true) }
      #expect(
        error?.isRefusal == true
          && error?.message.contains("was moved, removed or replaced") == true)
      #expect(!location.exists("x.ndjson"))
    }
  }

  @Test("a file that another run is writing is closed by the run that is refused")
  func refusedFile() throws {
    let base = OutputPath(folder: location.path)
    func sink() throws -> FileSink {
      try FileSink(
        path: location.file("x.ndjson"), format: FileFormat(name: "ndjson"), recorded: nil,
        base: base)
    }
    let first = try sink()
    let error = #expect(throws: StoppedByStorage.self) { _ = try sink() }
    #expect(error?.isInUse == true)
    #expect(try Descriptors.count(of: location.file("x.ndjson.part")) == 1)
    first.abandon()
    #expect(try Descriptors.count(of: location.file("x.ndjson.part")) == 0)
  }

  @Test(
    "a database that is moved or replaced while it is written has its rows, and that is an error")
  func movedDatabase() throws {
    let (path, other, moved) = (location.file("x.db"), location.file("y.db"), location.file("z.db"))
    for isReplaced in [false, true] {
      do {
        let file = try TableFile(path: path, base: OutputPath(folder: location.path))
        try file.change { try $0.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1)") }
        try file.sync()
        try? FileManager.default.removeItem(atPath: moved)
        try FileManager.default.moveItem(atPath: path, toPath: moved)
        if isReplaced {
          try DatabaseQueue(path: other).inDatabase {
            try $0.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE mine (a)")
          }
          try FileManager.default.moveItem(atPath: other, toPath: path)
        }
        let error = #expect(throws: StoppedByStorage.self) {
          try file.change { try $0.execute(sql: "INSERT INTO t VALUES (2)") }
        }
        #expect(
          error?.isRefusal == true
            && error?.message.contains("was moved, removed or replaced") == true)
      }
      #expect(!location.exists("x.db-wal"))
      #expect(
        try DatabaseQueue.reading(moved) { try Int.fetchAll($0, sql: "SELECT a FROM t") } == [1])
      if isReplaced {
        #expect(try location.values("SELECT name FROM sqlite_schema", in: path) == ["mine"])
      }
    }
  }

  @Test(
    "a page without rows replaces those that its task had in an earlier run, a failed task does not"
  )
  func noRows() async throws {
    try location.write(Bench.ids(2), to: "ids.csv")
    let manifest = try Bench.load(Self.yaml("{ sqlite: { path: n.db, table: t } }"), in: location)
    let answers = [
      ("none", 200, "", 2), ("U_1", 200, #"{"data":{"user":null}}"#, 1), ("U_2", 400, "{}", 2),
    ]
    for (id, status, body, count) in answers {
      let transport = ScriptedTransport { request, _ in
        request.contains(id) ? .response(status, body) : .response()
      }
      _ = try await Bench.run(manifest, transport: transport)
      // In the last run, U_1 has a row again, and U_2 that of the run before.
      #expect(try location.values("SELECT count(*) FROM t", in: "n.db") == ["\(count)"])
    }
  }

  @Test("a folder, or a link, in place of a file is refused")
  func notAFile() async throws {
    let message = try await refusal(Self.allFiles) {
      try FileManager.default.moveItem(
        atPath: location.file("o.csv.part"), toPath: location.file("moved.csv"))
      try FileManager.default.createSymbolicLink(
        atPath: location.file("o.csv.part"), withDestinationPath: "moved.csv")
    }
    #expect(message.contains("cannot continue") && message.contains("o.csv.part"), "\(message)")
  }

  @Test("a file that was moved away and restored is continued")
  func restored() async throws {
    try await Bench.withServer(Self.allFiles, in: location) { manifest, server in
      _ = try await Bench.run(manifest, control: RunControl(), stopAt: 80)
      for name in Self.files {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: location.file("\(name).part")))
        try FileManager.default.removeItem(atPath: location.file("\(name).part"))
        try bytes.write(to: URL(fileURLWithPath: location.file("\(name).part")))
      }
      let rest = try await Bench.run(manifest, Bench.resuming)
      #expect(rest.stop == nil)
      #expect(Set(try location.lines("o.ndjson")).count == 200)
      #expect(server.requestCount == 200)
    }
  }

  @Test("a published file that was changed is refused, and one beside a foreign .part is continued")
  func published() async throws {
    try location.write(Bench.ids(3), to: "ids.csv")
    let yaml = Self.allFiles + "\n    expect: [\"data.user.id != \\\"U_2\\\"\"]"
    try await Bench.withServer(yaml, in: location) { manifest, _ in
      let first = try await Bench.run(manifest)
      #expect(first.counters.failed == 1 && first.stop == nil)
      let again = Bench.repeating
      // Not ours: the file of the run has its own name already.
      try location.write("left over", to: "o.ndjson.part")
      let before = try location.text("o.ndjson")
      #expect(try await Bench.run(manifest, again).counters.failed == 1)
      #expect(try location.text("o.ndjson") == before)
      #expect(try location.text("o.ndjson.part") == "left over")
      try location.write(before.replacingOccurrences(of: "U_1", with: "U_9"), to: "o.ndjson")
      let error = await #expect(throws: StoppedByStorage.self) {
        _ = try await Bench.run(manifest, again)
      }
      #expect(error?.message.contains("does not begin with") == true)
    }
  }

  @Test("a database that was removed is refused")
  func databaseRemoved() async throws {
    let message = try await refusal(Self.tables) {
      for name in ["o.db", "o.db-wal", "o.db-shm"] where location.exists(name) {
        try FileManager.default.removeItem(atPath: location.file(name))
      }
    }
    #expect(message.contains("o.db") && message.contains("no such file"), "\(message)")
    #expect(!location.exists("o.db"))
  }

  @Test(
    "a table that was removed or emptied, and a database from before, are refused",
    arguments: [
      ("DROP TABLE keyed", "not the one"), ("DELETE FROM plain", "were removed"),
      ("DROP TABLE gqlrun_outputs", "not the one"),
      ("UPDATE gqlrun_outputs SET journal = 'another'", "not the one"),
      ("UPDATE gqlrun_outputs SET step = 0", "older than the journal"),
    ])
  func tableChanged(sql: String, reason: String) async throws {
    let message = try await refusal(Self.tables) {
      try location.execute(sql, in: "o.db")
    }
    #expect(message.contains(reason) && message.contains("restore the database"), "\(message)")
  }

  @Test(
    "a sink that the journal does not know, or that the manifest no longer has, is refused",
    arguments: [
      // Renamed, added, removed, another format, another choice of columns or records.
      ("ndjson: { path: a.ndjson }", "{ ndjson: { path: b.ndjson } }", "no longer has that sink"),
      (
        "ndjson: { path: a.ndjson }", "{ ndjson: { path: a.ndjson } }, { json: { path: b.json } }",
        "was added"
      ),
      (
        "ndjson: { path: a.ndjson }", "{ ndjson: { path: a.ndjson } }, { sqlite: { path: b.db } }",
        "was added"
      ),
      (
        "csv: { path: a.csv }", "{ csv: { path: a.csv, columns: [login] } }",
        "was started as `csv id,login`"
      ),
      (
        "ndjson: { path: a.ndjson }", "{ ndjson: { path: a.ndjson, gzip: true } }",
        "was started as `ndjson`"
      ),
      (
        "ndjson: { path: a.ndjson }", "{ ndjson: { path: a.ndjson, lines: results } }",
        "was changed"
      ),
      (
        "sqlite: { path: a.db }", "{ sqlite: { path: a.db, table: other } }",
        "no longer has that sink"
      ),
      (
        "sqlite: { path: a.db }", "{ sqlite: { path: a.db, key: [id] } }", "was started as `sqlite`"
      ),
    ])
  func unknownSinks(before: String, after: String, reason: String) async throws {
    let message = try await refusal(
      Self.yaml("{ \(before) }, { ndjson: { path: kept.ndjson } }"),
      then: Self.yaml("\(after), { ndjson: { path: kept.ndjson } }"))
    #expect(message.contains(reason) && message.contains("undo the change"), "\(message)")
  }

  @Test("the sink of an operation without results is filled from the start")
  func addedOperation() async throws {
    try await DemoServer.withServer { server in
      let yaml = Self.yaml("{ ndjson: { path: \"{{op}}.ndjson\" } }")
      _ = try await Bench.run(
        Bench.load(yaml, in: location, url: server.url), control: RunControl(), stopAt: 80)
      let more =
        yaml + """

            - id: countries
              query: "{ countries { code } }"
              emit: countries[*]
          """
      let rest = try await Bench.run(
        Bench.load(more, in: location, url: server.url), Bench.resuming)
      #expect(rest.stop == nil)
      #expect(Set(try location.lines("users.ndjson")).count == 200)
      #expect(try location.lines("countries.ndjson").count > 200)
    }
  }

  @Test("more outputs than are open at once are compared, too")
  func many() async throws {
    let operations = (0..<300).map { number in
      """
        - id: o\(number)
          query: "query User($id: ID!) { user(id: $id) { id login } }"
          variables: { id: U_\(number + 1) }
          emit: user
      """
    }
    let yaml = """
      version: 1
      sinks: [{ ndjson: { path: "{{op}}.ndjson" } }]
      operations:
      \(operations.joined(separator: "\n"))
      """
    let message = try await refusal(yaml) { try location.write("", to: "o3.ndjson.part") }
    #expect(message.contains("o3.ndjson.part is shorter than"), "\(message)")
  }

  @Test("a run is continued from another working directory, with the outputs it has")
  func otherDirectory() async throws {
    try await Bench.withServer(Self.allFiles, in: location) { manifest, server in
      _ = try await Bench.run(manifest, control: RunControl(), stopAt: 80)
      try location.write(Self.allFiles, to: "m.batch.yaml")
      // The same folder by another path.
      let other = location.path + "/../" + (location.path.split(separator: "/").last ?? "")
      let moved = try ManifestLoader.load(
        path: other + "/m.batch.yaml", registry: .builtIn, environment: .process,
        endpoint: server.url
      ).manifest
      let rest = try await Bench.run(moved, Bench.resuming)
      #expect(rest.stop == nil && rest.counters.alreadyDone > 0)
      #expect(Set(try location.lines("o.ndjson")).count == 200)
    }
  }

  @Test("a removed or emptied cache file is refused")
  func cache() async throws {
    try location.write(Bench.cachingPipeline, to: "p.pipeline.yaml")
    let yaml = CacheSinkTests.yaml
    try await Bench.withServer(yaml, in: location) { manifest, server in
      let store = try CacheStore.sqlite(path: location.file("cache.db"))
      let control = RunControl()
      _ = try await Bench.run(manifest, control: control, store: store)
      let emptied = await #expect(throws: StoppedByStorage.self) {
        try await store.clear()
        _ = try await Bench.run(manifest, Bench.resuming, store: store)
      }
      #expect(emptied?.message.contains("was emptied") == true)
      try store.close()
      for name in ["cache.db", "cache.db-wal", "cache.db-shm"] where location.exists(name) {
        try FileManager.default.removeItem(atPath: location.file(name))
      }
      let fresh = try CacheStore.sqlite(path: location.file("cache.db"))
      let error = await #expect(throws: StoppedByStorage.self) {
        _ = try await Bench.run(manifest, Bench.resuming, store: fresh)
      }
      #expect(error?.message.contains("the cache is not the file") == true)
      let without = try Bench.load(
        yaml.replacingOccurrences(of: "sinks: [cache]", with: "sinks: [{ ndjson: { path: o } }]"),
        in: location, url: server.url)
      let removed = await #expect(throws: StoppedByStorage.self) {
        _ = try await Bench.run(without, Bench.resuming, store: fresh)
      }
      #expect(removed?.message.contains("the sink `cache`") == true)
      try fresh.close()
    }
  }

  @Test("a journal of the version before is continued")
  func olderJournal() async throws {
    let yaml = Self.yaml("{ ndjson: { path: o.ndjson } }, { sqlite: { path: o.db } }")
    try await Bench.withServer(yaml, in: location) { manifest, _ in
      let first = try await Bench.run(manifest, control: RunControl(), stopAt: 80)
      try location.execute(
        """
        DROP TABLE outputs;
        ALTER TABLE sinks DROP COLUMN checksum;
        DELETE FROM meta WHERE name = 'id';
        PRAGMA user_version = 2;
        UPDATE sinks SET path = '\(manifest.folder)/o.ndjson';
        """, in: first.journal)
      try FileManager.default.removeItem(
        atPath: location.file("runs/\(manifest.name).outputs.json"))
      let rest = try await Bench.run(manifest, Bench.resuming)
      #expect(rest.stop == nil && rest.counters.alreadyDone == first.counters.done)
      #expect(Set(try location.lines("o.ndjson")).count == 200)
      #expect(try location.values("SELECT count(DISTINCT id) FROM users", in: "o.db") == ["200"])
    }
  }

  @Test("status lists every output of a run")
  func status() async throws {
    try location.write(Bench.ids(20), to: "ids.csv")
    let yaml = Self.yaml(
      "{ ndjson: { path: o.ndjson } }, { sqlite: { path: o.db, table: t, key: [id] } }")
    try await Bench.withServer(yaml, in: location) { manifest, _ in
      _ = try await Bench.run(manifest)
      let text = try RunInspection(manifest).status()
      #expect(text.contains("o.ndjson: 20 records"), "\(text)")
      #expect(text.contains("o.db, table t: 20 records"), "\(text)")
      let json = try JSONValue(parsing: RunInspection(manifest).statusJSON())
      #expect(json["outputs"]?.arrayValue?.compactMap { $0["records"]?.intValue } == [20, 20])
    }
  }

  @Test("a merged run is continued with its outputs, and a shard's missing output is refused")
  func merged() async throws {
    try await DemoServer.withServer { server in
      let yaml =
        Self.yaml(
          "{ ndjson: { path: o.ndjson } }, { json: { path: o.json } }, { sqlite: { path: \"o.db\", table: \"a\\\"b\" } }"
        )
        + "\n    expect: [\"data.user.id != \\\"U_2\\\"\"]"
      let manifest = try Bench.load(yaml, in: location, url: server.url)
      for number in 1...2 {
        _ = try await Bench.run(manifest, Bench.shard("\(number)/2"))
      }
      let database = try Data(contentsOf: URL(fileURLWithPath: location.file("o.2of2.db")))
      try FileManager.default.removeItem(atPath: location.file("o.2of2.db"))
      #expect(throws: JournalError.self) { _ = try ShardMerge(manifest) }
      try database.write(to: URL(fileURLWithPath: location.file("o.2of2.db")))
      let text = try location.text("o.1of2.ndjson")
      try location.write("{}\n", to: "o.1of2.ndjson")
      #expect(throws: StoppedByStorage.self) { _ = try ShardMerge(manifest) }
      try location.write(text, to: "o.1of2.ndjson")
      #expect(try ShardMerge(manifest).tasks == 200)
      #expect(try location.lines("o.ndjson").count == 199)
      // The task that failed is run again, and what was merged stays.
      let passing = try Bench.load(
        yaml.replacingOccurrences(of: "U_2\\\"", with: "absent\\\""), in: location, url: server.url)
      let rest = try await Bench.run(passing, Bench.repeating)
      #expect(rest.counters.done == 1)
      #expect(Set(try location.lines("o.ndjson")).count == 200)
      #expect(try JSONValue(parsing: location.text("o.json")).arrayValue?.count == 200)
      let rows = try location.values("SELECT count(DISTINCT id) FROM \"a\"\"b\"", in: "o.db")
      #expect(rows == ["200"])
      // A second merge replaces what the first one wrote.
      #expect(try ShardMerge(manifest).tasks == 200)
    }
  }
}
