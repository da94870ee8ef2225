import Foundation
import GQLRunDemoServer
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

/// A batch replaces its own earlier outputs, and nothing else.
@Suite("Outputs and inputs", .timeLimit(.minutes(10)))
struct OutputCheckTests {
  private let location: Place

  init() throws {
    location = try Place(ids: 3)
    try location.write("{\"id\":\"U_1\"}\n", to: "ids.jsonl")
    try location.write(
      "type Query { user(id: ID!): User } type User { id: ID login: String }", to: "s.graphql")
    try location.write("token", to: "token.txt")
    try location.write(
      """
      version: 1
      endpoint: { url: "http://127.0.0.1:9/", headers: { X-A: "${file:token.txt}" } }
      store: { kind: sqlite, path: cache.db }
      chain: [fetch, response-code, parse, cache-write]
      """, to: "base.pipeline.yaml")
    try location.write("extends: base.pipeline.yaml\nname: p\nversion: 1\n", to: "p.pipeline.yaml")
    try location.execute(
      "CREATE TABLE users (id); INSERT INTO users VALUES ('U_1')", in: "rows.db")
  }

  private func yaml(_ more: String, foreach: String = "csv: ids.csv") -> String {
    """
    version: 1
    pipeline: p.pipeline.yaml
    schema: s.graphql
    \(more)
    operations:
      - id: users
        document: u.graphql
        foreach: { \(foreach), key: "{{row.id}}" }
        variables: { id: "{{row.id}}" }
        emit: user
    """
  }

