import Foundation
import GQLRunDemoServer
import GQLRunTestSupport
import Testing

/// One secret wherever the program takes one: it is on the wire, and in nothing that the program prints
/// or writes.
@Suite("A secret", .timeLimit(.minutes(10)))
struct CanaryOutputTests {
  private static let canary = "canary-5d1e77"

  private static let pipeline = """
    version: 1
    name: secret
    endpoint:
      url: "${env:GQL_URL}"
      headers: { Authorization: "Bearer ${env:CANARY}" }
    store: { kind: sqlite, path: cache.db }
    chain:
      - error-tap
      - correlation-id
      - audit: { file: audit.ndjson }
      - logging: { level: debug }
      - max-retry: { max_retries: 1, backoff: { base: 0s } }
      - cache-read: { policy: network-only }
      - headers: { set: { X-Api-Key: "${env:CANARY}", X-Plain: "${env:CANARY}", Cookie: "session=${env:CANARY}" } }
      - logging: { headers: true, body: true }
      - record-replay: { file: recording.ndjson, mode: "${env:MODE:-record}" }
      - fetch
      - response-code
      - parse
      - cache-write
    tests:
      - name: a refusal
        document: "{ country(code: \\"DE\\") { name } }"
        upstream: [{ status: 401, body: "no" }]
        expect: { succeeded: 1 }

    """

  /// Tokens from a command and from a server, a password of a database, cookies.
  private static let others = [
    "command.pipeline.yaml": """
    version: 1
    name: command
    endpoint: { url: "${env:GQL_URL}" }
    store: { kind: sqlite, path: command.db }
    chain:
      - max-retry: { max_retries: 1, backoff: { base: 0s } }
      - token-refresh: { command: "printf %s $CANARY" }
      - cookies
      - logging: { level: debug, headers: true, body: true }
      - record-replay: { file: command.ndjson, mode: record }
      - fetch
      - response-code
      - parse

    """,
    "oauth.pipeline.yaml": """
    version: 1
    name: oauth
    endpoint: { url: "${env:GQL_URL}" }
    store: { kind: none }
    chain:
      - max-retry: { max_retries: 1, backoff: { base: 0s } }
      - token-refresh:
          oauth2:
            token_url: "http://127.0.0.1:1/token?key=${env:CANARY}"
            client_id: c
            client_secret: "${env:CANARY}"
            grant: refresh-token
            refresh_token: "${env:CANARY}"
            store: token.json
      - fetch
      - response-code
      - parse

    """,
    "database.pipeline.yaml": """
    version: 1
    name: database
    endpoint: { url: "${env:GQL_URL}" }
    store: { kind: postgres, url: "postgresql://u:${env:CANARY}@127.0.0.1:1/db" }
    chain: [cache-read, fetch, response-code, parse, cache-write]

    """,
    "queue.batch.yaml": """
    version: 1
    name: queue
    endpoint: "${env:GQL_URL}"
    run: { journal: "postgresql://u:${env:CANARY}@127.0.0.1:1/db" }
    sinks: [{ ndjson: { path: queue.ndjson } }]
    operations: [{ id: one, query: "{ country(code: \\"DE\\") { name } }" }]

    """,
  ]

  /// The canary as it is, percent-encoded, escaped as JSON, and in Base64 at each alignment.
  private static let spellings: [Data] = {
    let bytes = Array(canary.utf8)
    let texts = [
      canary, bytes.map { "%" + String($0, radix: 16) }.joined(),
      bytes.map { "%" + String($0, radix: 16, uppercase: true) }.joined(),
      bytes.map { "\\u00" + String($0, radix: 16) }.joined(),
    ]
    // The characters at both ends share bits with other bytes.
    let encoded = (0..<3).map { shift in
      String(
        Data([UInt8](repeating: 0, count: shift) + bytes).base64EncodedString()
          .filter { $0 != "=" }.dropFirst(4 * min(shift, 1)).dropLast())
    }
    return (texts + encoded).map { Data($0.utf8) }
  }()

