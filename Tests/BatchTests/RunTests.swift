import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite("Runs", .timeLimit(.minutes(10)))
struct RunTests {
  private let location: Place

  init() throws {
    location = try Place()
    try location.write(Bench.country, to: "q.graphql")
  }

  private static let users = """
    version: 1
    run: { concurrency: 8 }
    sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }]
    operations:
    \(Bench.users)
    """

  @Test("every row brings one result line with its key, in a file that appears at the end")
  func results() async throws {
    try location.write(Bench.ids(200), to: "ids.csv")
    try await DemoServer.withServer { server in
      let summary = try await Bench.run(Self.users, in: location, url: server.url)
      #expect(summary.counters.done == 200)
      #expect(summary.stop == nil)
      #expect(server.requestCount == 200)
    }
    let lines = try location.lines("out/users.ndjson").map { try JSONValue(parsing: $0) }
    #expect(Set(lines.compactMap { $0["key"]?.stringValue }).count == 200)
    #expect(lines.allSatisfy { $0["ok"] == .boolean(true) && $0["errors"] == .null })
    #expect(lines.allSatisfy { $0["data"]?["user"]?["id"] == $0["key"] })
    #expect(
      Array(try #require(lines.first?.objectValue).keys) == [
        "task", "op", "key", "page", "attempt", "ok", "http", "ms", "ttfb_ms", "bytes", "records",
        "cache", "errors", "data",
      ])
    #expect(!location.exists("out/users.ndjson.part"))
  }

  @Test("locations of a server's errors are those of the user's document, in records and messages")
  func errorLocations() async throws {
    try location.write(
      "# a comment\nquery Other { x }\nquery Q { user(id: 1) { id\n   login } }", to: "two.graphql")
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }]
      operations:
        - { id: file, document: "two.graphql#Q" }
        - { id: inline, query: "query Q { user(id: 1) { id login } }" }
      """, in: location)
    // As sent: `query Q {`, `  user(id: 1) {`, `    __typename`, `    id`, `    login`.
    let summary = try await Bench.run(
      manifest,
      transport: ScriptedTransport { _ in
        .response(200, #"{"errors":[{"message":"no","locations":[{"line":5,"column":5}]}]}"#)
      })
    #expect(summary.counters.failed == 2)
    let report = try RunInspection(manifest, journal: summary.journal).report()
    for (name, line, column, message) in [
      ("file", 4, 4, "two.graphql:4:4)"), ("inline", 1, 28, "no (`query`:1:28)"),
    ] {
      let record = try JSONValue(parsing: try #require(location.lines("out/\(name).ndjson").first))
      let location = record["errors"]?[0]?["locations"]?[0]
      #expect(location?["line"]?.intValue == line, "\(record)")
      #expect(location?["column"]?.intValue == column, "\(record)")
      #expect(report.contains(message), "\(report)")
    }
  }

  @Test(
    "a result without data has none in its line, and one with null has it",
    arguments: [
      (200, #"{"errors":[{"message":"no"}]}"#, "", nil),
      (200, #"{"data":null,"errors":[{"message":"no"}]}"#, "", .null),
      (200, #"{"errors":[{"message":"no"}]}"#, "expect: [\"errors != null\"],", nil),
      (200, #"{"data":null,"errors":[{"message":"no"}]}"#, "expect: [\"errors != null\"],", .null),
      (404, "not here", "", nil),
    ] as [(Int, String, String, JSONValue?)])
  func withoutData(status: Int, body: String, options: String, data: JSONValue?) async throws {
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }, { json: { path: o.json } }]
      operations:
        - { id: user, \(options) query: "{ user(id: 1) { id login } }" }
      """, in: location)
    _ = try await Bench.run(manifest, transport: ScriptedTransport { _ in .response(status, body) })
    let record = try JSONValue(parsing: try #require(location.lines("o.ndjson").first))
    #expect(record.objectValue?["data"] == data, "\(record)")
    // Neither is a record.
    #expect(record["records"] == 0 && record["ok"] == .boolean(!options.isEmpty))
  }

  @Test(
    "a result without data and without errors fails its task",
    arguments: [#"{"data":null}"#, #"{"data":null,"errors":[]}"#])
  func noData(body: String) async throws {
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations: [{ id: a, query: "{ a }", expect: ["errors == null"], emit: a }]
      """, in: location)
    let summary = try await Bench.run(
      manifest, transport: ScriptedTransport { _ in .response(200, body) })
    #expect(summary.counters.failed == 1 && summary.counters.done == 0)
    #expect(summary.failures?.all.map(\.message) == ["the response has no data"])
  }

  @Test("a second run that would write the same file is kept out, and harms nothing")
  func twoRuns() async throws {
    try location.write(Bench.ids(5), to: "ids.csv")
    let manifest = try Bench.load(Self.users, in: location)
    let part = location.file("out/users.ndjson.part")
    try location.write("what the other run has", to: "out/users.ndjson.part")
    let descriptor = open(part, O_WRONLY)
    defer { close(descriptor) }
    #expect(flock(descriptor, LOCK_EX) == 0)
    let error = await #expect(throws: StoppedByStorage.self) {
      _ = try await Bench.run(manifest, transport: ScriptedTransport { _ in .response() })
    }
    #expect(error?.message.contains("another run is writing") == true)
    // The newest journal is that of the other run.
    #expect(try JournalFolder(manifest).all() == [])
    #expect(try JournalFolder(manifest).files().isEmpty)
    #expect(try location.text("out/users.ndjson.part") == "what the other run has")
  }

  @Test("rows that ask for the same are one task")
  func duplicates() async throws {
    try location.write("id\nU_1\nU_2\nU_1\n", to: "ids.csv")
    try await DemoServer.withServer { server in
      let summary = try await Bench.run(Self.users, in: location, url: server.url)
      #expect(summary.counters.done == 2)
      #expect(summary.counters.duplicates == 1)
      #expect(server.requestCount == 2)
    }
  }

  @Test("a row that does not fit is reported before anything is sent")
  func badRows() async throws {
    try location.write("n\n1\nx\n3\n", to: "ids.csv")
    try await DemoServer.withServer { server in
      let error = await #expect(throws: RowProblems.self) {
        _ = try await Bench.run(
          """
          version: 1
          operations:
            - id: a
              query: "query($n: Int!) { users(first: $n) { id } }"
              foreach: { csv: ids.csv }
              variables: { n: "{{row.n}}" }
          """, in: location, url: server.url)
      }
      #expect(error?.problems.count == 1)
      #expect(error?.description.contains("ids.csv:3: `a`: variables.n: expected Int") == true)
      #expect(server.requestCount == 0)
    }
  }

  @Test("records go to every kind of sink")
  func sinks() async throws {
    let files = FileSinkEntry.all(named: "out/r")
    try await DemoServer.withServer { server in
      let summary = try await Bench.run(
        """
        version: 1
        sinks:
          - sqlite: { path: out/r.db, table: "{{op}}", key: [code] }
          - sqlite: { path: out/r.db, table: plain }
        \(files.map { "  - \($0.text)" }.joined(separator: "\n"))
        operations:
          - id: countries
            query: "query($c: ID!) { country(code: $c) { code name capital languages { code } } }"
            foreach: { inline: [{ c: DE }, { c: FR }, { c: AQ }] }
            variables: { c: "{{row.c}}" }
            emit: country
        """, in: location, url: server.url)
      #expect(summary.counters.records == 3)
    }
    let records = try location.lines("out/r.ndjson").map { try JSONValue(parsing: $0) }
    #expect(Set(records.compactMap { $0["code"]?.stringValue }) == ["DE", "FR", "AQ"])
    #expect(try JSONValue(parsing: location.text("out/r.json")).arrayValue?.count == 3)
    let csv = try location.lines("out/r.csv")
    #expect(csv.first == "code,name,capital,languages")
    #expect(csv.contains("AQ,Antarctica,,[]"))
    #expect(csv.contains { $0.hasPrefix("DE,Germany,Berlin,\"[{\"\"code\"\":\"\"de\"\"}") })
    #expect(
      try location.values("SELECT code || ' ' || name FROM countries ORDER BY code", in: "out/r.db")
        == ["AQ Antarctica", "DE Germany", "FR France"])
    #expect(try location.values("SELECT count(*) FROM plain", in: "out/r.db") == ["3"])
    for entry in files {
      let text = try entry.isCompressed ? gunzip(entry.file) : location.text(entry.file)
      for name in ["Antarctica", "France", "Germany"] {
        #expect(text.contains(name), "\(entry.file): \(text)")
      }
    }
    #expect(try gunzip("out/r.ndjson.gz") == location.text("out/r.ndjson"))
  }

  private func gunzip(_ name: String) throws -> String {
    try ChildProcess("/bin/gzip", ["-dc", location.file(name)]).finish().output
  }

  @Test("an operation waits for what it needs, and is given what that captured")
  func needs() async throws {
    try await DemoServer.withServer { server in
      let summary = try await Bench.run(
        """
        version: 1
        run: { order: interleaved }
        sinks:
          - ndjson: { path: "out/{{op}}.ndjson", lines: records }
          - sqlite: { path: out/r.db, key: [code], operations: [all] }
        operations:
          - id: each
            needs: [all, one]
            query: "query($code: ID!) { country(code: $code) { name } }"
            foreach: { sqlite: out/r.db, query: "select code from \\"all\\" where code < 'AF' order by code" }
            variables: { code: "{{row.code}}" }
          - id: again
            needs: [one]
            query: "query($code: ID!) { country(code: $code) { name } }"
            variables: { code: "{{one.first}}" }
          - id: rows
            needs: [one]
            query: "query($code: ID!) { country(code: $code) { name } }"
            foreach: { capture: one, as: c }
            variables: { code: "{{c.first}}" }
          - id: all
            query: "{ countries { code } }"
            emit: countries[*]
          - id: one
            query: "{ continent(code: \\"EU\\") { countries { code } } }"
            capture: { first: "continent.countries[0].code" }
        """, in: location, url: server.url)
      #expect(summary.counters.failed == 0)
      #expect(summary.counters.done == 6)
    }
    #expect(try location.lines("out/each.ndjson").count == 2)
    #expect(try location.text("out/again.ndjson") == location.text("out/rows.ndjson"))
  }

  /// A batch whose second operation, with this many rows, needs what the first one has captured.
  private func capturing(rows: Int) throws -> Manifest {
    let rows = (1...rows).map { "{ n: \($0) }" }.joined(separator: ", ")
    return try Bench.load(
      """
      version: 1
      run: { concurrency: 1 }
      sinks: [{ ndjson: { path: "{{op}}.ndjson" } }]
      operations:
        - id: u
          query: "query($n: Int) { user(n: $n) { id } }"
          foreach: { inline: [{ n: 1 }, { n: 2 }], key: "{{row.n}}" }
          variables: { n: "{{row.n}}" }
          capture: { id: user.id }
        - id: v
          needs: [u]
          query: "query($x: ID) { other(x: $x) { id } }"
          foreach: { inline: [\(rows)], key: "{{row.n}}" }
          variables: { x: "{{u.id}}" }
      """, in: location)
  }

  /// Answers the operations of ``capturing(rows:)``; requests to the first one whose body contains a text fail.
  private func answers(failing: String?) -> ScriptedTransport {
    ScriptedTransport { body, _ in
      if body.contains("other") { return .data(#"{"other":{"id":"1"}}"#) }
      let fails = failing.map { body.contains($0) } ?? false
      return fails ? .errors("no") : .response()
    }
  }

  @Test("a task without the captured values in its variables fails, and is not sent")
  func withoutCaptured() async throws {
    let transport = answers(failing: #""n":2"#)
    let summary = try await Bench.run(capturing(rows: 3), transport: transport)
    #expect(transport.count == 3)
    #expect(summary.counters.done == 2 && summary.counters.failed == 3)
    let messages = summary.failures?.all.map(\.message) ?? []
    #expect(messages.contains { $0.contains("`u`, which it needs, has captured no values") })
  }

  @Test(
    "tasks that lacked captured values run with --only failed once these are there",
    arguments: [#""n":2"#, #""n":"#])
  func withCapturedLater(failing: String) async throws {
    let manifest = try capturing(rows: 2)
    let first = try await Bench.run(manifest, transport: answers(failing: failing))
    #expect(first.hasFailures)
    let missing = first.counts.total - first.counts[.done]
    let again = answers(failing: nil)
    let second = try await Bench.run(manifest, Bench.repeating, transport: again)
    #expect(again.count == missing)
    #expect(second.counts.byState == [.done: 4] && !second.hasFailures)
    #expect(try location.lines("v.ndjson").count >= 2)
  }

  @Test("a shard of a batch whose operations need captured values is refused", arguments: [1, 2])
  func capturedShards(count: Int) async throws {
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: "{{op}}.ndjson" } }]
      operations:
        - { id: u, query: "{ user { id } }", capture: { id: user.id } }
        - { id: v, needs: [u], query: "query($x: ID) { user(id: $x) { id } }", variables: { x: "{{u.id}}" } }
      """, in: location)
    let options = Bench.shard("1/\(count)")
    let transport = ScriptedTransport { _ in .response() }
    if count == 1 {
      let summary = try await Bench.run(manifest, options, transport: transport)
      #expect(summary.counters.done == 2)
    } else {
      let error = await #expect(throws: JournalError.self) {
        _ = try await Bench.run(manifest, options, transport: transport)
      }
      #expect(error?.description.contains("`u` captures values") == true && transport.count == 0)
    }
  }

  @Test("a shard of a batch that reads what it writes is refused")
  func writtenShards() async throws {
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ sqlite: { path: u.db, key: [id], operations: [u] } }]
      operations:
        - { id: u, query: "{ user { id } }", emit: user }
        - { id: v, needs: [u], query: "{ user { id } }", foreach: { sqlite: u.db, query: "select id from u" } }
      """, in: location)
    let transport = ScriptedTransport { _ in .response() }
    let error = await #expect(throws: JournalError.self) {
      _ = try await Bench.run(manifest, Bench.shard("1/2"), transport: transport)
    }
    #expect(error?.description.contains("the rows of `v`") == true && transport.count == 0)
  }

  @Test(
    "a second task with the key of captured values that are used fails, and does not replace them",
    arguments: [true, false])
  func capturedKeys(areUsed: Bool) async throws {
    let value = areUsed ? "{{u.id}}" : "1"
    let manifest = try Bench.load(
      """
      version: 1
      run: { concurrency: 1 }
      sinks: [{ ndjson: { path: "{{op}}.ndjson" } }]
      operations:
        - id: u
          query: "query($n: Int) { user(n: $n) { id } }"
          foreach: { inline: [{ k: A, n: 1 }, { k: A, n: 2 }, { k: A, n: 1 }], key: "{{row.k}}" }
          variables: { n: "{{row.n}}" }
          capture: { id: user.id }
        - id: v
          needs: [u]
          query: "query($x: ID) { user(id: $x) { id } }"
          foreach: { inline: [{ k: A }], key: "{{row.k}}" }
          variables: { x: "\(value)" }
      """, in: location)
    let summary = try await Bench.run(manifest, transport: ScriptedTransport { _ in .response() })
    #expect(summary.counters.done == (areUsed ? 2 : 3))
    #expect(summary.counters.failed == (areUsed ? 1 : 0))
    #expect(summary.counters.duplicates == 1)
    let message = summary.failures?.all.first?.message ?? ""
    #expect(message.contains("captured values are found by the key") == areUsed, "\(message)")
  }

  @Test("keys of captured values that are canonically equivalent are two keys")
  func equivalentKeys() async throws {
    try location.write("k\n\u{E9}\ne\u{301}\n", to: "keys.csv")
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: "{{op}}.ndjson" } }]
      operations:
        - id: u
          query: "query($k: String) { user(k: $k) { id } }"
          foreach: { csv: keys.csv, key: "{{row.k}}" }
          variables: { k: "{{row.k}}" }
          capture: { id: user.id }
        - id: v
          needs: [u]
          query: "query($x: ID) { user(id: $x) { id } }"
          foreach: { csv: keys.csv, key: "{{row.k}}" }
          variables: { x: "{{u.id}}" }
      """, in: location)
    let summary = try await Bench.run(manifest, transport: ScriptedTransport { _ in .response() })
    #expect(summary.counters.done == 4 && summary.counters.failed == 0)
  }

  @Test("pages follow the cursor of a connection, and each record comes once")
  func pages() async throws {
    func yaml(_ file: String, limit: String = "") -> String {
      """
      version: 1
      sinks: [{ ndjson: { path: \(file) } }]
      state: { file: state.json }
      operations:
        - id: feed
          query: "query($first: Int!, $after: String) { feed(first: $first, after: $after) { edges { node { id publishedAt } } pageInfo { hasNextPage endCursor } } }"
          paginate: { connection: feed, page_size: { variable: first, start: 40 }\(limit) }
          emit: feed.edges[*].node
          bookmark: { newest: max(publishedAt) }
      """
    }
    try await DemoServer.withServer { server in
      let summary = try await Bench.run(
        yaml("o.ndjson", limit: ", max_pages: 3"), in: location, url: server.url)
      #expect(server.requestCount == 3)
      // The feed has more than three pages: that failure is reported.
      #expect(summary.counters.failed == 1)
      #expect(!location.exists("state.json"))
      #expect(try location.lines("o.ndjson").count == 120)
    }
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 100
    try await DemoServer.withServer(configuration) { server in
      let summary = try await Bench.run(yaml("o2.ndjson"), in: location, url: server.url)
      #expect(server.requestCount == 3)
      #expect(summary.counters.records == 100)
    }
    let records = try location.lines("o2.ndjson").map { try JSONValue(parsing: $0) }
    #expect(Set(records.compactMap { $0["id"]?.stringValue }).count == 100)
    let newest = records.compactMap { $0["publishedAt"]?.stringValue }.max()
    #expect(try JSONValue(parsing: location.text("state.json"))["newest"]?.stringValue == newest)
  }

  @Test("the highest and the lowest integer of a bookmark are exact")
  func exactBookmarks() {
    let first = 1_500_000_000_000_000_000
    let ids = [2, 3, 1, 2].map { JSONValue.number(JSONNumber(first + $0)) }
    #expect(Bookmark.Fold.max.value(of: ids)?.intValue == first + 3)
    #expect(Bookmark.Fold.min.value(of: ids)?.intValue == first + 1)
  }

  @Test("max_pages delivers as many pages, fails when there are more, and a higher one continues")
  func maxPages() async throws {
    func yaml(_ most: Int, offset: Bool) -> String {
      let paging =
        offset
        ? "offset: { items: feed.nodes }" : "connection: feed"
      return """
        version: 1
        sinks: [{ ndjson: { path: o.ndjson } }, { ndjson: { path: r.ndjson, lines: results } }]
        operations:
          - id: feed
            query: "query($offset: Int, $after: String) { feed(offset: $offset, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }"
            paginate: { \(paging), max_pages: \(most) }
            emit: feed.nodes[*]
        """
    }
    for offset in [false, true] {
      let transport = ScriptedTransport { number in
        let node = offset && number > 5 ? "" : "{\"id\":\(number)}"
        return .page(of: "feed", node, hasNextPage: number < 5, endCursor: "\(number)")
      }
      let first = try await Bench.run(
        Bench.load(yaml(3, offset: offset), in: location), transport: transport)
      #expect(first.counters.failed == 1 && first.counters.records == 3)
      #expect(transport.count == 3)
      #expect(try location.lines("o.ndjson").count == 3)
      let lines = try location.lines("r.ndjson").map { try JSONValue(parsing: $0) }
      #expect(lines.map { $0["ok"]?.boolValue } == [true, true, true, false])
      #expect(
        lines.last?["errors"]?.arrayValue?.first?["message"]?.stringValue?.contains(
          "more than 3 pages") == true)
      let options = Bench.repeating
      // With the same limit nothing is asked for.
      let second = try await Bench.run(
        Bench.load(yaml(3, offset: offset), in: location), options, transport: transport)
      #expect(second.counters.failed == 1 && transport.count == 3)
      let third = try await Bench.run(
        Bench.load(yaml(10, offset: offset), in: location), options, transport: transport)
      #expect(third.counters.done == 1)
      #expect(
        try location.lines("o.ndjson").map { try JSONValue(parsing: $0)["id"]?.intValue } == [
          1, 2, 3, 4, 5,
        ])
      // As many pages as there are is no failure.
      let exact = ScriptedTransport { number in
        .page(of: "feed", "", hasNextPage: number < 3, endCursor: "\(number)")
      }
      #expect(
        try await Bench.run(Bench.load(yaml(3, offset: offset), in: location), transport: exact)
          .counters.done == 1)
    }
  }

  @Test("a page that a later check refuses is asked for again, and no page is left out")
  func refusedPage() async throws {
    let yaml = """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations:
        - id: feed
          query: "query($after: String) { feed(after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }"
          paginate: { connection: feed }
          emit: feed.nodes[*]
          snapshot: s.json
      """
    let transport = ScriptedTransport { number in
      .page(
        of: "feed", #"{"id":\#(number)}"#, hasNextPage: number < 2, endCursor: "\(number)")
    }
    let first = try await Bench.run(Bench.load(yaml, in: location), transport: transport)
    #expect(first.counters.failed == 1)
    let records = try location.lines("o.ndjson").count
    #expect(try location.values("SELECT page FROM tasks", in: first.journal) == ["\(records)"])
  }

  @Test("a snapshot that cannot be read fails its task, and is not replaced")
  func unreadableSnapshot() async throws {
    try FileManager.default.createDirectory(
      atPath: location.file("s.json"), withIntermediateDirectories: true)
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations: [{ id: a, query: "{ a }", snapshot: s.json }]
      """, in: location)
    let transport = ScriptedTransport { _ in .data(#"{"a":1}"#) }
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.failed == 1)
    let errors = try location.values("SELECT error FROM tasks", in: summary.journal)
    #expect(errors.first?.contains("s.json: Is a directory") == true, "\(errors)")
  }

  @Test("a snapshot behind a symbolic link is replaced where it is, and the link remains")
  func linkedSnapshot() async throws {
    try location.write("{}", to: "kept/s.json")
    try FileManager.default.createSymbolicLink(
      atPath: location.file("s.json"), withDestinationPath: "kept/s.json")
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations: [{ id: a, query: "{ a }", snapshot: s.json }]
      """, in: location)
    var options = RunOptions()
    options.updatesSnapshots = true
    let transport = ScriptedTransport { _ in .data(#"{"a":1}"#) }
    let summary = try await Bench.run(manifest, options, transport: transport)
    #expect(summary.counters.done == 1)
    #expect(try JSONValue(parsing: location.text("kept/s.json")) == ["a": 1])
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: location.file("s.json"))
        == "kept/s.json")
  }

  @Test("a snapshot that is a pipe fails its task, and is not read")
  func snapshotInPipe() async throws {
    #expect(mkfifo(location.file("x.json"), 0o600) == 0)
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations:
        - id: a
          query: "query($id: ID) { a(id: $id) }"
          foreach: { inline: [{ id: x }], key: "{{row.id}}" }
          variables: { id: "{{row.id}}" }
          snapshot: "{{key}}.json"
      """, in: location)
    let transport = ScriptedTransport { _ in .data(#"{"a":1}"#) }
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.failed == 1)
    let errors = try location.values("SELECT error FROM tasks", in: summary.journal)
    #expect(
      errors.first?.contains("x.json cannot be kept: it is not a regular") == true, "\(errors)")
  }

  @Test(
    "a snapshot whose row names a file of the batch fails its task, and does not replace the file")
  func snapshotOfFile() async throws {
    try location.write("k\nm.batch.yaml\nk.csv\no.ndjson\nother.json\n", to: "k.csv")
    let yaml = """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations:
        - id: a
          query: "{ user { id } }"
          foreach: { csv: k.csv, key: "{{row.k}}" }
          emit: user
          snapshot: "{{key}}"
      """
    let manifest = try Bench.load(yaml, in: location)
    var options = RunOptions()
    options.updatesSnapshots = true
    let summary = try await Bench.run(
      manifest, options, transport: ScriptedTransport { _ in .response() })
    #expect(summary.counters.done == 1 && summary.counters.failed == 3)
    let reasons = summary.failures?.all.map(\.message) ?? []
    for role in ["the manifest", "the rows of `a`", "the sink"] {
      #expect(reasons.contains { $0.contains("would replace \(role)") }, "\(reasons)")
    }
    #expect(try location.text("m.batch.yaml") == yaml)
    #expect(try location.lines("k.csv").count == 5)
    #expect(location.exists("other.json"))
  }

  @Test("data that is too large for a snapshot fails its task")
  func largeSnapshot() async throws {
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations: [{ id: a, query: "{ a b }", snapshot: s.json }]
      """, in: location)
    let text = String(repeating: "x", count: 9 << 20)
    let transport = ScriptedTransport { _ in .data(#"{"a":"\#(text)","b":"\#(text)"}"#) }
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.failed == 1 && summary.counters.done == 0)
    #expect(
      summary.failures?.all.first?.message.hasPrefix("the snapshot is not compared: ") == true)
  }

  @Test("nested connections are completed through node(id:)")
  func nested() async throws {
    let manifest = try Bench.load(
      """
      version: 1
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations:
        - id: posts
          query: "query Posts($after: String) { feed(after: $after) { nodes { id tags(first: 2) { nodes { name } pageInfo { hasNextPage endCursor } } } pageInfo { hasNextPage endCursor } } }"
          paginate: { connection: feed, nested: [{ path: tags, type: Post }] }
          emit: feed.nodes[*]
      """, in: location)
    let document = try #require(manifest.operations[0].pagination?.nested.first).nextPage
    #expect(document.contains("query PostsNextPage($gqlrunID_0: ID!, $gqlrunAfter_0: String)"))
    #expect(document.contains("tags(first: 2, after: $gqlrunAfter_0)"))
    let transport = ScriptedTransport { number in
      let info = #""pageInfo":{"hasNextPage":\#(number < 3),"endCursor":"\#(number)"}"#
      let names = #""nodes":[{"name":"\#(number)"}]"#
      guard number == 1 else {
        return .data(#"{"p0":{"__typename":"Post","tags":{\#(names),\#(info)}}}"#)
      }
      return .data(
        #"{"feed":{"nodes":[{"id":"a","tags":{\#(names),\#(info)}}],"pageInfo":{"hasNextPage":false,"endCursor":null}}}"#
      )
    }
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.failed == 0)
    #expect(transport.count == 3)
    let post = try JSONValue(parsing: location.text("o.ndjson"))
    #expect(
      post["tags"]?["nodes"]?.arrayValue?.compactMap { $0["name"]?.stringValue } == ["1", "2", "3"])
    #expect(post["tags"]?["pageInfo"]?["hasNextPage"] == .boolean(false))
  }

  @Test("failures are failures of their task, and --only failed runs just them")
  func failures() async throws {
    try location.write("id\nU_1\nU_2\n", to: "ids.csv")
    let yaml = Self.users.replacingOccurrences(
      of: "variables:", with: "expect: [\"data.user.id != \\\"U_2\\\"\"]\n    variables:")
    try await DemoServer.withServer { server in
      let first = try await Bench.run(yaml, in: location, url: server.url)
      #expect(first.counters.done == 1)
      #expect(first.counters.failed == 1)
      #expect(first.hasFailures)
      let second = try await Bench.run(yaml, in: location, url: server.url, Bench.repeating)
      #expect(second.counters.failed == 1)
      #expect(server.requestCount == 3)
      let third = try await Bench.run(yaml, in: location, url: server.url, Bench.resuming)
      #expect(third.counters.started == 0)
      #expect(server.requestCount == 3)
    }
  }
}
