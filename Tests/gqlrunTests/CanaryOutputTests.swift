import Foundation
import GQLRunDemoServer
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
    ("doctor URL -p s.pipeline.yaml", [0]),
    ("doctor URL -p s.pipeline.yaml --audit --junit d.xml", [0, 1]),
    ("logout -p s.pipeline.yaml", [0]),
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
    let own: Set = ["literal.pipeline.yaml"]
    try await DemoServer.withServer { server in
      for (line, statuses) in Self.lines {
        let words = line.replacing("URL", with: server.url + "?key=CANARY")
          .replacing("BAD", with: "http://127.0.0.1:1/graphql?key=CANARY")
          .replacing("CANARY", with: Self.canary).split(separator: " ").map(String.init)
        let result = try await Program.run(
          words, in: folder,
          environment: [
            "CANARY": Self.canary, "GQL_TOKEN": Self.canary,
            "https_proxy": "http://user:\(Self.canary)@127.0.0.1:1",
          ])
        #expect(statuses.contains(result.status), "\(line): \(result)")
        #expect(!"\(result)".contains(Self.canary), "\(line): \(result)")
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
        #expect(data.range(of: Data(Self.canary.utf8)) == nil, "\(file)")
      }
      #expect(count > 20)
    }
  }
}
