import Foundation
import GQLRunDemoServer
import GQLRunJSON
import Testing

@Suite("gqlrun cache: ages and housekeeping", .timeLimit(.minutes(10)))
struct CacheHousekeepingTests {
  private static let store = ["--store", "sqlite:c.db"]
  private static let document = """
    { feed { __typename title posts { __typename id title author { __typename id name } } } }
    """
  private static let response = """
    {"data":{"feed":{"__typename":"Feed","title":"T","posts":[\
    {"__typename":"Post","id":"1","title":"Größe 東京","author":{"__typename":"User","id":"1","name":"Ada"}},\
    {"__typename":"Post","id":"2","title":"B","author":{"__typename":"User","id":"2","name":"Eva"}},\
    {"__typename":"Post","id":"3","title":"C","author":{"__typename":"User","id":"1","name":"Ada"}}]}}}
    """

  /// A folder with a cache of three posts that are `age` old.
  private static func filled(age: String = "0s") async throws -> Folder {
    let folder = try Folder()
    try folder.write(document, to: "posts.graphql")
    try folder.write(response, to: "posts.json")
    let result = try await Program.run(
      ["cache", "import", "posts.graphql", "posts.json", "--age", age] + store, in: folder)
    #expect(result.status == 0, "\(result)")
    return folder
  }

  private static func run(_ line: [String], _ folder: Folder) async throws -> RunResult {
    try await Program.run(["cache"] + line + store, in: folder)
  }

  private static func keys(_ folder: Folder) async throws -> [String] {
    try await run(["dump"], folder).output.split(separator: "\n").map {
      try JSONValue(parsing: String($0))["key"]?.stringValue ?? ""
    }
  }

  // MARK: Explain

  @Test("explain shows where every field is stored and how old it is")
  func explain() async throws {
    let folder = try await Self.filled(age: "7m")
    let hit = try await Self.run(["explain", "posts.graphql"], folder)
    #expect(hit.status == 0 && hit.errors == "", "\(hit)")
    let lines = hit.output.split(separator: "\n").map { String($0) }
    #expect(lines.first == "the anonymous query: 25 fields, 25 hit")
    #expect(lines[1].hasPrefix("hit      7 min"))
    #expect(lines[1].hasSuffix("feed                             QUERY_ROOT feed"), "\(lines[1])")
    #expect(lines.contains { $0.contains("posts") && $0.hasSuffix("posts, a list of 3") })
    #expect(lines.contains { $0.hasSuffix("[0] → Post:1") })
    #expect(lines.last?.trimmingCharacters(in: .whitespaces) == "2 more elements, complete")
    let all = try await Self.run(["explain", "posts.graphql", "--all"], folder)
    #expect(all.output.contains("[2] → Post:3"))
  }

  @Test("explain says what is stale or missing, with the exit code of a miss")
  func explainMiss() async throws {
    let folder = try await Self.filled(age: "7m")
    let stale = try await Self.run(["explain", "posts.graphql", "--max-age", "5m"], folder)
    #expect(stale.status == 3 && stale.errors == "", "\(stale)")
    #expect(stale.output.hasPrefix("the anonymous query: 25 fields, 7 hit, 18 stale\n"), "\(stale)")
    let accepted = try await Self.run(
      ["explain", "posts.graphql", "--max-age", "5m", "--max-stale", "1h"], folder)
    #expect(accepted.status == 0 && accepted.output.contains("18 accepted"), "\(accepted)")
    _ = try await Self.run(["evict", "User:2"], folder)
    let missing = try await Self.run(["explain", "posts.graphql"], folder)
    #expect(missing.status == 3)
    #expect(missing.output.contains("→ User:2, which is not there"), "\(missing)")
    let read = try await Self.run(["read", "posts.graphql"], folder)
    #expect(read.status == 3 && read.errors.contains("User:2"), "\(read)")
  }

  @Test("explain --json is one object with every field")
  func explainJSON() async throws {
    let folder = try await Self.filled(age: "7m")
    try folder.write(
      """
      version: 1
      endpoint: { url: "${env:GQL_URL}" }
      store: { kind: memory }
      types: { Post: { max_age: 5m } }
      chain: [ cache-read, fetch, parse, cache-write ]
      """, to: "ages.pipeline.yaml")
    let result = try await Self.run(
      ["explain", "posts.graphql", "--json", "--pipeline", "ages.pipeline.yaml"], folder)
    #expect(result.status == 3, "\(result)")
    let json = try JSONValue(parsing: result.output)
    #expect(json["hit"] == .boolean(false))
    #expect(json["counts"]?["stale"]?.numberValue?.text == "9")
    let posts = json["fields"]?.arrayValue?.first?["fields"]?.arrayValue?.last
    #expect(posts?["path"]?.stringValue == "feed.posts")
    let elements = posts?["elements"]?.arrayValue ?? []
    #expect(elements.count == 3)
    let title = elements.last?["fields"]?.arrayValue?.first {
      $0["path"]?.stringValue == "feed.posts[2].title"
    }
    #expect(title?["record"]?.stringValue == "Post:3")
    #expect(title?["status"]?.stringValue == "stale")
    #expect(title?["max_age"]?.numberValue?.text == "300")
    #expect((title?["age"]?.numberValue?.text).flatMap { Int($0) }.map { $0 >= 420 } == true)
  }

  @Test("read knows ages, too")
  func readAges() async throws {
    let folder = try await Self.filled(age: "7m")
    let stale = try await Self.run(["read", "posts.graphql", "--max-age", "5m"], folder)
    #expect(stale.status == 3 && stale.output == "")
    #expect(stale.errors.contains("stale: received 7 min"), "\(stale)")
    let accepted = try await Self.run(
      ["read", "posts.graphql", "--max-age", "5m", "--max-stale", "5m"], folder)
    #expect(accepted.status == 0 && accepted.output.hasPrefix("{\"data\":"), "\(accepted)")
    #expect(accepted.errors.hasPrefix("warning: "))
  }

