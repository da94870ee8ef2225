import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunPostgres
import GQLRunTestSupport
import GRDB
import Testing

@testable import GQLRunBatch

@Suite("Columns of records", .timeLimit(.minutes(10)))
struct ColumnsTests {
  private let location: Place

  init() throws {
    location = try Place()
    try location.write("n,id\none,U_1\ntwo,U_2\n", to: "rows.csv")
  }

  /// A manifest with one operation over `rows.csv`.
  private static func yaml(
    sinks: String, columns: String = "[row.n, id, { who: login }]", more: String = ""
  ) -> String {
    """
    version: 1
    sinks: [\(sinks)]
    operations:
      - id: users
        document: u.graphql
        foreach: { csv: rows.csv, key: "{{row.id}}" }
        variables: { id: "{{row.id}}" }
        emit: user
        columns: \(columns)
    \(more)
    """
  }

  /// Answers each row with a user of its id.
  private static let users = RowTransport()

  private func rows(_ sql: String) throws -> [String] {
    try DatabaseQueue(path: location.file("o.db")).read { db in
      try GRDB.Row.fetchAll(db, sql: sql).map { row in
        row.databaseValues.map { $0.isNull ? "null" : "\($0.storage.value ?? "")" }.joined(
          separator: "|")
      }
    }
  }

  @Test("values of the row and of the record are in every sink, in the order of the manifest")
  func everySink() async throws {
    let manifest = try Bench.load(
      Self.yaml(
        sinks: """
          { csv: { path: o.csv } }, { ndjson: { path: o.ndjson } }, { json: { path: o.json } },
            { sqlite: { path: o.db, table: keyed, key: [n, id] } }, { sqlite: { path: o.db, table: plain } }
          """), in: location)
    #expect(try await Bench.run(manifest, transport: Self.users).counters.done == 2)
    #expect(try location.lines("o.csv").first == "n,id,who")
    #expect(try location.lines("o.csv").dropFirst().sorted() == ["one,U_1,u1", "two,U_2,u2"])
    let records = [
      #"{"n":"one","id":"U_1","who":"u1"}"#, #"{"n":"two","id":"U_2","who":"u2"}"#,
    ]
    #expect(try location.lines("o.ndjson").sorted() == records)
    let array = try JSONValue(parsing: location.text("o.json")).arrayValue
    #expect(array?.map { $0.jsonText() }.sorted() == records)
    #expect(try rows("SELECT * FROM keyed ORDER BY n") == ["one|U_1|u1", "two|U_2|u2"])
    #expect(try rows("SELECT n, id, who FROM plain ORDER BY n") == ["one|U_1|u1", "two|U_2|u2"])
  }

  @Test("rows that differ in a column alone are several tasks, each with its records")
  func severalTasks() async throws {
    try location.write("n,id\none,U_1\ntwo,U_1\none,U_1\n", to: "rows.csv")
    let manifest = try Bench.load(Self.yaml(sinks: "{ csv: { path: o.csv } }"), in: location)
    let summary = try await Bench.run(manifest, transport: Self.users)
    #expect(summary.counters.done == 2 && summary.counters.duplicates == 1)
    #expect(try location.lines("o.csv").dropFirst().sorted() == ["one,U_1,u1", "two,U_1,u1"])
  }

