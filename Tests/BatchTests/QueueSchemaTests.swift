import Foundation
import GQLRunPostgres
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite("Tables of queues", .needsPostgres, .timeLimit(.minutes(10)))
struct QueueSchemaTests {
  @Test("a user that owns only its schema can create a queue and use it")
  func plainUser() async throws {
    let server = try PostgresServer.shared.get()
    let (name, url) = server.newSchema()
    let owner = try PostgresConnection(server.url)
    for statement in [
      "CREATE ROLE \(name) LOGIN NOSUPERUSER", "CREATE SCHEMA \(name) AUTHORIZATION \(name)",
      "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC",
    ] {
      try owner.run(statement)
    }
    let bench = try QueueBench()
    let plain = url.replacing("user=test", with: "user=\(name)")
    let text = try bench.manifest(
      3, operation: "emit: user", sinks: "[{ postgres: { table: found, key: [id] } }]")
    var manifest = text
    manifest.queueURL = plain
    try bench.begin(manifest)
    let transport = ScriptedTransport { number in
      .data(#"{"user":{"id":"\#(number)","login":"a"}}"#)
    }
    try await bench.work(manifest, transport: transport)
    let rows = try PostgresConnection(plain).run("SELECT count(*) FROM found")
    #expect(rows.int(0, 0) == 3)
  }

  @Test("a user has a queue of its own beside that of another user, which it may not read")
  func otherUser() throws {
    let (others, theirs) = try QueueBench.begun(2)
    let schema = try others.connection.run("SELECT current_schema()::text").text(0, 0)
    let server = try PostgresServer.shared.get()
    let (name, url) = server.newSchema()
    let owner = try PostgresConnection(server.url)
    for statement in [
      "CREATE ROLE \(name) LOGIN", "CREATE SCHEMA \(name) AUTHORIZATION \(name)",
      "GRANT USAGE ON SCHEMA \(schema) TO \(name)",
    ] {
      try owner.run(statement)
    }
    var manifest = theirs
    manifest.queueURL = url.replacing("user=test", with: "user=\(name)") + "%2C\(schema)"
    let queue = try BatchQueue(manifest)
    let error = #expect(throws: JournalError.self) { try queue.status() }
    #expect(error?.description.contains("there is no queue in") == true)
    #expect(try queue.initialize())
    #expect(try queue.enqueue().added == 2)
    #expect(try others.counts() == ["queued": 2])
  }

  @Test("tables of a newer version are refused, and nothing changes")
  func newer() throws {
    let (bench, manifest) = try QueueBench.begun(1)
    let newer = QueueSchema.version + 1
    try bench.connection.run("UPDATE gq_version SET version = \(newer)")
    let queue = try BatchQueue(manifest)
    for action in [
      { _ = try queue.initialize() }, { _ = try queue.enqueue() }, { _ = try queue.status() },
    ] {
      let error = #expect(throws: JournalError.self, performing: action)
      let message = "newer gqlrun (version \(newer) of its tables"
      #expect(error?.description.contains(message) == true)
    }
    #expect(try bench.counts() == ["queued": 1])
  }

  @Test(
    "tables of each older version are updated by `batch init`, and keep their tasks; until then they are refused"
  )
  func older() async throws {
    for version in 1..<QueueSchema.version {
      let bench = try QueueBench()
      for statement in QueueSchema.steps[..<version].joined() {
        try bench.connection.run(statement)
      }
      try bench.connection.run("INSERT INTO gq_version VALUES (\(version))")
      let manifest = try bench.manifest(3)
      let run = "0b7d6a5e-91ad-4c7e-9a53-0d6f0a3c5b11"
      try bench.connection.run(
        "INSERT INTO gq_run (id, name, manifest, sha) VALUES ($1::uuid, $2, $3, $4)", .text(run),
        .text(manifest.name), .text(manifest.file), .bytes(try manifest.digest()))
      try bench.connection.run(
        """
        INSERT INTO gq_task (run, id, op, key, variables) VALUES ($1::uuid, decode(md5('a'), 'hex'), 'users', 'U_1', '{"id": "U_1"}')
        """, .text(run))
      let queue = try BatchQueue(manifest)
      let error = #expect(throws: JournalError.self) { try queue.status() }
      let message = error?.description ?? ""
      #expect(
        message.contains("version \(version) of its tables") && message.contains("batch init"))
      #expect(try !queue.initialize())
      #expect(try queue.enqueue().added == 3)
      try await bench.work(manifest, transport: ScriptedTransport { _ in .response() })
      #expect(try bench.counts() == ["done": 4])
    }
  }

