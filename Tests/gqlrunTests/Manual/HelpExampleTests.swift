import Foundation
import GQLRunDemoServer
import Testing

@testable import gqlrun

/// The examples of the help, run as they are written, but for the address of the server and sizes.
@Suite("Examples in help texts", .timeLimit(.minutes(30)))
struct HelpExampleTests {
  /// Creates the files that the examples name.
  private static let setUp = """
    set -e
    cat > de.json <<< '{"code": "DE"}'
    cat > orders.graphql <<'END'
    query Orders($since: DateTime) {
      customers(first: 50, updatedAfter: $since) {
        nodes { id name updatedAt orders(first: 50) { nodes { id total } } }
      }
    }
    END
    gqlrun run country.graphql --var code=DE -e URL -o country.json
    gqlrun run feed.graphql --var first=250 -e URL -o response.json
    gqlrun run country.graphql --var code=DE --keys Country=code -e URL --store sqlite:cache.db
    gqlrun cache import feed.graphql response.json --var first=250 --store sqlite:cache.db
    gqlrun schema fetch -e URL -o introspection.json
    gqlrun schema fetch -e URL -o schema.graphql
    cp schema.graphql released.graphql
    mkdir src && cp country.graphql src/
    rm typo.pipeline.yaml plugin.pipeline.yaml
    cat > graphql.config.yaml <<< '{schema: schema.graphql, documents: "src/*.graphql"}'
    gqlrun pipeline new offline.pipeline.yaml --from offline
    gqlrun pipeline new auth.pipeline.yaml --from auth
    gqlrun pipeline new default.pipeline.yaml
    gqlrun pipeline new mine.pipeline.yaml
    gqlrun pipeline new signed.pipeline.yaml --from plain
    cat > tested.pipeline.yaml <<'END'
    version: 1
    name: tested
    endpoint: { url: "http://127.0.0.1:1/" }
    chain: [max-retry, fetch, response-code, parse]
    tests:
      - name: a failed request is retried; retry
        upstream:
          - { when: { attempt: 1 }, status: 503 }
          - { body: { data: { country: { name: Portugal } } } }
        expect: { succeeded: 1, requests: 2 }
    END
    printf 'code\\nDE\\nFR\\nPT\\nES\\nJP\\nBR\\n' > codes.csv
    cat > nightly.batch.yaml <<'END'
    version: 1
    name: nightly
    endpoint: "URL"
    sinks:
      - ndjson: { path: "out/{{op}}.ndjson" }
    report: { json: out/report.json }
    operations:
      - id: countries
        document: country.graphql
        foreach: { csv: codes.csv, as: row, key: "{{row.code}}" }
        variables: { code: "{{row.code}}" }
    END
    """

  /// What the examples need only in some commands.
  private static let further = [
    "gqlrun batch merge":
      "for i in 1 2 3 4; do gqlrun batch run nightly.batch.yaml --shard $i/4; done",
    "gqlrun cache explain":
      "gqlrun run feed.graphql --var first=60 -e URL --store sqlite:cache.db > x",
    "gqlrun pipeline": "rm mine.pipeline.yaml",
    "gqlrun generate": """
    mkdir operations; cp country.graphql operations/
    cat > graphql.config.yaml <<END
    schema: schema.graphql
    documents: "operations/**/*.graphql"
    extensions: { gqlrun: { output: Generated } }
    END
    """,
    "gqlrun schema diff": "mkdir -p src/country; cp country.graphql src/country/query.gql",
    "gqlrun operations verify":
      "gqlrun operations manifest --schema schema.graphql country.graphql -o ops.json",
  ]

  /// Measures and waits less than a user would.
  private static let sizes = [
    ("feed:25000", "feed:50"), ("feed:1000", "feed:50"), ("--posts 25000", "--posts 50"),
    ("--duration 10s", "--duration 200ms"), ("--fail-above 200", "--fail-above 100000"),
    ("10s:0..200,60s:200", "200ms:0..40,200ms:40"), ("p99<=250ms", "p99<=30s"),
  ]

