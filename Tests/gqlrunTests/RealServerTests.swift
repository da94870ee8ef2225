import Foundation
import Testing

enum RealServer {
  static let origin = ProcessInfo.processInfo.environment["GQLRUN_TEST_SERVER"]
    .flatMap { $0.isEmpty ? nil : $0 }
}

/// Runs against a server that is not ours. `GQLRUN_TEST_SERVER` is its address, such as
/// `http://127.0.0.1:8017`; it has the schema of the benchmark's feed.
@Suite("Against a real server", .serialized, .timeLimit(.minutes(10)), .needsRealServer)
struct RealServerTests {
  private static let feed = """
    query Feed($first: Int!, $after: String) {
      feed(first: $first, after: $after) {
        totalCount
        edges { cursor node { id title body ratio author { login reputation } tags { name } } }
        pageInfo { hasNextPage endCursor }
      }
    }
    """

  private static let count = "{ feed(first: 1) { totalCount } }"

  private func run(
    _ path: String, _ document: String, _ more: String..., folder: Folder? = nil
  ) async throws -> RunResult {
    let folder = try folder ?? Folder()
    try folder.write(document, to: "d.graphql")
    return try await Program.run(
      ["run", "d.graphql", "-e", (RealServer.origin ?? "") + path] + more, in: folder)
  }

