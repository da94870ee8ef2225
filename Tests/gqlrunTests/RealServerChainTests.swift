import Foundation
import Testing

/// Persisted queries, GET and tokens against a server that is not ours; see ``RealServerTests``.
@Suite("Chains against a real server", .serialized, .timeLimit(.minutes(10)), .needsRealServer)
struct RealServerChainTests {
  private static func pipeline(_ entries: String, method: String = "POST") -> String {
    """
    version: 1
    endpoint: { url: "${env:GQL_URL}", method: \(method) }
    store: { kind: memory }
    chain:
      - logging
      - max-retry
      - cache-read: { policy: network-only }
    \(entries)
      - fetch
      - response-code
      - parse
      - cache-write

    """
  }

  private func run(
    _ path: String, _ document: String, _ pipeline: String,
    environment: [String: String] = [:], folder: Folder? = nil
  ) async throws -> RunResult {
    let folder = try folder ?? Folder()
    try folder.write(document, to: "d.graphql")
    try folder.write(pipeline, to: "p.pipeline.yaml")
    return try await Program.run(
      ["run", "d.graphql", "-p", "p.pipeline.yaml", "-e", (RealServer.origin ?? "") + path, "-v"],
      in: folder, environment: environment)
  }

  /// A query that no earlier run has taught the server.
  private static func query() -> String {
    "query Q\(UUID().uuidString.filter { $0 != "-" }) { feed(first: 1) { totalCount } }"
  }

  @Test("a persisted query is taught once", arguments: ["POST", "GET"])
  func persisted(_ method: String) async throws {
    let query = Self.query()
    let pipeline = Self.pipeline("  - apq: { query_method: \(method) }")
    let first = try await run("/apq/graphql", query, pipeline)
    #expect(first.status == 0 && first.output.contains("totalCount"), "\(first)")
    #expect(first.errors.contains("the server requests the document"), "\(first)")
    let second = try await run("/apq/graphql", query, pipeline)
    #expect(second.status == 0 && second.output == first.output, "\(second)")
    #expect(!second.errors.contains("↻"), "\(second)")
  }

  @Test(
    "a server without persisted queries is sent the document", arguments: ["/graphql", "/ariadne"])
  func unsupported(_ path: String) async throws {
    for method in ["POST", "GET"] {
      let result = try await run(
        path, Self.query(), Self.pipeline("  - apq: { query_method: \(method) }"))
      #expect(result.status == 0 && result.output.contains("totalCount"), "\(method) \(result)")
    }
  }

  @Test("queries go by GET, mutations by POST", arguments: ["/graphql", "/ariadne"])
  func get(_ path: String) async throws {
    let pipeline = Self.pipeline("  - logging: { headers: true }", method: "GET")
    let query = try await run(path, Self.query(), pipeline)
    #expect(query.status == 0 && query.errors.contains("> GET "), "\(query)")
    let like = try await run(path, "mutation { likePost(id: \"P_1\") { id likeCount } }", pipeline)
    #expect(like.errors.contains("> POST "), "\(like)")
  }

  @Test("a command signs in, and an expired token is renewed")
  func token() async throws {
    let folder = try Folder()
    // The first token it prints is none that the server knows.
    try folder.write(
      """
      if mkdir first 2>/dev/null; then echo stale-token; else
        curl -s "$ORIGIN/login" -H 'Content-Type: application/json' \\
          -d '{"username":"alice","password":"secret"}'
      fi
      """, to: "login.sh")
    let result = try await run(
      "/secure/graphql", Self.query(),
      Self.pipeline("  - token-refresh: { command: \"sh login.sh\" }"),
      environment: ["ORIGIN": RealServer.origin ?? "", "GQLRUN_ALLOW_EXEC": "1"], folder: folder)
    #expect(result.status == 0 && result.output.contains("totalCount"), "\(result)")
    #expect(result.errors.contains("retry with a new token"), "\(result)")
    #expect(!result.errors.contains("stale-token"), "\(result)")
  }
}