  @Test(
    "texts are UTF-8, whatever encoding the URL names",
    arguments: ["client_encoding=LATIN1", "options=-cclient_encoding%3DLATIN1"])
  func encoding(parameter: String) throws {
    let url = try PostgresServer.shared.get().url
    let connection = try PostgresConnection("\(url)&\(parameter)")
    let rows = try connection.run("SELECT $1, length($1)::bigint", .text("é日"))
    #expect(rows.text(0, 0) == "é日" && rows.int(0, 1) == 2)
  }

  @Test("without a queue, the message names the command that creates it")
  func missing() throws {
    let bench = try QueueBench()
    let queue = try BatchQueue(bench.manifest(1))
    let error = #expect(throws: JournalError.self) { try queue.status() }
    #expect(error?.description.contains("gqlrun batch init") == true)
  }

  @Test(
    "a worker with another manifest is refused",
    arguments: [
      ("", "emit: user", "{{row.id}}"), ("", "expect: [\"errors == null\"]", "{{row.id}}"),
      ("", "", "U{{row.id}}"),
      ("emit: user", "emit: user\n    columns: [row.id, login]", "{{row.id}}"),
    ])
  func otherManifest(before: String, operation: String, id: String) throws {
    let (bench, _) = try QueueBench.begun(1, operation: before)
    let other = try bench.manifest(1, operation: operation, variables: "{ id: \"\(id)\" }")
    let error = #expect(throws: JournalError.self) { try BatchQueue(other).enqueue() }
    #expect(error?.description.contains("--new") == true)
  }

  @Test("a run that an older version began continues")
  func olderDigest() throws {
    let (bench, manifest) = try QueueBench.begun(1)
    try bench.connection.run(
      "UPDATE gq_run SET sha = $1", .bytes(try manifest.digest(hasValues: false)))
    #expect(try BatchQueue(manifest).enqueue().added == 0)
  }

  @Test("what workers of several machines cannot do is reported, with what would work")
  func unsupported() throws {
    let location = try Place()
    let findings = try Bench.findings(
      """
      version: 1
      run: { journal: "postgres://", order: output }
      operations:
        - { id: a, document: u.graphql, variables: { id: "1" } }
        - { id: b, document: u.graphql, needs: [a], variables: { id: "1" }, snapshot: b.json }
      """, in: location)
    for part in [
      "does not support `order: output`",
      "does not support `snapshot` of `b`", "does not support results on standard output",
    ] {
      #expect(findings.contains { $0.contains(part) }, "\(findings)")
    }
    let table = try Bench.findings(
      """
      version: 1
      sinks: [{ postgres: { table: t } }]
      operations: [{ id: a, document: u.graphql, emit: user, variables: { id: "1" } }]
      """, in: location)
    #expect(table.contains { $0.contains("writes into the database of the run") })
  }

  @Test("workers run where the file of the rows is missing; adding its tasks is an error")
  func missingRows() async throws {
    let (bench, _) = try QueueBench.begun(3)
    try FileManager.default.removeItem(atPath: bench.location.file("ids.csv"))
    let manifest = try Bench.load(bench.location.text("m.batch.yaml"), in: bench.location)
    #expect(throws: InputProblem.self) { try BatchQueue(manifest).enqueue() }
    try await bench.work(manifest, transport: ScriptedTransport { _ in .response() })
    #expect(try bench.counts() == ["done": 3])
  }

  @Test("a password in the URL of a manifest is an error, and no message shows it")
  func passwords() throws {
    let location = try Place()
    for url in ["postgres://me:S3cretWord@db/x", "postgresql://db/x?password=S3cretWord"] {
      let findings = try Bench.findings(
        """
        version: 1
        run: { journal: "\(url)" }
        sinks: [{ ndjson: { path: "out/a.ndjson" } }]
        operations: [{ id: a, document: u.graphql, variables: { id: "1" } }]
        """, in: location)
      #expect(findings.contains { $0.contains("password file") })
      #expect(findings.count == 1, "\(findings)")
      #expect(!findings.contains { $0.contains("S3cretWord") })
    }
    let shown = PostgresConnection.hiding(
      "postgres://me:S3cret@Word@db/x", in: "could not translate host name \"Word@db\"")
    #expect(!shown.contains("Word"))
    #expect(
      PostgresConnection.hiding(
        "postgres://me:S3cret/Word@db/x",
        in: "invalid integer value \"S3cret\" for connection option \"port\"")
        == "invalid integer value \"•••\" for connection option \"port\"")
  }
}
