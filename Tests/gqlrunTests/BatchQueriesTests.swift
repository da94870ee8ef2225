import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunTestSupport
import Testing

/// Manifests of many different queries, as programs write them: a line of JSON for each.
///
/// `GQLRUN_BATCH_QUERIES` says how many, 300 by default; continuous integration has more time.
@Suite("Manifests of many queries", .timeLimit(.minutes(10)))
struct BatchQueriesTests {
  private static let count =
    ProcessInfo.processInfo.environment["GQLRUN_BATCH_QUERIES"].flatMap { Int($0) } ?? 300

  @Test("every one of many different queries is answered once by the demo server")
  func demo() async throws {
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 250
    try await DemoServer.withServer(configuration) { server in
      try await run(against: server.url)
      #expect(server.requestCount == Self.count)
    }
  }

  @Test(
    "every one of many different queries is answered once by a real server",
    .needsRealServer,
    arguments: ["/graphql", "/ariadne"])
  func real(_ path: String) async throws {
    try await run(against: (RealServer.origin ?? "") + path)
  }

  private func run(against url: String) async throws {
    let folder = try Folder()
    var chance = SeededRandom(7)
    var queries: [PostQuery] = []
    var lines = [
      #"{"version": 1, "name": "queries", "run": {"concurrency": 16, "order": "interleaved"}, "#
        + #""sinks": [{"ndjson": {"path": "out.ndjson", "lines": "results"}}], "#
        + #""pipeline": "q.pipeline.yaml", "report": {"json": "report.json"}}"#
    ]
    // On a busy machine, the sixteenth request in flight waits for long.
    try folder.write(
      """
      version: 1
      endpoint: { url: "\(url)" }
      chain: [max-retry, { fetch: { idle_timeout: 10m, timeout: 10m } }, response-code, parse]
      """, to: "q.pipeline.yaml")
    for number in 0..<Self.count {
      let query = PostQuery(number, &chance)
      queries.append(query)
      let operation: JSONValue = [
        "id": .string("q\(number)"), "query": .string(query.text),
        "variables": ["first": .number(JSONNumber(query.first))], "paginate": "none",
        "expect": ["errors == null", .string("count(data.feed.edges) == \(query.first)")],
      ]
      lines.append(operation.jsonText())
    }
    try folder.write(lines.joined(separator: "\n") + "\n", to: "q.batch.jsonl")
    let check = try await Program.run(
      ["batch", "check", "q.batch.jsonl", "--endpoint", url], in: folder)
    #expect(check.status == 0 && check.errors.contains("\(Self.count) tasks"), "\(check)")
    let result = try await Program.run(
      ["batch", "run", "q.batch.jsonl", "--endpoint", url], in: folder)
    #expect(result.status == 0 && result.errors.contains("\(Self.count) done"), "\(result)")
    var seen: Set<String> = []
    for line in try folder.text("out.ndjson").split(separator: "\n") {
      let value = try JSONValue(parsing: String(line))
      let id = try #require(value["op"]?.stringValue)
      #expect(seen.insert(id).inserted, "\(id) came twice")
      let query = queries[try #require(Int(id.dropFirst()))]
      let posts = value["data"]?["feed"]?["edges"]?.arrayValue ?? []
      #expect(posts.count == query.first, "\(id)")
      for post in posts {
        #expect(post["node"]?.objectValue.map { Set($0.keys) } == query.keys, "\(id): \(line)")
      }
    }
    #expect(seen.count == Self.count)
    let report = try JSONValue(parsing: folder.text("report.json"))
    #expect(report["tasks"]?["done"]?.intValue == Self.count)
  }
}

/// A query for a page of posts with a choice of fields, aliases and fragments.
private struct PostQuery {
  let text: String
  let first: Int
  /// The response keys of a post.
  let keys: Set<String>

  private static let fields = [
    "title", "body", "publishedAt", "likeCount", "ratio", "isPinned", "tags { id name color }",
    "author { id login followers reputation }", "heading: title", "pinned: isPinned",
    "comments(first: 2) { totalCount edges { cursor node { id body score author { login } } } }",
    "... on Post { published: publishedAt }", "...More",
  ]

  init(_ number: Int, _ chance: inout SeededRandom) {
    first = Int.random(in: 1...20, using: &chance)
    let chosen = Self.fields.filter { _ in Bool.random(using: &chance) }
    text = """
      query Q\(number)($first: Int!) { feed(first: $first) { totalCount \
      edges { cursor node { id \(chosen.joined(separator: " ")) } } pageInfo { hasNextPage } } }
      \(chosen.contains("...More") ? "fragment More on Post { likes: likeCount }" : "")
      """
    var keys: Set<String> = ["id"]
    for field in chosen {
      switch field {
      case "...More": keys.insert("likes")
      case "... on Post { published: publishedAt }": keys.insert("published")
      default: keys.insert(String(field.prefix { !" (:".contains($0) }))
      }
    }
    self.keys = keys
  }
}