  private static func contains(_ data: Data) -> Bool {
    spellings.contains { data.range(of: $0) != nil }
  }

  private static let manifest = """
    version: 1
    name: secret
    pipeline: s.pipeline.yaml
    sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }]
    report: { junit: out/j.xml, html: out/r.html, json: out/r.json }
    operations:
      - { id: one, query: "{ country(code: \\"DE\\") { name } }" }
      - { id: two, query: "{ nope }" }

    """

  /// Command lines; `URL` is the server with a secret in its query, `BAD` one that does not exist.
  static let lines: [(line: String, status: [Int32])] = [
    ("run germany.graphql -p s.pipeline.yaml -e URL -vv --curl --har run.har", [0]),
    ("run germany.graphql -p s.pipeline.yaml -e URL -vv --curl --har x.har -H X-Token:CANARY", [0]),
    ("run germany.graphql -p s.pipeline.yaml -e URL&status=503 -vv --curl --har y.har", [1]),
    ("run germany.graphql -p s.pipeline.yaml -e URL&auth=no -vv --curl --har z.har", [77]),
    ("run germany.graphql -p s.pipeline.yaml -e URL&garbage -vv --har g.har", [1]),
    ("run germany.graphql -p s.pipeline.yaml -e BAD -vv --curl --har w.har", [69]),
    ("run germany.graphql -e http://user:CANARY@127.0.0.1:1/graphql?key=CANARY", [64]),
    ("run germany.graphql -e ftp://127.0.0.1:1/?key=CANARY", [64]),
    ("run germany.graphql -e http://127.0.0.1:1/ -H Authorization=CANARY", [64]),
    ("pipeline check s.pipeline.yaml", [0]),
    ("pipeline check literal.pipeline.yaml", [78]),
    ("pipeline check --format json literal.pipeline.yaml", [78]),
    ("pipeline check --format github literal.pipeline.yaml", [78]),
    ("pipeline show s.pipeline.yaml", [0]),
    ("pipeline graph --dot s.pipeline.yaml", [0]),
    ("pipeline graph --mermaid s.pipeline.yaml", [0]),
    ("pipeline graph --svg s.pipeline.yaml", [0]),
    ("pipeline explain germany.graphql -p s.pipeline.yaml -e URL", [0]),
    ("pipeline test s.pipeline.yaml", [1]),
    ("pipeline test --format json s.pipeline.yaml", [1]),
    ("batch check m.batch.yaml --endpoint URL", [0]),
    ("batch run m.batch.yaml --endpoint URL", [1]),
    ("batch errors m.batch.yaml --endpoint URL", [0]),
    ("batch errors m.batch.yaml --json --endpoint URL", [0]),
    ("batch run m.batch.yaml --endpoint URL&status=401", [77]),
    ("batch status m.batch.yaml --endpoint URL", [0]),
    ("batch prune m.batch.yaml --dry-run --endpoint URL", [0]),
    (
      "profile -e URL -d germany.graphql -H X-Token:CANARY --runs 1 --warmup 0 --no-baselines"
        + " --json p.json --html p.html --trace p.trace --folded p.txt --prometheus p.prom", [0]
    ),
    ("profile -e BAD -d germany.graphql -H X-Token:CANARY", [65, 69]),
    (
      "profile -p s.pipeline.yaml -e URL -d germany.graphql --rate 20 --duration 1s"
        + " --json q.json --html q.html", [0]
    ),
    ("schema fetch -p s.pipeline.yaml -e URL&status=500 -o s.graphql", [1]),
    ("doctor URL -p s.pipeline.yaml --timeout 2m", [0]),
    ("doctor URL -p s.pipeline.yaml --audit --junit d.xml --timeout 2m", [0, 1]),
    ("logout -p s.pipeline.yaml", [0]),
    ("run germany.graphql -e URL -n -vv --curl --har n.har", [0]),
    ("run germany.graphql -e URL&status=401 -n -vv --curl", [77]),
    ("run germany.graphql -e URL -x http://u:CANARY@127.0.0.1:1 -vv --curl", [69]),
    ("run germany.graphql -e http://name.invalid/?token=CANARY -vv --curl", [69]),
    ("run germany.graphql -e https://HOST/?token=CANARY -vv --curl", [69]),
    ("run germany.graphql -e URL --cert none.pem --key CANARY", [65]),
    ("run subscription{countdown(from:2)} -e ws://HOST/graphql?token=CANARY -vv", [0]),
    ("run subscription{countdown(from:2)} -e ws://127.0.0.1:1/?token=CANARY -vv", [69]),
    ("run germany.graphql -p command.pipeline.yaml --allow-exec -e URL -vv --curl", [0]),
    ("run germany.graphql -p command.pipeline.yaml --allow-exec -e URL&status=500 -vv", [1]),
    ("run germany.graphql -p oauth.pipeline.yaml -e URL -vv --curl", [69, 77]),
    ("run germany.graphql -p database.pipeline.yaml -e URL -vv", [0]),
    ("run germany.graphql -e URL --store postgresql://u:CANARY@127.0.0.1:1/db", [69]),
    ("run germany.graphql -e URL --store postgresql://u:CANARY@[::1/db", [69]),
    ("run germany.graphql -e URL --store postgres:u:CANARY@h/db", [64]),
    ("run germany.graphql -e URL --metrics-file run.prom -vv", [0]),
    ("cache stats --store postgresql://127.0.0.1:1/db?password=CANARY&nothing=1", [69]),
    ("batch init queue.batch.yaml -e URL", [75]),
    ("batch worker queue.batch.yaml -e URL", [75]),
    ("batch status queue.batch.yaml -e URL", [75]),
    ("extract {customers{nodes{id}}} --to postgresql://u:CANARY@127.0.0.1:1/db -e URL", [75]),
    ("extract {continents{code}} --to sqlite:tables.db -e URL -H X-Token:CANARY", [0]),
    ("schema fetch -e URL -o fetched.graphql -H X-Token:CANARY", [0]),
  ]

