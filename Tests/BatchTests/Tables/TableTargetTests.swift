import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import Testing

@testable import GQLRunBatch

/// Manifests with `tables`: mistakes, runs that follow each other, and shards.
@Suite("Where the tables of operations go")
struct TableTargetTests {
  private let location: Place

  init() throws { location = try Place() }

  private func manifest(_ tables: String, keys: [String] = []) throws -> Manifest {
    try TableBench.manifest(tables, keys: keys, head: "pipeline: p.pipeline.yaml", in: location)
  }

  // MARK: Mistakes

  private func findings(_ text: String, head: String = "") throws -> [String] {
    try location.write(TableBench.schema, to: "schema.graphql")
    try location.write(TableBench.document, to: "shop.graphql")
    return try Bench.findings(
      """
      version: 1
      schema: schema.graphql
      pipeline: p.pipeline.yaml
      \(head)
      operations:
        - id: shop
          document: shop.graphql
          \(text)
      """, in: location)
  }

  @Test("a manifest whose operations have tables has no sink on standard output")
  func noDefaultSink() throws {
    let manifest = try manifest(#"to: "sqlite:o.db""#)
    #expect(manifest.sinks.isEmpty)
    #expect(try SinkPlan(manifest).entries.map(\.table) == ["customers", "customers_orders"])
    let both = try Bench.load(
      """
      version: 1
      schema: schema.graphql
      operations:
        - { id: a, query: "{ customers { id } }", tables: { to: out/, format: csv } }
        - { id: b, query: "{ customers { id } }" }
      """, in: location)
    let plan = try SinkPlan(both)
    #expect(plan.entries.map(\.path) == ["\(location.path)/out/customers.csv", "-"])
    #expect(plan.formats.map { $0.map(\.entry) } == [[0], [1]])
  }

  @Test(
    "a wrong target is an error at its text, with what would work",
    arguments: [
      ("to: out/", "the files in `out/` have no format", "format: csv"),
      ("to: orders.db", "is a folder, because it does not begin with", "sqlite:orders.db"),
      (#"to: "sqlite:""#, "names no file", "sqlite:out.db"),
      (#"to: "sqlite:out/""#, "names no file", "sqlite:out.db"),
      (#"to: "sqlite:../o.db""#, "outside of the manifest's folder", "`..`"),
      (#"to: "sqlite:/tmp/o.db""#, "outside of the manifest's folder", "relative"),
      ("to: ../out, format: csv", "outside of the manifest's folder", "`..`"),
      (#"to: "postgres://h/d""#, "the URL of a database", "journal"),
      ("to: postgres", "and this run has none", "journal"),
      (#"to: "sqlite:o.db", format: csv"#, "`format` is for files", "remove it"),
      (#"to: "out/{{op}}", format: csv"#, "contains a template", "without"),
    ])
  func targets(_ tables: String, message: String, hint: String) throws {
    let findings = try findings("tables: { \(tables) }")
    #expect(findings.count == 1, "\(findings)")
    let parts = findings.first?.components(separatedBy: " | ") ?? []
    #expect(findings.first?.hasPrefix("8:19 ") == true, "\(findings)")
    #expect(parts.first?.contains(message) == true, "\(findings)")
    #expect(parts.last?.contains(hint) == true, "\(findings)")
  }

  @Test(
    "a key that an operation with tables does not have is an error, with the reason",
    arguments: [
      ("emit: customers[*]", "every list is a table"),
      ("paginate: none", "all pages"), ("capture: { a: customers }", "without `tables`"),
      ("bookmark: { last: max(name) }", "`since`"), ("snapshot: a.json", "several responses"),
    ])
  func excluded(_ key: String, hint: String) throws {
    let findings = try findings(#"tables: { to: "sqlite:o.db" }"# + "\n    \(key)")
    let name = key.prefix { $0 != ":" }
    #expect(findings.count == 1, "\(findings)")
    #expect(
      findings.first?.hasPrefix("9:5 ") == true
        && findings.first?.contains("`shop` has `tables` and `\(name)`") == true
        && findings.first?.contains(hint) == true, "\(findings)")
  }

  @Test(
    "other mistakes have their locations",
    arguments: [
      (#"to: "sqlite:o.db", since: { path: nam, variable: since }"#, "8:49", "did you mean `name`"),
      (
        #"to: "sqlite:o.db", since: { path: name, variable: sinc }"#, "8:65", "did you mean `since`"
      ),
      (
        #"to: "sqlite:o.db", since: { path: total, variable: since }"#, "8:49",
        "is no column of the first level (`customers`)"
      ),
      (#"to: "sqlite:o.db", as: { customers: sqlite_x }"#, "8:51", "SQLite reserves names"),
      (
        #"to: "sqlite:o.db", as: { customers: gqlrun_since }"#, "8:51",
        "gqlrun keeps its own"
      ),
      (
        "to: out, format: csv, as: { customers: a/b }", "8:54",
        "`a/b` cannot be the name"
      ),
      (#"to: "sqlite:o.db", shared: [nothing]"#, "8:43", "nothing"),
      (#"to: "sqlite:o.db", as: { nothing: a }"#, "8:40", "nothing"),
    ])
  func options(_ tables: String, position: String, text: String) throws {
    let findings = try findings("tables: { \(tables) }")
    #expect(findings.count == 1, "\(findings)")
    #expect(
      findings.first?.hasPrefix("\(position) ") == true && findings.first?.contains(text) == true,
      "\(findings)")
  }

  @Test("tables are for queries, and conditions know no records")
  func queries() throws {
    let mutation = try Bench.findings(
      """
      version: 1
      operations:
        - { id: a, query: "mutation { a { id } }", tables: { to: out/, format: csv } }
      """, in: location)
    #expect(mutation.contains { $0.contains("`tables` is for queries, and `a` is a mutation") })
    let condition = try findings(
      #"tables: { to: "sqlite:o.db" }"# + "\n    expect: [\"count(emit) > 0\"]")
    #expect(condition.contains { $0.contains("`expect` has no value `emit`") }, "\(condition)")
  }

  @Test("a sink receives nothing of operations with tables")
  func sinks() throws {
    let tables = #"tables: { to: "sqlite:o.db" }"#
    let named = try findings(
      tables, head: "sinks: [{ ndjson: { path: a.ndjson, operations: [shop] } }]")
    #expect(
      named.contains {
        $0.hasPrefix("4:50 ") && $0.contains("names the operation `shop`, whose rows go to its")
      }, "\(named)")
    let all = try findings(tables, head: "sinks: [{ ndjson: { path: a.ndjson } }]")
    #expect(all.contains { $0.contains("the sink `ndjson` receives nothing") }, "\(all)")
  }

  @Test(
    "outputs of tables are compared with other outputs, with inputs and with each other",
    arguments: [
      ("to: out/, format: csv", "report: { json: out/customers.csv }", "are one file"),
      (#"to: "sqlite:shop.graphql""#, "", "would replace the document"),
      ("to: runs/, format: csv", "", ""),
    ])
  func conflicts(_ tables: String, head: String, message: String) throws {
    let findings = try findings("tables: { \(tables) }", head: head)
    if message.isEmpty {
      #expect(findings.isEmpty, "\(findings)")
    } else {
      #expect(findings.count == 1 && findings[0].contains(message), "\(findings)")
    }
  }

  @Test("two operations do not write one table, also if its names differ in case")
  func oneTable() throws {
    try location.write(TableBench.schema, to: "schema.graphql")
    let findings = try Bench.findings(
      """
      version: 1
      schema: schema.graphql
      operations:
        - { id: a, query: "{ customers { id } }", tables: { to: "sqlite:o.db" } }
        - { id: b, query: "{ Customers: customers { id } }", tables: { to: "sqlite:o.db" } }
      """, in: location)
    #expect(
      findings.contains {
        $0.contains(
          "`b` and another operation write the table `Customers` of \(location.path)/o.db")
      }, "\(findings)")
  }

  @Test("what a queue cannot do is reported, with what would work")
  func queues() throws {
    let head = #"run: { journal: "postgres://h/d" }"#
    let sqlite = try findings(#"tables: { to: "sqlite:o.db" }"#, head: head)
    #expect(
      sqlite.count == 1 && sqlite[0].contains("does not support tables of a SQLite database")
        && sqlite[0].contains("to: postgres"), "\(sqlite)")
    let since = try findings(
      "tables: { to: out/, format: csv, since: { path: name, variable: since } }", head: head)
    #expect(since.count == 1 && since[0].contains("does not support `since` of files"), "\(since)")
    #expect(try findings("tables: { to: out/, format: csv }", head: head).isEmpty)
    let long = String(repeating: "x", count: 64)
    let name = try findings("tables: { to: postgres, as: { customers: \(long) } }", head: head)
    #expect(name.count == 1 && name[0].contains("longer than 63 bytes"), "\(name)")
  }

  @Test("files and tables that no run wrote are refused, and earlier ones are replaced")
  func foreign() async throws {
    try location.write("mine", to: "out/customers.csv")
    let manifest = try manifest("to: out/, format: csv")
    let transport = Self.customers { _ in ["a"] }
    let error = await #expect(throws: OutputProblems.self) {
      _ = try await Bench.run(manifest, transport: transport)
    }
    #expect(
      error?.description.contains("the table `\(location.path)/out/customers.csv` already exists")
        == true, "\(error?.description ?? "")")
    try FileManager.default.removeItem(atPath: location.file("out/customers.csv"))
    for _ in 0..<2 { #expect(try await Bench.run(manifest, transport: transport).stop == nil) }
    #expect(try location.lines("out/customers.csv").count == 2)
  }

  // MARK: Runs

  /// Answers with customers of these names; the value of `$since` chooses them.
  private static func customers(
    _ names: @escaping @Sendable (_ since: String?) -> [String]?
  ) -> ScriptedTransport {
    ScriptedTransport { body, _ in
      let since = try JSONValue(parsing: body)["variables"]?["since"]?.stringValue
      guard let names = names(since) else { return .errors("no") }
      let rows = names.map { name in
        #"{"__typename":"Customer","id":"\#(name)","name":"\#(name)","active":null,"score":null,"tags":null,"orders":[]}"#
      }
      return .data(#"{"customers":[\#(rows.joined(separator: ","))]}"#)
    }
  }

  @Test(
    "a complete run keeps the highest value with the tables, and the next one starts from it",
    arguments: [#"to: "sqlite:o.db""#, "to: out/, format: csv"])
  func since(_ target: String) async throws {
    let manifest = try manifest("\(target), since: { path: name, variable: since }")
    let name = try #require(manifest.operations[0].sinceName)
    #expect(name.hasPrefix("customers.name "))
    let asked = Locked<[String?]>([])
    func run(
      _ names: [String]?, _ options: RunOptions = RunOptions()
    ) async throws -> RunSummary {
      try await Bench.run(
        manifest, options,
        transport: Self.customers { since in
          asked.withLock { $0.append(since) }
          return names
        })
    }
    // Without a value, the variable is not passed; a failed run keeps none.
    #expect(try await run(nil).counters.failed == 1)
    #expect(try await run(["b", "m", "c"]).counters.done == 1)
    #expect(asked.withLock { $0 } == [nil, nil])
    // A run without new rows, and one that fails, leave the value as it is.
    #expect(try await run([]).counters.done == 1)
    #expect(try await run(nil).counters.failed == 1)
    #expect(asked.withLock { $0 } == [nil, nil, "m", "m"])
    // The failed task is repeated with the value that its run began with.
    #expect(try await run(["x"], Bench.repeating).counters.done == 1)
    #expect(try await run(["y"], Bench.resuming).counters.alreadyDone == 1)
    #expect(try await run(["z"]).counters.done == 1)
    #expect(asked.withLock { $0 } == [nil, nil, "m", "m", "m", "x"])
    if target.hasPrefix("to: out") {
      #expect(
        try JSONValue(parsing: location.text("out/.gqlrun-since.json"))[name] == "z")
      #expect(try location.lines("out/customers.csv").count == 2)
    } else {
      #expect(
        try location.values("SELECT value FROM gqlrun_since", in: "o.db") == [#""z""#])
      #expect(
        try location.values("SELECT name FROM customers ORDER BY name", in: "o.db")
          == ["b", "c", "m", "x", "z"])
    }
  }

  @Test("operations with tables of one name in several targets have values of their own")
  func sinceOfOperations() async throws {
    try location.write(TableBench.schema, to: "schema.graphql")
    let since = "since: { path: name, variable: since }"
    func operation(_ id: String, _ fields: String) -> String {
      """
        - id: \(id)
          query: "query($since: String) { customers(since: $since) { \(fields) } }"
          tables: { to: "sqlite:\(id).db", \(since) }
      """
    }
    let manifest = try Bench.load(
      """
      version: 1
      schema: schema.graphql
      pipeline: p.pipeline.yaml
      operations:
      \(operation("a", "name"))
      \(operation("b", "name active"))
      """, in: location)
    let transport = ScriptedTransport { body, _ in
      let name = body.contains("active") ? "early" : "late"
      return .data(
        #"{"customers":[{"__typename":"Customer","id":"1","name":"\#(name)","active":null}]}"#)
    }
    #expect(try await Bench.run(manifest, transport: transport).counters.done == 2)
    #expect(try manifest.sinceValues() == ["a": "late", "b": "early"])
  }

  private func store(_ manifest: Manifest) throws -> SinceStore {
    let tables = try #require(manifest.operations[0].tables)
    return try #require(SinceStore(tables.target, base: OutputPath(folder: manifest.folder)))
  }

  @Test("a file of values behind a symbolic link is replaced where it is, and the link remains")
  func linkedSince() throws {
    try location.write("{}", to: "kept/since.json")
    try location.write("", to: "out/note.txt")
    let link = location.file("out/.gqlrun-since.json")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: "../kept/since.json")
    let manifest = try manifest("to: out/, format: csv, since: { path: name, variable: since }")
    try store(manifest).save("m", as: "a")
    #expect(try JSONValue(parsing: location.text("kept/since.json")) == ["a": "m"])
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: link) == "../kept/since.json")
  }

  private static let teams = """
    type Query { customers(since: String, team: Int): [Customer!]! }
    type Customer { id: ID! name: String }
    """

  @Test("what another document or another variable selects does not start from the value")
  func sinceOfOthers() async throws {
    try location.write(Self.teams, to: "schema.graphql")
    let asked = Locked<[String?]>([])
    func run(_ fields: String, team: Int) async throws {
      let manifest = try Bench.load(
        """
        version: 1
        schema: schema.graphql
        pipeline: p.pipeline.yaml
        operations:
          - id: shop
            query: "query($since: String, $team: Int) { customers(since: $since, team: $team) { \(fields) } }"
            variables: { team: \(team) }
            tables: { to: "sqlite:o.db", since: { path: name, variable: since } }
        """, in: location)
      let transport = ScriptedTransport { body, _ in
        let since = try JSONValue(parsing: body)["variables"]?["since"]?.stringValue
        asked.withLock { $0.append(since) }
        return .data(#"{"customers":[{"__typename":"Customer","id":"1","name":"t\#(team)"}]}"#)
      }
      #expect(try await Bench.run(manifest, transport: transport).counters.done == 1)
    }
    for team in [1, 2, 1, 2] { try await run("name", team: team) }
    try await run("id name", team: 1)
    #expect(asked.withLock { $0 } == [nil, nil, "t1", "t2", nil])
  }

  @Test("a value is not kept while the journal has a failed task, also of a row that is gone")
  func sinceOfRemovedRow() async throws {
    let tables = #"to: "sqlite:o.db", since: { path: name, variable: since }"#
    let transport = Self.customers { $0 == "k2" ? nil : ["a"] }
    let first = try await Bench.run(
      manifest(tables, keys: ["k1", "k2"]), transport: transport)
    #expect(first.counters.done == 1 && first.counters.failed == 1)
    let rest = try manifest(tables, keys: ["k1"])
    #expect(try await Bench.run(rest, Bench.repeating, transport: transport).stop == nil)
    #expect(try rest.sinceValues().isEmpty)
  }

  @Test("rows without keys would be replaced by those of the next run", arguments: [true, false])
  func sinceWithoutKeys(isDatabase: Bool) throws {
    let target = isDatabase ? #"to: "sqlite:o.db""# : "to: out/, format: csv"
    try location.write(
      "type Query { logs(since: Int): [Log!]! } type Log { at: Int! }", to: "schema.graphql")
    let findings = try Bench.findings(
      """
      version: 1
      schema: schema.graphql
      operations:
        - id: logs
          query: "query($since: Int) { logs(since: $since) { at } }"
          tables: { \(target), since: { path: at, variable: since } }
      """, in: location)
    guard isDatabase else {
      #expect(findings.isEmpty, "\(findings)")
      return
    }
    #expect(
      findings.count == 1 && findings[0].contains("the rows of `logs` have no keys"),
      "\(findings)")
  }

  @Test("the summary of a run has the rows that this part of it wrote, and those that came again")
  func summary() async throws {
    let manifest = try manifest(#"to: "sqlite:o.db""#)
    for _ in 0..<2 {
      let summary = try await Bench.run(
        manifest, transport: Self.customers { _ in ["a", "b", "a"] })
      #expect(summary.tables?.tables.map(\.rows) == [2, 0])
      #expect(summary.tables?.repeated == 1)
    }
  }

  @Test("a resumed run whose document has its lists in another order writes no row again")
  func reordered() async throws {
    try location.write(TableBench.schema, to: "schema.graphql")
    let transport = ScriptedTransport { _, _ in
      .data(
        #"{"a":[{"__typename":"Customer","id":"1"},{"__typename":"Customer","id":"2"}],"#
          + #""b":[{"__typename":"Customer","id":"3"}]}"#)
    }
    for lists in [["a", "b"], ["b", "a"]] {
      let manifest = try Bench.load(
        """
        version: 1
        schema: schema.graphql
        pipeline: p.pipeline.yaml
        operations:
          - id: shop
            query: "{ \(lists.map { "\($0): customers { id }" }.joined(separator: " ")) }"
            tables: { to: out/, format: csv }
        """, in: location)
      let summary = try await Bench.run(manifest, Bench.resuming, transport: transport)
      #expect(summary.counters.done == 1)
      #expect(try location.lines("out/a.csv").count == 3)
      #expect(try location.lines("out/b.csv").count == 2)
    }
  }

  @Test("an object that two tasks have fails the later one, and the run has its reason")
  func secondParent() async throws {
    let manifest = try TableBench.manifest(
      #"to: "sqlite:o.db""#, keys: ["k1", "k2", "k3"],
      head: "pipeline: p.pipeline.yaml\nrun: { concurrency: 1 }", in: location)
    let summary = try await Bench.run(
      manifest, transport: Self.customers { $0 == "k2" ? ["other"] : ["same"] })
    #expect(summary.counters.done == 2 && summary.counters.failed == 1)
    #expect(summary.counts[.failed] == 1)
    let reason = try #require(summary.failures?.all.first?.message)
    #expect(
      reason.contains("has `Customer:same` under `k1`, and it is under `k3`, too")
        && reason.contains("--shared customers"), "\(reason)")
    #expect(try location.values("SELECT _key FROM customers", in: "o.db").count == 2)
  }

  // MARK: Shards

  private static let shardTargets = [#"to: "sqlite:o.db""#, "to: out/, format: ndjson"]

  /// The rows of the customers after a merge, each as key and parent.
  private func merged(_ target: String) throws -> [String] {
    if target.hasPrefix("to: out") {
      return try location.lines("out/customers.ndjson").map { line in
        let value = try JSONValue(parsing: line)
        return "\(value["_key"]?.stringValue ?? "") \(value["_parent"]?.stringValue ?? "")"
      }.sorted()
    }
    return try location.values("SELECT _key || ' ' || _parent FROM customers", in: "o.db").sorted()
  }

  @Test("shards have tables of their own, which a merge joins", arguments: shardTargets)
  func shards(_ target: String) async throws {
    let keys = (1...12).map { "k\($0)" }
    let manifest = try manifest(
      "\(target), since: { path: name, variable: since }", keys: keys)
    let transport = Self.customers { key in key.map { ["\($0)a", "\($0)b"] } }
    for shard in ["1/2", "2/2"] {
      _ = try await Bench.run(manifest, Bench.shard(shard), transport: transport)
    }
    #expect(try ShardMerge(manifest).tasks == 12)
    let expected = keys.flatMap { ["Customer:\($0)a \($0)", "Customer:\($0)b \($0)"] }.sorted()
    #expect(try merged(target) == expected)
    // The merged run has all rows, and what the next run starts from.
    let again = try await Bench.run(manifest, Bench.resuming, transport: transport)
    #expect(again.counters.alreadyDone == 12 && again.counters.done == 0)
    #expect(try manifest.sinceValues()["shop"] == "k9b")
    #expect(try merged(target) == expected)
  }

  @Test("all shards start from the value of the merged tables, so that each task is in one of them")
  func sinceOfShards() async throws {
    try location.write(Self.teams, to: "schema.graphql")
    let manifest = try Bench.load(
      """
      version: 1
      schema: schema.graphql
      pipeline: p.pipeline.yaml
      operations:
        - id: shop
          query: "query($since: String, $team: Int) { customers(since: $since, team: $team) { name } }"
          foreach: { inline: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], key: "{{row.value}}" }
          variables: { team: "{{row.value}}" }
          tables: { to: "sqlite:o.db", since: { path: name, variable: since } }
      """, in: location)
    let asked = Locked<[String?]>([])
    let transport = ScriptedTransport { body, _ in
      let variables = try JSONValue(parsing: body)["variables"]
      asked.withLock { $0.append(variables?["since"]?.stringValue) }
      let team = variables?["team"]?.intValue ?? 0
      return .data(
        #"{"customers":[{"__typename":"Customer","id":"\#(team)","name":"t\#(team)"}]}"#)
    }
    for since in [nil, "t9"] as [String?] {
      for shard in ["1/2", "2/2"] {
        _ = try await Bench.run(manifest, Bench.shard(shard), transport: transport)
      }
      #expect(try ShardMerge(manifest).tasks == 12)
      #expect(asked.withLock { $0 } == Array(repeating: since, count: 12))
      asked.withLock { $0 = [] }
    }
    let request = try #require(try DryRun(manifest).entries.first?.requests.first)
    #expect(try JSONValue(parsing: request)["variables"]?["since"] == "t9")
    // So does a run that is continued and was killed before its journal had the value.
    try Journal.withTemporary { journal in
      let start = try RunStart(manifest, of: journal)
      #expect(start.since == ["shop": "t9"])
    }
  }

  @Test("a merge keeps the NUL characters of texts")
  func mergedTexts() async throws {
    let manifest = try manifest(#"to: "sqlite:o.db""#, keys: ["k1", "k2"])
    let transport = Self.customers { key in key.map { [#"\#($0)\u0000x"#] } }
    for shard in ["1/2", "2/2"] {
      _ = try await Bench.run(manifest, Bench.shard(shard), transport: transport)
    }
    _ = try ShardMerge(manifest)
    #expect(
      try location.values("SELECT hex(name) FROM customers ORDER BY 1", in: "o.db")
        == ["6B310078", "6B320078"])
  }

  /// A key of a row for each of two shards.
  private func keysOfShards(_ target: String) throws -> [String] {
    let shards = try ["1/2", "2/2"].map { try #require(Shard($0)) }
    let all = (1...40).map { "k\($0)" }
    let maker = TaskMaker(try manifest(target, keys: all).operations[0], state: [:])
    return try shards.map { shard in
      try #require(
        all.first { key in
          let row = Row(number: 1, content: .values(["key": .string(key)]))
          return (try? maker.item(row) { _ in [:] })?.id.belongs(to: shard) == true
        })
    }
  }

  /// Runs both shards of a manifest.
  private func runShards(_ manifest: Manifest, _ transport: ScriptedTransport) async throws {
    for shard in ["1/2", "2/2"] {
      let summary = try await Bench.run(manifest, Bench.shard(shard), transport: transport)
      #expect(summary.counters.done == 1)
    }
  }

  @Test("an object under parents of two shards is an error of the merge", arguments: shardTargets)
  func shardsWithOneObject(_ target: String) async throws {
    let keys = try keysOfShards(target)
    let manifest = try manifest(target, keys: keys)
    try await runShards(manifest, Self.customers { _ in ["same"] })
    let error = #expect(throws: JournalError.self) { _ = try ShardMerge(manifest) }
    #expect(
      error?.description.contains("has `Customer:same` under `\(keys[0])`") == true
        && error?.description.contains("shared: [customers]") == true, "\(error?.description ?? "")"
    )
  }

  @Test("a merge that fails changes no table of its database")
  func failedMerge() async throws {
    let target = #"to: "sqlite:o.db""#
    let manifest = try manifest(target, keys: keysOfShards(target))
    let transport = ScriptedTransport { body, _ in
      let key = try JSONValue(parsing: body)["variables"]?["since"]?.stringValue ?? ""
      return .data(
        #"{"customers":[{"__typename":"Customer","id":"\#(key)","name":null,"active":null,"score":null,"#
          + #""tags":null,"orders":[{"__typename":"Order","id":"same","total":1,"due":null}]}]}"#)
    }
    try await runShards(manifest, transport)
    let error = #expect(throws: JournalError.self) { _ = try ShardMerge(manifest) }
    #expect(error?.description.contains("`customers_orders` has `Order:same`") == true)
    #expect(try location.values("SELECT name FROM sqlite_schema", in: "o.db").isEmpty)
  }

  @Test("an object that has moved to a parent of another shard is merged under its new parent")
  func movedBetweenShards() async throws {
    let target = #"to: "sqlite:o.db""#
    let keys = try keysOfShards(target)
    let manifest = try manifest(target, keys: keys)
    for parent in [keys[0], keys[1], keys[0]] {
      try await runShards(manifest, Self.customers { $0 == parent ? ["same"] : [] })
      _ = try ShardMerge(manifest)
      #expect(try merged(target) == ["Customer:same \(parent)"])
    }
  }
}