  @Test("values of a row keep their types; the key, and absent values, are columns, too")
  func types() async throws {
    try location.write(
      """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }, { csv: { path: o.csv } }]
      operations:
        - id: users
          document: u.graphql
          foreach:
            inline: [{ id: U_1, n: 7, in: { a: [true] } }, { id: U_2 }]
            as: person
            key: "k-{{person.id}}"
          variables: { id: "{{person.id}}" }
          emit: user
          columns: [key, person.n, { all: person.in.a }, login]
      """, to: "m.yaml")
    let manifest = try Bench.load(location.text("m.yaml"), in: location)
    _ = try await Bench.run(manifest, transport: Self.users)
    #expect(
      try location.lines("o.ndjson").sorted() == [
        #"{"key":"k-U_1","n":7,"all":[true],"login":"u1"}"#,
        #"{"key":"k-U_2","n":null,"all":null,"login":"u2"}"#,
      ])
    #expect(
      try location.lines("o.csv").sorted() == [
        "k-U_1,7,[true],u1", "k-U_2,,,u2", "key,n,all,login",
      ])
  }

  @Test("results have the values of the row beside their key")
  func results() async throws {
    let manifest = try Bench.load(
      Self.yaml(sinks: "{ ndjson: { path: o.ndjson, lines: results } }"), in: location)
    _ = try await Bench.run(manifest, transport: Self.users)
    let rows = try location.lines("o.ndjson").map { try JSONValue(parsing: $0) }.map { line in
      "\(line["key"]?.stringValue ?? "") \(line["row"]?.jsonText() ?? "")"
    }
    #expect(rows.sorted() == [#"U_1 {"n":"one"}"#, #"U_2 {"n":"two"}"#])
  }

  @Test("without `emit`, the whole result is a record that has the columns")
  func wholeResult() async throws {
    let manifest = try Bench.load(
      Self.yaml(sinks: "{ ndjson: { path: o.ndjson } }", columns: "[row.n, user.login]")
        .replacing("    emit: user\n", with: ""), in: location)
    _ = try await Bench.run(manifest, transport: Self.users)
    #expect(
      try location.lines("o.ndjson").sorted() == [
        #"{"n":"one","user.login":"u1"}"#, #"{"n":"two","user.login":"u2"}"#,
      ])
  }

  @Test("results that are too large to be split at once have the values of their row")
  func large() async throws {
    let count = 40_000
    let login = String(repeating: "x", count: 100)
    let users = (0..<count).map { #"{"id":"\#($0)","login":"\#(login)"}"# }
    let body = #"{"data":{"users":[\#(users.joined(separator: ","))]}}"#
    #expect(body.utf8.count > 4 << 20)
    let manifest = try Bench.load(
      """
      version: 1
      run: { concurrency: 2 }
      sinks: [{ csv: { path: o.csv } }, { sqlite: { path: o.db, table: t, key: [n, id] } }]
      operations:
        - id: users
          query: "query Q($n: String) { users(name: $n) { id login } }"
          foreach: { csv: rows.csv }
          variables: { n: "{{row.n}}" }
          emit: users[*]
          columns: [row.n, id]
      """, in: location)
    let summary = try await Bench.run(
      manifest, transport: ScriptedTransport { _ in .response(200, body) })
    #expect(summary.counters.done == 2)
    let lines = try location.lines("o.csv").dropFirst()
    #expect(Set(lines).count == 2 * count)
    #expect(lines.filter { $0.hasPrefix("one,") }.count == count)
    #expect(
      try rows("SELECT n, count(*) FROM t GROUP BY n ORDER BY n") == [
        "one|\(count)", "two|\(count)",
      ])
  }

  @Test("a resumed run has the values of all rows; other columns are refused")
  func resume() async throws {
    try location.write(
      "n,id\n" + (1...200).map { "n\($0),U_\($0)\n" }.joined(), to: "rows.csv")
    let sinks = "{ csv: { path: o.csv } }, { ndjson: { path: r.ndjson, lines: results } }"
    let yaml = Self.yaml(sinks: sinks, columns: "[row.n, id]")
    try await DemoServer.withServer { server in
      func load(_ yaml: String) throws -> Manifest {
        try Bench.load(yaml, in: location, url: server.url)
      }
      let first = try await Bench.run(load(yaml), control: RunControl(), stopAt: 80)
      #expect(first.stop == .interrupted)
      for (columns, reason) in [
        (
          "[{ n: row.id }, id]",
          "records user as row.n, id before, records user as n: row.id, id now"
        ),
        ("[row.n, login]", "was started as `csv n,id`"),
        ("[id]", "was started as `csv n,id`"),
      ] {
        let changed = try load(Self.yaml(sinks: sinks, columns: columns))
        let error = await #expect(throws: StoppedByStorage.self) {
          _ = try await Bench.run(changed, Bench.resuming)
        }
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
      }
      let rest = try await Bench.run(load(yaml), Bench.resuming)
      #expect(rest.stop == nil && rest.counters.alreadyDone == first.counters.done)
    }
    let expected = Set((1...200).map { "n\($0),U_\($0)" })
    #expect(Set(try location.lines("o.csv").dropFirst()) == expected)
    #expect(try location.lines("o.csv").count == 201)
  }

  @Test("a column that no row or record has is a warning at the end")
  func missing() async throws {
    try location.write(#"{"id":"U_1","n":1}"# + "\n", to: "rows.jsonl")
    let manifest = try Bench.load(
      Self.yaml(sinks: "{ ndjson: { path: o.ndjson } }", columns: "[row.n, row.m, id]")
        .replacing("csv: rows.csv", with: "jsonl: rows.jsonl"), in: location)
    let summary = try await Bench.run(manifest, transport: Self.users)
    #expect(summary.warnings.contains { $0.contains("no record of `users` had `m`") })
  }

  @Test(
    "what is wrong with a column is reported at its location, with what would work",
    arguments: [
      ("[row.m, id]", "9:15", "leads to `m`, which the rows do not have", ""),
      ("[id, logn]", "9:19", "leads to `logn`", "did you mean `login`?"),
      ("[row]", "9:15", "is not a value of the row", "write `row.name`"),
      ("[row.id, id]", "9:23", "two columns of `users` have the name `id`", "`name: id`"),
      ("[\"{{row.n}}\"]", "9:15", "is a template", "write `row.n`"),
      ("[\"a..b\"]", "9:15", "is not a path", "a.b[*]"),
      ("[{ a: row.n, b: id }]", "9:15", "a column is a path", "`number: row.id`"),
      ("[{ \"\": id }]", "9:17", "name that is empty", "`name: path`"),
      ("[[row.n]]", "9:15", "a column is a path", "`row.id`"),
    ])
  func errors(columns: String, start: String, message: String, hint: String) throws {
    let found = try Bench.findings(
      Self.yaml(sinks: "{ csv: { path: o.csv } }", columns: columns), in: location)
    #expect(found.count == 1, "\(found)")
    let parts = try #require(found.first).split(separator: "|")
    #expect(parts[0].hasPrefix("\(start) ") && parts[0].contains(message), "\(found)")
    #expect(hint.isEmpty || parts[1].contains(hint), "\(found)")
  }

  @Test("a name that may be the row or a field of the record is refused")
  func ambiguous() throws {
    for (query, column) in [("key: login id", "key"), ("row: login id", "row.n")] {
      try location.write(
        "query User($id: ID!) { user(id: $id) { \(query) } }", to: "u.graphql")
      let found = try Bench.findings(
        Self.yaml(sinks: "{ csv: { path: o.csv } }", columns: "[\(column)]"), in: location)
      #expect(found.count == 1)
      #expect(found.allSatisfy { $0.contains("may be") && $0.contains("alias") }, "\(found)")
    }
  }

  @Test("an operation without rows has no values of a row")
  func withoutRows() throws {
    let found = try Bench.findings(
      """
      version: 1
      operations:
        - id: users
          query: "{ user(id: 1) { id } }"
          emit: user
          columns: [row.n, id]
      """, in: location)
    #expect(found.count == 1)
    #expect(found.allSatisfy { $0.hasPrefix("6:15 ") && $0.contains("has no rows") }, "\(found)")
  }

  @Test("a key of a table is the name of a column; a sink with columns of its own is refused")
  func sinkOptions() throws {
    for (sink, message) in [
      ("{ sqlite: { path: o.db, key: [row.n] } }", "is no column of `users` | did you mean `n`?"),
      ("{ sqlite: { path: o.db, key: [login] } }", "is no column of `users` | did you mean `who`?"),
      ("{ csv: { path: o.csv, columns: [id] } }", "both have `columns`"),
    ] {
      let found = try Bench.findings(Self.yaml(sinks: sink), in: location)
      #expect(found.count == 1)
      #expect(found.allSatisfy { $0.hasPrefix("2:") && $0.contains(message) }, "\(found)")
    }
    let same = try Bench.findings(
      Self.yaml(sinks: "{ sqlite: { path: o.db } }", columns: "[row.n, { N: id }]"), in: location)
    #expect(same.count == 1 && same.allSatisfy { $0.contains("one column for SQLite") }, "\(same)")
  }
}

@Suite("Columns of records in a queue", .needsPostgres, .timeLimit(.minutes(10)))
struct QueueColumnsTests {
  @Test("the queue has the values of the rows: workers write them to tables and files")
  func workers() async throws {
    let bench = try QueueBench()
    try await DemoServer.withServer { server in
      let manifest = try bench.manifest(
        60, operation: "emit: user\n    columns: [{ number: row.id }, key, login]",
        sinks: """
          [{ postgres: { table: found, key: [number] } }, { ndjson: { path: "out/{{op}}.ndjson" } }]
          """, server: server.url)
      try bench.begin(manifest)
      try await bench.work(manifest, workers: 2)
      _ = try BatchQueue(manifest).merge()
    }
    let rows = try bench.connection.run(
      "SELECT count(*), count(*) FILTER (WHERE number = key AND login IS NOT NULL) FROM found")
    #expect(rows.int(0, 0) == 60)
    #expect(rows.int(0, 1) == 60)
    let lines = try bench.location.lines("out/users.ndjson").map { try JSONValue(parsing: $0) }
    #expect(Set(lines.compactMap { $0["number"]?.stringValue }).count == 60)
    #expect(lines.allSatisfy { $0["number"] == $0["key"] && $0["login"] != .null })
  }
}