  // MARK: Housekeeping

  @Test("evict removes what patterns name, and gc what then nothing reaches")
  func evictAndCollect() async throws {
    let folder = try await Self.filled()
    #expect(try await Self.run(["gc"], folder).errors.hasPrefix("removed 0 records, 0 bytes"))
    let field = try await Self.run(["evict", "Post:*", "--field", "title"], folder)
    #expect(field.errors.contains("fields of 3 records"), "\(field)")
    let nothing = try await Self.run(["evict", "Absent:*"], folder)
    #expect(nothing.status == 0 && nothing.errors.contains("nothing in the cache matches Absent:*"))
    let root = try await Self.run(["evict", "Query.feed"], folder)
    #expect(root.errors.contains("removed 1 record,"), "\(root)")
    #expect(try await Self.keys(folder) == ["Post:1", "Post:2", "Post:3", "User:1", "User:2"])
    try folder.write(
      """
      version: 1
      endpoint: { url: "http://127.0.0.1:1/" }
      fields: { Query.post: { key_args: [id], type: Post } }
      chain: [fetch, response-code, parse]

      """, to: "p.pipeline.yaml")
    let redirected = try await Self.run(["gc", "-p", "p.pipeline.yaml"], folder)
    #expect(redirected.errors.hasPrefix("removed 0 records, "), "\(redirected)")
    let collected = try await Self.run(["gc"], folder)
    #expect(collected.status == 0 && collected.output == "")
    #expect(collected.errors.hasPrefix("removed 5 records, "), "\(collected)")
    #expect(try await Self.keys(folder) == [])
  }

  @Test("gc --older-than and trim remove what is old")
  func old() async throws {
    let folder = try await Self.filled(age: "48h")
    let kept = try await Self.run(["gc", "--older-than", "72h"], folder)
    #expect(kept.errors.hasPrefix("removed 0 records"), "\(kept)")
    let trimmed = try await Self.run(["trim", "--to", "400B"], folder)
    #expect(trimmed.status == 0 && !trimmed.errors.hasPrefix("removed 0"), "\(trimmed)")
    let stats = try await Self.run(["stats"], folder)
    let bytes = stats.output.split(separator: "\n").first { $0.hasPrefix("bytes") }
    #expect((bytes?.split(separator: " ").last).flatMap { Int($0) }.map { $0 <= 400 } == true)
    _ = try await Self.run(["gc", "--older-than", "24h"], folder)
    #expect(try await Self.keys(folder) == [])
  }

  // MARK: Export

  @Test("export writes the dump, or a database that is one")
  func export() async throws {
    let folder = try await Self.filled()
    let dump = try await Self.run(["dump"], folder).output
    let text = try await Self.run(["export", "all.ndjson"], folder)
    #expect(text.status == 0 && text.errors.contains("to all.ndjson"), "\(text)")
    #expect(try folder.text("all.ndjson") == dump)
    let copied = try await Self.run(["export", "copy.db"], folder)
    #expect(copied.status == 0, "\(copied)")
    #expect(!folder.exists("copy.db-wal") && folder.partialFiles == [])
    let again = try await Program.run(
      ["cache", "dump", "--store", "sqlite:copy.db"], in: folder)
    #expect(again.output == dump, "\(again)")
    let there = try await Self.run(["export", "all.ndjson"], folder)
    #expect(there.status == 1 && there.errors.contains("already exists"), "\(there)")
    let forced = try await Self.run(
      ["export", "copy.db", "--force", "--format", "ndjson"], folder)
    #expect(forced.status == 0, "\(forced)")
    #expect(try folder.text("copy.db") == dump)
    let own = try await Self.run(["export", "./c.db", "--force"], folder)
    #expect(own.status == 64 && own.errors.contains("is the cache itself"), "\(own)")
    let nowhere = try await Self.run(["export", "no/where.db"], folder)
    #expect(nowhere.status == 1 && folder.partialFiles == [], "\(nowhere)")
    #expect(try await Self.run(["dump"], folder).output == dump)
  }

  // MARK: Wrong input

  @Test(
    "wrong input is refused",
    arguments: [
      ("evict", 64, "Missing expected argument"), ("evict Post", 64, "write Post:*"),
      ("trim", 64, "--to"), ("trim --to 5", 64, "--to"), ("trim --to -1B", 64, "--to"),
      ("gc --older-than 30", 64, "--older-than"), ("gc now", 64, "now"),
      ("explain posts.graphql --max-age x", 64, "--max-age"),
      ("explain absent.graphql", 65, "absent.graphql"), ("export", 64, "<file>"),
      ("sql", 64, "<query>"),
    ])
  func refused(line: String, status: Int, says: String) async throws {
    let folder = try await Self.filled()
    let before = try await Self.run(["dump"], folder).output
    let result = try await Self.run(line.split(separator: " ").map { String($0) }, folder)
    #expect(result.status == Int32(status) && result.output == "", "\(result)")
    #expect(result.errors.contains(says), "\(result)")
    #expect(try await Self.run(["dump"], folder).output == before)
  }

  @Test(
    "a cache that is not there is not made",
    arguments: ["gc", "trim --to 1MiB", "evict User:1", "export x.db", "explain posts.graphql"])
  func absent(line: String) async throws {
    let folder = try Folder()
    try folder.write(Self.document, to: "posts.graphql")
    let result = try await Self.run(line.split(separator: " ").map { String($0) }, folder)
    #expect(result.status == 65 && result.output == "", "\(result)")
    #expect(!folder.exists("c.db") && !folder.exists("x.db"))
  }
}