  /// The line as it is run; `nil` for what runs until it is stopped.
  private static func runnable(_ line: String, _ url: String) -> String? {
    var line = line.replacing("http://127.0.0.1:8080/graphql", with: url)
    for (large, small) in sizes { line = line.replacing(large, with: small) }
    // A request may take more than the 10 seconds of the default on a busy machine.
    line = line.replacing("gqlrun doctor ", with: "gqlrun doctor --timeout 2m ")
    if line.contains("generate --watch") { return nil }
    // Its journal is in PostgreSQL: docs/guide-cluster.md runs these commands.
    if line.contains("cluster.batch.yaml") { return nil }
    // Its tables are in PostgreSQL.
    if line.contains("'postgres:") { return nil }
    // It needs a run that ended within a mutation: docs/guide-batch.md runs these commands.
    if line.contains("gqlrun batch resolve") { return nil }
    guard line.contains("gqlrun serve") || line.contains("gqlrun inspect") else { return line }
    guard line.hasSuffix("> address") else { return nil }
    return
      "rm -f address; \(line) & until [ -s address ]; do sleep 0.01; done; "
      + "kill -INT $! && { wait $! || [ $? = 130 ]; }"
  }

  /// How many commands are run at a time: one after the other, they would end long after all other tests.
  private static let lanes = 4

  @Test("all of them succeed")
  func examples() async throws {
    try await DemoServer.withServer { server in
      let (folder, url) = (try Folder(), server.url)
      let setUp = try await Self.shell(
        Self.setUp.replacing("URL", with: url), in: folder.path, of: folder, url: url)
      try #require(setUp.status == 0, "\(setUp)")
      let count = try await withThrowingTaskGroup(of: Int.self) { group in
        for lane in 0..<Self.lanes {
          group.addTask {
            var count = 0
            for index in stride(from: lane, to: HelpTextTests.commands.count, by: Self.lanes) {
              count += try await Self.run(
                HelpTextTests.commands[index], in: "work\(lane)", of: folder, url: url)
            }
            return count
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(count >= 60)
    }
  }

  /// Runs the examples of a command in a copy of the files; returns how many were run.
  private static func run(
    _ command: HelpTextTests.Command, in subfolder: String, of folder: Folder, url: String
  ) async throws -> Int {
    // The journal has the absolute paths of outputs, so a batch cannot be copied.
    let runs =
      command.name.hasPrefix("gqlrun batch ")
      ? "for i in 1 2; do gqlrun batch run nightly.batch.yaml; done; " : ""
    let further = runs + (further[command.name] ?? ":").replacing("URL", with: url)
    let ready = try await shell(
      "rm -rf \(subfolder); mkdir \(subfolder); "
        + "cp -r $(ls -A | grep -v -e work -e sh-) \(subfolder); cd \(subfolder); \(further)",
      in: folder.path, of: folder, url: url)
    try #require(ready.status == 0, "\(command.name): \(ready)")
    var count = 0
    for line in command.examples {
      guard let runnable = runnable(line, url) else { continue }
      let result = try await shell(runnable, in: folder.file(subfolder), of: folder, url: url)
      #expect(result.status == 0, "\(command.name): \(line)\n\(result)")
      count += 1
    }
    return count
  }

  private static func shell(
    _ line: String, in subfolder: String, of folder: Folder, url: String
  ) async throws -> RunResult {
    let program = (Program.path as NSString).deletingLastPathComponent
    return try await Program.shell(
      "cd '\(subfolder)'; PATH='\(program)':$PATH; export HOME=$PWD TOKEN=secret GQL_URL="
        + "'\(url)' GQL_TOKEN=secret XDG_STATE_HOME=; set -eo pipefail; \(line)",
      in: folder)
  }
}