  @Test(
    "a page with variables, the second time from the file, byte for byte the same",
    arguments: ["/graphql", "/ariadne", "/cached/graphql"])
  func page(_ path: String) async throws {
    let folder = try Folder()
    let first = try await run(
      path, Self.feed, "--var", "first=20", "--store", "sqlite:c.db", folder: folder)
    // There are more pages, which is a warning.
    #expect(
      first.status == 0
        && first.errors.hasPrefix(
          "warning: `feed` has more pages (hasNextPage is true): --paginate ")
        && first.errors.split(separator: "\n").count == 1, "\(first)")
    #expect(first.output.hasPrefix(#"{"data":{"feed":{"totalCount":"#), "\(first)")
    let second = try await Program.run(
      [
        "run", "d.graphql", "-e", "http://127.0.0.1:1/", "--var", "first=20", "--store",
        "sqlite:c.db",
      ], in: folder)
    #expect(second.output == first.output)
  }

  private static let parts = """
    query Parts($id: ID!, $whole: Boolean!) {
      post(id: $id) {
        id title ... @defer(label: "body", if: $whole) { slowBody(ms: 20) author { id name } }
        commentStream @stream(initialCount: 1, label: "comments", if: $whole) { id body author { id login } }
      }
    }
    """

  @Test("@defer and @stream: the merged result and the records are those without the directives")
  func parts() async throws {
    let folder = try Folder()
    var outputs: [String] = []
    var dumps: [String] = []
    for flag in ["true", "false"] {
      let result = try await run(
        "/graphql", Self.parts, "--var", "id=P_1", "--var", "whole=\(flag)", "--store",
        "sqlite:\(flag).db", folder: folder)
      #expect(result.status == 0 && result.errors == "", "\(result)")
      let sorted = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
      outputs.append(
        String(
          decoding: try JSONSerialization.data(withJSONObject: sorted, options: .sortedKeys),
          as: UTF8.self))
      dumps.append(
        try await Program.run(["cache", "dump", "--store", "sqlite:\(flag).db"], in: folder).output)
    }
    #expect(outputs[0] == outputs[1])
    #expect(dumps[0] == dumps[1] && !dumps[0].isEmpty)
  }

  @Test("--incremental prints a line for each part")
  func incremental() async throws {
    let result = try await run(
      "/graphql", Self.parts, "--var", "id=P_1", "--var", "whole=true", "--incremental")
    #expect(result.status == 0 && result.errors == "", "\(result)")
    let lines = result.output.split(separator: "\n")
    #expect(lines.count > 1)
    #expect(lines.first?.hasPrefix(#"{"part":0,"milliseconds":"#) == true, "\(result)")
    #expect(lines.first?.contains(#""pending":[{"#) == true)
    #expect(lines.last?.contains(#""pending":[],"hasNext":false"#) == true)
    #expect(result.output.contains(#""label":"body","data":{"slowBody":"#))
    #expect(result.output.contains(#""label":"comments","index":1,"items":[{"id":"#))
  }

  @Test("an error of a resolver: 200 is a result, 400 with application/json a failure")
  func errors() async throws {
    let variables = "{\"first\": 1, \"after\": \"bogus\"}"
    let folder = try Folder()
    try folder.write(variables, to: "v.json")
    let result = try await run("/graphql", Self.feed, "--variables", "v.json", folder: folder)
    #expect(result.status == 4, "\(result)")
    #expect(result.output.hasPrefix(#"{"data":null,"errors":["#), "\(result)")
    #expect(result.errors.contains("graphql error: feed: invalid cursor"), "\(result)")
    let refused = try await run("/ariadne", Self.feed, "--variables", "v.json", folder: folder)
    #expect(refused.status == 1 && refused.output == "", "\(refused)")
    #expect(refused.errors.contains("400 Bad Request"), "\(refused)")
    #expect(refused.errors.contains("invalid cursor"), "\(refused)")
  }

  @Test("a document the server does not accept: 200 is a result, 400 a failure with its reason")
  func invalid() async throws {
    let accepted = try await run("/graphql", "{ nope }")
    #expect(accepted.status == 4 && accepted.output.contains("Cannot query field"), "\(accepted)")
    let refused = try await run("/ariadne", "{ nope }")
    #expect(refused.status == 1 && refused.output == "", "\(refused)")
    #expect(refused.errors.contains("400 Bad Request"), "\(refused)")
    #expect(refused.errors.contains("Cannot query field 'nope'"), "\(refused)")
  }

  @Test("no token, a wrong token: exit code 77, and the token is not shown")
  func secure() async throws {
    #expect(try await run("/secure/graphql", Self.count).status == 77)
    let wrong = try await run(
      "/secure/graphql", Self.count, "-vv", "-H", "Authorization: Bearer hunter2")
    #expect(wrong.status == 77 && wrong.errors.contains("401"), "\(wrong)")
    #expect(!wrong.errors.contains("hunter2"))
  }

  @Test("two failures in three are retried")
  func flaky() async throws {
    let result = try await run("/flaky/graphql", Self.count, "-v")
    #expect(
      result.status == 0 && result.output.hasPrefix(#"{"data":{"feed":{"totalCount":"#), "\(result)"
    )
  }

  @Test("a mutation goes to the server every time")
  func mutation() async throws {
    let folder = try Folder()
    let like = "mutation { likePost(id: \"P_1\") { id likeCount } }"
    var results: Set<String> = []
    for _ in 0..<2 {
      let result = try await run("/graphql", like, "--store", "sqlite:c.db", folder: folder)
      #expect(result.status == 0, "\(result)")
      results.insert(result.output)
    }
    #expect(results.count == 2)
    let record = try await Program.run(
      ["cache", "get", "Post:P_1", "--store", "sqlite:c.db"], in: folder)
    #expect(record.output.contains("likeCount"), "\(record)")
  }

  @Test("paths that are no GraphQL endpoint")
  func wrongPath() async throws {
    let result = try await run("/nowhere", Self.count)
    #expect(result.status == 1 && result.output == "", "\(result)")
    #expect(result.errors.contains("404 Not Found"), "\(result)")
  }

  @Test(
    "the events of a subscription, a line each",
    arguments: ["text/event-stream", "multipart/mixed;subscriptionSpec=1.0"])
  func events(_ type: String) async throws {
    let document = "subscription S($fail: Int) { ticks(count: 4, intervalMs: 1, failAt: $fail) }"
    let complete = try await run("/graphql", document, "-H", "Accept: \(type)")
    #expect(
      complete.output
        == (0..<4).map { "{\"data\":{\"ticks\":\($0)}}\n" }.joined(), "\(complete)")
    #expect(complete.status == 0 && complete.errors == "", "\(complete)")
    let failed = try await run("/graphql", document, "-H", "Accept: \(type)", "--var", "fail=1")
    #expect(failed.status == 4 && failed.errors.contains("tick failed"), "\(failed)")
    let first = try await run("/graphql", document, "-H", "Accept: \(type)", "--first", "2")
    #expect(first.status == 0 && first.output.hasSuffix("{\"data\":{\"ticks\":1}}\n"), "\(first)")
  }

  @Test(
    "the events of a subscription over each transport",
    arguments: ["auto", "graphql-transport-ws", "graphql-ws", "sse", "multipart"],
    ["/graphql", "/ariadne"])
  func transports(_ transport: String, _ path: String) async throws {
    // Ariadne speaks neither.
    if path == "/ariadne", transport == "graphql-ws" || transport == "multipart" { return }
    let folder = try Folder()
    try folder.write(
      """
      version: 1
      endpoint: { url: "${env:GQL_URL}", subscriptions: { transport: \(transport) } }
      chain: [logging, max-retry, fetch, response-code, parse]

      """, to: "p.pipeline.yaml")
    let document = "subscription S { ticks(count: 4, intervalMs: 1) }"
    let complete = try await run(path, document, "-p", "p.pipeline.yaml", folder: folder)
    let events = (0..<4).map { "{\"data\":{\"ticks\":\($0)}}\n" }
    #expect(complete.output == events.joined(), "\(complete)")
    #expect(complete.status == 0 && complete.errors == "", "\(complete)")
    let refused = try await run(
      path, "subscription { nope }", "-p", "p.pipeline.yaml", folder: folder)
    #expect(refused.status == 4 && refused.output.contains("Cannot query field"), "\(refused)")
    let first = try await run(
      path, document, "-p", "p.pipeline.yaml", "--first", "2", folder: folder)
    #expect(first.status == 0 && first.output == events.prefix(2).joined(), "\(first)")
  }

  @Test("everything over WebSocket, with the connections shown")
  func webSocketEndpoint() async throws {
    let origin = (RealServer.origin ?? "").replacing("http", with: "ws")
    let folder = try Folder()
    try folder.write(Self.count, to: "d.graphql")
    let result = try await Program.run(
      ["run", "d.graphql", "-v", "-e", origin + "/graphql"], in: folder)
    #expect(result.status == 0 && result.output.hasPrefix(#"{"data":{"feed":"#), "\(result)")
    #expect(result.errors.contains("* WebSocket connection to \(origin): open"), "\(result)")
    #expect(result.errors.contains("* WebSocket connection to \(origin): closed"), "\(result)")
    let rejected = try await Program.run(
      ["run", "d.graphql", "-e", origin + "/secure/graphql"], in: folder)
    #expect(rejected.status == 77 && rejected.errors.contains("4403"), "\(rejected)")
  }

  @Test("a subscription that is refused is a result with errors")
  func refusedSubscription() async throws {
    let refused = try await run("/graphql", "subscription { nope }")
    #expect(refused.status == 4 && refused.output.contains("Cannot query field"), "\(refused)")
  }
}