  @Test(
    "an output that would replace a file that the run reads is refused, with its place",
    arguments: [
      ("ids.csv", "the rows of `users`"), ("m.batch.yaml", "the manifest"),
      ("u.graphql", "the document"), ("s.graphql", "the schema"),
      ("p.pipeline.yaml", "a file that the pipeline reads"),
      ("base.pipeline.yaml", "a file that the pipeline reads"),
      ("token.txt", "a file that the pipeline reads"), ("cache.db", "the cache"),
      ("./ids.csv", "the rows of `users`"), ("hard.csv", "the rows of `users`"),
      ("soft.csv", "the rows of `users`"), ("folder/ids.csv", "the rows of `users`"),
    ])
  func inputs(path: String, role: String) throws {
    try FileManager.default.linkItem(
      atPath: location.file("ids.csv"), toPath: location.file("hard.csv"))
    try FileManager.default.createSymbolicLink(
      atPath: location.file("soft.csv"), withDestinationPath: "ids.csv")
    try FileManager.default.createSymbolicLink(
      atPath: location.file("folder"), withDestinationPath: ".")
    let sinks = Sinks.all.filter { !$0.fileExtensions.isEmpty }.map { kind in
      let start = "sinks: [{ \(kind.name): { path: "
      return ("\(start)\(path) } }]", "4:\(start.count + 1)")
    }
    for (output, position) in sinks + [
      ("report: { junit: \(path) }", "4:18"), ("report: { html: \(path) }", "4:17"),
      ("report: { json: \(path) }", "4:17"), ("state: { file: \(path) }", "4:16"),
    ] {
      let findings = try Bench.findings(yaml(output), in: location)
      #expect(
        findings.contains {
          $0.hasPrefix("\(position) B004") && $0.contains("would replace \(role)")
        }, "\(output): \(findings)")
    }
  }

  @Test(
    "a path that means something else to SQLite is that of a file in the folder",
    arguments: ["file:/tmp/o.db", "file:o.db?mode=memory", ":memory:"])
  func specialPaths(_ path: String) throws {
    let base = OutputPath(folder: ".")
    let resolved = try base.resolve(path)
    #expect(resolved == "./\(path)")
    #expect(base.relative(resolved) == path)
  }

  @Test("a path that only the operation's id completes is compared, and so is the unfinished file")
  func completed() throws {
    try location.write("id\nU_1\n", to: "users.csv")
    let filled = try Bench.findings(
      yaml("sinks: [{ csv: { path: \"{{op}}.csv\" } }]", foreach: "csv: users.csv"), in: location)
    #expect(filled.contains { $0.contains("would replace the rows of `users`") }, "\(filled)")
    try FileManager.default.linkItem(
      atPath: location.file("ids.csv"), toPath: location.file("out.csv.part"))
    let part = try Bench.findings(yaml("sinks: [{ csv: { path: out.csv } }]"), in: location)
    #expect(part.contains { $0.contains("the unfinished file of the sink") }, "\(part)")
  }

  @Test(
    "a database that is read is written only by an operation that the reader needs",
    arguments: [
      ("jsonl: ids.jsonl", "ids.jsonl"),
      ("sqlite: rows.db, query: \"select id from users\"", "rows.db"),
    ])
  func sources(foreach: String, path: String) throws {
    let sink = "sinks: [{ sqlite: { path: \(path), table: t } }]"
    let findings = try Bench.findings(yaml(sink, foreach: foreach), in: location)
    #expect(findings.contains { $0.contains("would replace the rows of `users`") }, "\(findings)")
  }

  @Test(
    "two outputs that are one file are refused",
    arguments: [
      ("sinks: [{ ndjson: { path: a } }]\nreport: { json: a }", "the report"),
      ("report: { json: a, html: a }", "the report"),
      ("report: { json: a }\nstate: { file: ./a }", "the state file"),
      ("sinks: [{ ndjson: { path: a } }, { sqlite: { path: a } }]", "the sink"),
      ("sinks: [{ ndjson: { path: a } }]\nreport: { json: a.part }", "the unfinished file"),
    ])
  func twice(more: String, role: String) throws {
    let findings = try Bench.findings(yaml(more), in: location)
    #expect(findings.contains { $0.contains("are one file") && $0.contains(role) }, "\(findings)")
  }

  @Test(
    "an output that is a folder, or the folder of another output or of the journals, is refused",
    arguments: [
      "{ csv: { path: old } }", "{ csv: { path: a/b } }, { csv: { path: a } }",
      "{ csv: { path: runs } }",
    ])
  func folder(sinks: String) throws {
    try FileManager.default.createDirectory(
      atPath: location.file("old"), withIntermediateDirectories: false)
    let findings = try Bench.findings(yaml("sinks: [\(sinks)]"), in: location)
    #expect(findings.contains { $0.contains("is a folder") }, "\(findings)")
  }

  @Test(
    "an output in a folder that is a file is refused",
    arguments: [
      "sinks: [{ csv: { path: old/users.csv } }]", "sinks: [{ sqlite: { path: old/users.db } }]",
      "report: { json: old/in/report.json }", "sinks: [{ csv: { path: old/users.part } }]",
      "run: { journal: old/runs }",
    ])
  func fileAsFolder(outputs: String) throws {
    try location.write("text", to: "old")
    let findings = try Bench.findings(yaml(outputs), in: location)
    #expect(findings.contains { $0.contains("is in a folder that is a file") }, "\(findings)")
  }

  @Test("a database of a sink that is a pipe is refused, with its place")
  func pipe() throws {
    #expect(mkfifo(location.file("pipe"), 0o600) == 0)
    let start = "sinks: [{ sqlite: { path: "
    let findings = try Bench.findings(yaml("\(start)pipe } }]"), in: location)
    #expect(findings.count == 1)
    #expect(findings.first?.hasPrefix("4:\(start.count + 1) B004") == true, "\(findings)")
    #expect(findings.first?.contains("is not a regular file") == true, "\(findings)")
  }

  @Test(
    "an output that is a pipe, or a link to one, is refused",
    arguments: [
      "sinks: [{ ndjson: { path: PATH } }]", "report: { json: PATH }", "report: { junit: PATH }",
      "state: { file: PATH }",
    ], ["pipe", "link"])
  func pipes(output: String, path: String) throws {
    #expect(mkfifo(location.file("pipe"), 0o600) == 0)
    try FileManager.default.createSymbolicLink(
      atPath: location.file("link"), withDestinationPath: "pipe")
    let findings = try Bench.findings(yaml(output.replacing("PATH", with: path)), in: location)
    #expect(findings.contains { $0.contains("is not a regular file") }, "\(findings)")
  }

  @Test("journals and what lies beside them are no outputs, other files of their folder are")
  func journals() throws {
    for name in ["m-20260101-000000-000.journal", "x.journal.lock", "m.outputs.json"] {
      let findings = try Bench.findings(
        yaml("sinks: [{ ndjson: { path: runs/\(name) } }]"), in: location)
      #expect(findings.contains { $0.contains("replace a journal") }, "\(name): \(findings)")
    }
    #expect(try Bench.findings(yaml("report: { html: runs/report.html }"), in: location).isEmpty)
    try location.write("", to: "file")
    for folder in ["file", "file/"] {
      let findings = try Bench.findings(yaml("run: { journal: \(folder) }"), in: location)
      #expect(findings.contains { $0.contains("the folder of the journals") }, "\(findings)")
      #expect(findings.contains { $0.contains("file` is a file") }, "\(findings)")
    }
  }

  // MARK: Files that are there

  private static let files = FileSinkEntry.all(named: "o")

  private static let open = """
    version: 1
    name: open
    sinks:
    \(files.map { "  - \($0.text)" }.joined(separator: "\n"))
      - sqlite: { path: o.db, table: t, key: [id] }
    report: { junit: r.xml, html: r.html, json: r.json }
    state: { file: state.json }
    operations:
    \(Bench.users)
        emit: user
        bookmark: { last: last(id) }
    """

  @Test(
    "a file that is not an earlier output is refused, left as it is, and replaced with --overwrite",
    arguments: files.map(\.file) + [
      "o.csv.part", "r.xml", "r.html", "r.json", "state.json", "o.db",
    ])
  func foreign(_ name: String) async throws {
    try await Bench.withServer(Self.open, in: location) { manifest, server in
      let text = name == "state.json" ? "{\"scripts\":{}}" : "mine"
      try location.write(text, to: name)
      let report = try await RowReport(manifest)
      #expect(report.problems.count == 1)
      #expect(report.problems.first?.contains("m.batch.yaml:") == true)
      #expect(report.problems.first?.contains("--overwrite") == true, "\(report.problems)")
      let error = await #expect(throws: OutputProblems.self) { _ = try await Bench.run(manifest) }
      #expect(error?.description.contains("already exists") == true)
      #expect(try location.text(name) == text)
      #expect(!location.exists("runs") && server.requestCount == 0)
      guard name != "o.db" else { return }
      var options = RunOptions()
      options.overwrites = true
      #expect(try await RowReport(manifest, overwrites: true).problems.isEmpty)
      let summary = try await Bench.run(manifest, options)
      #expect(summary.counters.done == 3)
      #expect(try !location.exists(name) || location.text(name) != text)
      // From now on it is an output of the manifest.
      #expect(try await Bench.run(manifest).counters.done == 3)
    }
  }

  @Test(
    "shards replace each other's reports, and those of a run without shards",
    arguments: ["r.json", "r.part"])
  func shards(report: String) async throws {
    let yaml = Self.open.replacing("state: { file: state.json }\n", with: "")
      .replacing("html: r.html, json: r.json", with: "html: r, json: \(report)")
      .replacing("    bookmark: { last: last(id) }\n", with: "")
    try await Bench.withServer(yaml, in: location) { manifest, _ in
      _ = try await Bench.run(manifest)
      var done = 0
      for shard in ["1/2", "2/2"] {
        let options = Bench.shard(shard)
        #expect(options.shard != nil)
        done += try await Bench.run(manifest, options).counters.done
      }
      #expect(done == 3)
      try location.write("mine", to: report)
      await #expect(throws: OutputProblems.self) { _ = try await Bench.run(manifest) }
    }
  }

  @Test("earlier outputs are replaced, run after run, also after one that was stopped or killed")
  func again() async throws {
    try await Bench.withServer(Self.open, in: location) { manifest, _ in
      for _ in 0..<3 {
        #expect(try await RowReport(manifest).problems.isEmpty)
        #expect(try await Bench.run(manifest).counters.done == 3)
      }
      // As a run leaves it that is killed between the renaming and its end.
      try location.write(Bench.ids(40), to: "ids.csv")
      let stopped = try await Bench.run(manifest, control: RunControl(), stopAt: 10)
      #expect(stopped.stop == .interrupted)
      for name in ["o.ndjson", "o.csv"] {
        #expect(rename(location.file("\(name).part"), location.file(name)) == 0)
      }
      #expect(try await RowReport(manifest).problems.isEmpty)
      #expect(try await Bench.run(manifest).counters.done == 40)
    }
  }

  @Test("an output that was changed, or replaced by another file, is no longer an earlier output")
  func changed() async throws {
    try await Bench.withServer(Self.open, in: location) { manifest, _ in
      _ = try await Bench.run(manifest)
      try location.write("edited by hand", to: "o.csv")
      try FileManager.default.removeItem(atPath: location.file("r.html"))
      try location.write("mine", to: "r.html")
      let problems = try await RowReport(manifest).problems
      #expect(problems.count == 2, "\(problems)")
      #expect(problems.contains { $0.contains("o.csv") })
      #expect(problems.contains { $0.contains("r.html") })
      try FileManager.default.removeItem(atPath: location.file("o.csv"))
      try FileManager.default.removeItem(atPath: location.file("r.html"))
      #expect(try await Bench.run(manifest).counters.done == 3)
    }
  }

  @Test(
    "outputs that were moved with their folder, or restored from an archive, stay earlier outputs")
  func moved() async throws {
    try await Bench.withServer(Self.open, in: location) { manifest, _ in
      _ = try await Bench.run(manifest)
      let archive = location.file("a.tar")
      let line =
        "cd '\(location.path)' && tar cf '\(archive)' o.* r.* state.json runs "
        + "&& rm -r o.* r.* runs && tar xf '\(archive)'"
      #expect(try ChildProcess("/bin/sh", ["-c", line]).finish().status == 0)
      #expect(try await RowReport(manifest).problems.isEmpty)
      #expect(try await Bench.run(manifest).counters.done == 3)
    }
  }

  @Test("a state file that was written by hand is read")
  func handWrittenState() async throws {
    try location.write("{\"last\": \"U_0\"}", to: "state.json")
    try await Bench.withServer(Self.open, in: location) { manifest, _ in
      let summary = try await Bench.run(manifest)
      #expect(summary.counters.done == 3)
    }
  }

  @Test("a state file behind a symbolic link is replaced where it is, and the link remains")
  func linkedState() async throws {
    try location.write("{\"last\": \"U_0\"}", to: "kept/state.json")
    try FileManager.default.createSymbolicLink(
      atPath: location.file("state.json"), withDestinationPath: "kept/state.json")
    try await Bench.withServer(Self.open, in: location) { manifest, _ in
      for _ in 0..<2 {
        let summary = try await Bench.run(manifest)
        #expect(summary.counters.done == 3)
      }
    }
    #expect(try !location.text("kept/state.json").contains("U_0"))
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: location.file("state.json"))
        == "kept/state.json")
  }

  @Test("a list of outputs behind a symbolic link is replaced where it is, and the link remains")
  func linkedLedger() async throws {
    try await Bench.withServer(Self.open, in: location) { manifest, _ in
      _ = try await Bench.run(manifest)
      let (ledger, kept) = (JournalFolder(manifest).ledgerPath, location.file("kept.json"))
      try FileManager.default.moveItem(atPath: ledger, toPath: kept)
      try FileManager.default.createSymbolicLink(atPath: ledger, withDestinationPath: kept)
      #expect(try await Bench.run(manifest).counters.done == 3)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: ledger) == kept)
      #expect(try await RowReport(manifest).problems.isEmpty)
    }
  }

  @Test("a report behind a symbolic link is replaced where it is, and the link remains")
  func linkedReports() async throws {
    let names = ["r.json", "r.html", "r.xml"]
    for name in names {
      try location.write("old", to: "kept/\(name)")
      try FileManager.default.createSymbolicLink(
        atPath: location.file(name), withDestinationPath: "kept/\(name)")
    }
    let manifest = try Bench.load(
      """
      version: 1
      report: { json: r.json, html: r.html, junit: r.xml }
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations: [{ id: a, query: "{ a }" }]
      """, in: location)
    var options = RunOptions()
    options.overwrites = true
    let transport = ScriptedTransport { _ in .data(#"{"a":1}"#) }
    let summary = try await Bench.run(manifest, options, transport: transport)
    #expect(summary.counters.done == 1)
    for name in names {
      #expect(try location.text("kept/\(name)") != "old", "\(name)")
      #expect(
        try FileManager.default.destinationOfSymbolicLink(atPath: location.file(name))
          == "kept/\(name)")
    }
  }

  @Test("outputs of a version that kept no list of them are earlier outputs")
  func older() async throws {
    try await Bench.withServer(Self.open, in: location) { manifest, _ in
      let first = try await Bench.run(manifest)
      try FileManager.default.removeItem(atPath: location.file("runs/open.outputs.json"))
      try location.execute("DROP TABLE outputs; PRAGMA user_version = 2", in: first.journal)
      #expect(try await Bench.run(manifest).counters.done == 3)
    }
  }

  @Test("a resumed run does not replace a file that appeared under the name of its output")
  func appeared() async throws {
    try location.write(Bench.ids(40), to: "ids.csv")
    try await Bench.withServer(Self.open, in: location) { manifest, _ in
      _ = try await Bench.run(manifest, control: RunControl(), stopAt: 10)
      try location.write("mine", to: "o.csv")
      await #expect(throws: OutputProblems.self) {
        _ = try await Bench.run(manifest, Bench.resuming)
      }
      #expect(try location.text("o.csv") == "mine")
    }
  }

  @Test("a table of another program is not written, one of an earlier batch is")
  func tables() async throws {
    try await DemoServer.withServer { server in
      try location.execute("CREATE TABLE t (id); CREATE TABLE other (id)", in: "o.db")
      let manifest = try Bench.load(Self.open, in: location, url: server.url)
      let problems = try await RowReport(manifest).problems
      #expect(problems.count == 1 && problems[0].contains("the table `t`"), "\(problems)")
      let free = try Bench.load(
        Self.open.replacingOccurrences(of: "table: t", with: "table: u"), in: location,
        url: server.url
      )
      for _ in 0..<2 { #expect(try await Bench.run(free).counters.done == 3) }
    }
  }

  @Test("a snapshot that would replace an input is refused")
  func snapshot() throws {
    let findings = try Bench.findings(
      yaml("").replacingOccurrences(of: "emit: user", with: "emit: user\n    snapshot: u.graphql"),
      in: location)
    #expect(findings.contains { $0.contains("the snapshot of `users`") }, "\(findings)")
  }
}