  @Test("is in no output, log, error, archive, recording, report or file")
  func everywhere() async throws {
    let folder = try Folder()
    try folder.write(Self.pipeline, to: "s.pipeline.yaml")
    try folder.write(Self.manifest, to: "m.batch.yaml")
    try folder.write(
      // A literal in a field with an open name is no secret.
      Self.pipeline.replacing("X-Plain: \"${env:CANARY}\", ", with: "")
        .replacing("${env:CANARY}", with: Self.canary), to: "literal.pipeline.yaml")
    for (name, text) in Self.others { try folder.write(text, to: name) }
    try folder.write("machine 127.0.0.1 login u password \(Self.canary)\n", to: "netrc")
    let own: Set = ["literal.pipeline.yaml", "netrc"]
    try await DemoServer.withServer { server in
      for (line, statuses) in Self.lines {
        let words = line.replacing("URL", with: server.url + "?key=CANARY")
          .replacing("HOST", with: "127.0.0.1:\(server.port)")
          .replacing("BAD", with: "http://127.0.0.1:1/graphql?key=CANARY")
          .replacing("CANARY", with: Self.canary).split(separator: " ").map(String.init)
        let result = try await Program.run(
          words, in: folder,
          environment: [
            "CANARY": Self.canary, "GQL_TOKEN": Self.canary, "NETRC": folder.file("netrc"),
            "https_proxy": "http://user:\(Self.canary)@127.0.0.1:1",
            // The collector is not reached; spans are dropped with a warning.
            "OTEL_SDK_DISABLED": line.contains("--metrics-file") ? "" : "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://u:\(Self.canary)@127.0.0.1:1/?k=\(Self.canary)",
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=\(Self.canary)",
          ])
        #expect(statuses.contains(result.status), "\(line): \(result)")
        #expect(!Self.contains(Data("\(result)".utf8)), "\(line): \(result)")
        #expect(!"\(result)".isEmpty)
      }
      // It did reach the server, or nothing was shown.
      #expect(
        server.log.requests.contains { $0.header("Authorization")?.contains(Self.canary) == true })
      let files = FileManager.default.enumerator(atPath: folder.path)
      var count = 0
      while let file = files?.nextObject() as? String {
        guard !own.contains(file),
          let data = FileManager.default.contents(atPath: folder.file(file)), !data.isEmpty
        else { continue }
        count += 1
        #expect(!Self.contains(data), "\(file)")
      }
      #expect(count > 20)
    }
  }

  @Test("is in no row of a queue's tables, except as a variable", .needsPostgres)
  func tables() async throws {
    let folder = try Folder()
    let database = try PostgresServer.shared.get()
    let (name, queue) = database.newSchema()
    try database.execute("CREATE SCHEMA \(name)")
    try folder.write(
      """
      version: 1
      name: queue
      endpoint: "${env:GQL_URL}"
      run: { journal: "${env:QUEUE}" }
      sinks: [{ ndjson: { path: queue.ndjson } }]
      operations:
        - { id: good, query: "{ country(code: \\"DE\\") { name } }" }
        - id: variable
          query: "query Q($code: ID!) { country(code: $code) { name } }"
          variables: { code: "${env:OPEN}" }

      """, to: "queue.batch.yaml")
    try await DemoServer.withServer { server in
      // The first attempt of each task fails.
      let url = server.url + "?key=\(Self.canary)&status=503&times=1"
      for line in ["init", "enqueue", "worker", "status", "errors"] {
        let result = try await Program.run(
          ["batch", line, "queue.batch.yaml", "-e", url]
            + (line == "worker" ? ["-H", "X-Token: \(Self.canary)"] : []), in: folder,
          environment: ["QUEUE": queue, "GQL_TOKEN": Self.canary, "OPEN": "open-5d1e77"])
        #expect([0, 1].contains(result.status), "\(line): \(result)")
        #expect(!Self.contains(Data("\(result)".utf8)), "\(line): \(result)")
      }
      #expect(server.log.requests.contains { $0.header("X-Token") == Self.canary })
    }
    let rows = try await Program.shell(
      "psql -X -q -A -t '\(queue)' -c \"SELECT query_to_xml('SELECT * FROM ' || table_name, true, true, '')"
        + " FROM information_schema.tables WHERE table_schema = '\(name)'\"", in: folder)
    #expect(rows.status == 0 && rows.output.contains("good"), "\(rows)")
    #expect(!Self.contains(Data(rows.output.utf8)), "\(rows)")
    // What docs/security.md says about variables.
    #expect(rows.output.contains("open-5d1e77"), "\(rows)")
  }

  @Test("is in the arguments of no process, and in the environment only as the user gave it")
  func processes() async throws {
    let folder = try Folder()
    try folder.write(
      """
      version: 1
      name: processes
      endpoint: { url: "${env:GQL_URL}", headers: { Authorization: "Bearer ${file:secret}" } }
      store: { kind: none }
      chain:
        - max-retry: { max_retries: 1 }
        - token-refresh: { command: "cat /proc/$PPID/cmdline > arguments; env > environment; echo t", header: X-Other }
        - fetch
        - response-code
        - parse

      """, to: "p.pipeline.yaml")
    try folder.write(Self.canary, to: "secret")
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run", "germany.graphql", "-p", "p.pipeline.yaml", "-e", server.url, "--allow-exec"],
        in: folder)
      #expect(result.status == 0, "\(result)")
      #expect(
        server.log.requests.last?.header("Authorization") == "Bearer \(Self.canary)", "\(result)")
    }
    for name in ["arguments", "environment"] {
      let text = try folder.text(name)
      #expect(!text.isEmpty && !Self.contains(Data(text.utf8)), "\(name)")
    }
  }
}
