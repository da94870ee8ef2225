import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunTestSupport
import Testing

@Suite("gqlrun cache", .timeLimit(.minutes(10)))
struct CacheCommandTests {
  private static let document = ["feed.graphql", "--var", "first=60"]

  /// A folder with the response of the feed as the server sends it, and its dump after a `run`.
  private static func feed() async throws -> (folder: Folder, dump: String) {
    let folder = try Folder()
    try await DemoServer.withServer { server in
      let result = try await Program.run(
        ["run"] + document + [
          "-e", server.url, "--store", "sqlite:run.db", "-o", "response.json",
        ], in: folder)
      #expect(result.status == 0 && result.output == "", "\(result)")
    }
    return (folder, try await dump("run.db", folder))
  }

  private static func dump(_ name: String, _ folder: Folder) async throws -> String {
    let result = try await Program.run(["cache", "dump", "--store", "sqlite:\(name)"], in: folder)
    #expect(result.status == 0 && result.errors == "", "\(result)")
    return result.output
  }

  @Test("the same facts give the same dump, whatever the order of fields and the way they came")
  func dumps() async throws {
    let (folder, expected) = try await Self.feed()
    #expect(expected.split(separator: "\n").count > 100)
    let response = try JSONValue(parsing: folder.bytes("response.json"))
    for seed in 0..<4 {
      var generator = SeededRandom(UInt64(seed))
      let text =
        seed == 0
        ? try folder.text("response.json")
        : response.shuffled(using: &generator).jsonText(pretty: seed == 2)
      try folder.write(text, to: "\(seed).json")
      let result = try await Program.run(
        ["cache", "import"] + Self.document + ["\(seed).json", "--store", "sqlite:\(seed).db"],
        in: folder)
      #expect(result.status == 0 && result.output == "", "\(result)")
      #expect(result.errors.hasPrefix("imported "))
      #expect(try await Self.dump("\(seed).db", folder) == expected)
    }
    let again = try await Program.run(
      ["cache", "import"] + Self.document + ["1.json", "--store", "sqlite:run.db"], in: folder)
    #expect(again.errors.contains("(0 new, 0 changed, "), "\(again)")
    let piped = try await Program.run(
      ["cache", "import"] + Self.document + ["-", "--store", "sqlite:piped.db"], in: folder,
      input: try folder.text("response.json"))
    #expect(piped.status == 0, "\(piped)")
    #expect(try await Self.dump("piped.db", folder) == expected)
  }

  @Test(
    "a fragment on another concrete type is not read, without a schema",
    arguments: [
      (
        "{ list { __typename id ... on B { v } } one { __typename id v } }",
        #"{"data":{"list":[{"__typename":"A","id":1},{"__typename":"B","id":2,"v":2}],"one":{"__typename":"A","id":1,"v":1}}}"#
      ),
      (
        "{ list { __typename id ... on B { pet { id __typename age } } } one { __typename id pet { __typename id } } }",
        #"{"data":{"list":[{"__typename":"A","id":1},{"__typename":"B","id":2,"pet":{"id":8,"__typename":"P","age":3}}],"one":{"__typename":"A","id":1,"pet":{"__typename":"P","id":7}}}}"#
      ),
    ])
  func concreteTypes(document: String, response: String) async throws {
    let folder = try Folder()
    try folder.write(document, to: "q.graphql")
    try folder.write(response, to: "r.json")
    let store = ["--store", "sqlite:c.db"]
    let written = try await Program.run(
      ["cache", "import", "q.graphql", "r.json"] + store, in: folder)
    #expect(written.status == 0, "\(written)")
    let read = try await Program.run(["cache", "read", "q.graphql"] + store, in: folder)
    #expect(read.status == 0, "\(read)")
    #expect(try JSONValue(parsing: read.output) == JSONValue(parsing: response))
  }

  @Test("--keys and the rules of a pipeline file are checked against the schema")
  func rules() async throws {
    let folder = try Folder()
    try folder.write(
      "type Query { country: Country } type Country { id: ID code: ID! }", to: "s.graphql")
    try folder.write("{ country { code } }", to: "q.graphql")
    try folder.write(#"{"data":{"country":{"__typename":"Country","code":"DE"}}}"#, to: "r.json")
    try folder.write(
      """
      version: 1
      endpoint: { url: "http://127.0.0.1:9/" }
      schema: s.graphql
      keys:
        types: { Contry: [code] }
      chain: [fetch, parse]
      """, to: "p.pipeline.yaml")
    let schema = ["--schema", "s.graphql", "--store", "sqlite:c.db"]
    for (flag, message) in [
      ("Contry=code", "the schema has no type `Contry`; did you mean `Country`?"),
      ("Country=cod", "the type `Country` has no field `cod`; did you mean `code`?"),
    ] {
      let result = try await Program.run(
        ["cache", "import", "q.graphql", "r.json", "--keys", flag] + schema, in: folder)
      #expect(
        result.status == 64 && result.errors.contains("--keys \(flag): \(message)"), "\(result)")
      #expect(!folder.exists("c.db"))
    }
    let path = "p.pipeline.yaml:5:12"
    for arguments in [
      ["pipeline", "check", "p.pipeline.yaml"], ["run", "q.graphql", "-p", "p.pipeline.yaml"],
      ["pipeline", "explain", "q.graphql", "-p", "p.pipeline.yaml"],
      ["operations", "manifest", "q.graphql", "-p", "p.pipeline.yaml"],
    ] {
      let result = try await Program.run(arguments, in: folder)
      #expect(result.status == 78, "\(arguments): \(result)")
      #expect(result.errors.contains(path), "\(arguments): \(result)")
      #expect(result.errors.contains("did you mean `Country`?"), "\(arguments): \(result)")
    }
    let kept = try await Program.run(
      ["cache", "import", "q.graphql", "r.json", "--keys", "Country=code"] + schema, in: folder)
    #expect(kept.status == 0, "\(kept)")
    let read = try await Program.run(
      ["cache", "read", "q.graphql", "-p", "p.pipeline.yaml", "--store", "sqlite:c.db"], in: folder)
    #expect(read.status == 78 && read.errors.contains(path), "\(read)")
    try folder.write(
      """
      version: 1
      pipeline: p.pipeline.yaml
      schema: s.graphql
      operations: [{ id: a, document: q.graphql }]
      """, to: "m.batch.yaml")
    let batch = try await Program.run(["batch", "check", "m.batch.yaml"], in: folder)
    #expect(batch.status != 0 && batch.errors.contains(path), "\(batch)")
  }

  @Test("dump is one record per line, sorted by key; get prints one of its lines")
  func dumpAndGet() async throws {
    let (folder, dump) = try await Self.feed()
    let lines = dump.split(separator: "\n").map { String($0) }
    let keys = try lines.map { try JSONValue(parsing: $0)["key"]?.stringValue ?? "" }
    #expect(keys == keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    #expect(keys.contains("QUERY_ROOT"))
    for index in [0, lines.count / 2, lines.count - 1] {
      let got = try await Program.run(
        ["cache", "get", keys[index], "--store", "sqlite:run.db"], in: folder)
      #expect(got.output == lines[index] + "\n")
    }
    let absent = try await Program.run(
      ["cache", "get", "User:absent", "--store", "sqlite:run.db"], in: folder)
    #expect(absent.status == 1 && absent.output == "")
    #expect(absent.errors.contains("no record User:absent"), "\(absent)")
  }

  @Test("read answers what was imported, and says which field is missing")
  func read() async throws {
    let (folder, _) = try await Self.feed()
    let read = ["cache", "read", "--store", "sqlite:run.db"]
    let hit = try await Program.run(read + Self.document, in: folder)
    #expect(try hit.output == folder.text("response.json"))
    #expect(hit.status == 0 && hit.errors == "")
    let miss = try await Program.run(read + ["feed.graphql", "--var", "first=61"], in: folder)
    #expect(miss.status == 3 && miss.output == "")
    #expect(miss.errors.contains(#"feed({"first":61}) of QUERY_ROOT"#), "\(miss)")
  }

  @Test("stats counts per type, clear removes everything")
  func statsAndClear() async throws {
    let (folder, _) = try await Self.feed()
    let store = ["--store", "sqlite:run.db"]
    let stats = try await Program.run(["cache", "stats"] + store, in: folder)
    let rows = stats.output.split(separator: "\n").map { $0.split(separator: " ") }
    #expect(rows.first { $0.first == "Post" }?[1] == "60", "\(stats)")
    #expect(rows.first { $0.first == "QUERY_ROOT" }?[1] == "1", "\(stats)")
    let cleared = try await Program.run(["cache", "clear"] + store, in: folder)
    #expect(cleared.output == "" && cleared.errors.hasPrefix("removed "), "\(cleared)")
    #expect(try await Self.dump("run.db", folder) == "")
  }

  /// A response, the exit code of its import, and what standard error says.
  static let responses: [(String, Int32, String)] = [
    ("", 65, "the response is empty"),
    ("hello", 65, "r.json: the response is not valid JSON at byte 0"),
    ("[]", 65, "the response is a list"), ("{}", 65, "neither \"data\" nor \"errors\""),
    ("{\"data\":{\"country\":{\"__typename\":\"Country\",\"code\":\"DE\",\"na", 65, "truncated"),
    ("{\"data\":{\"country\":3}}", 65, "a number at country"),
    ("{\"data\":{\"country\":{\"name\":\"x\"}}} {}", 65, "not valid JSON"),
    ("{\"data\":{\"feed\":[]}}", 65, "no field that query C asks for"),
    (
      "{\"data\":null,\"errors\":[{\"message\":\"no \\u0000\\u001b[31m\"}]}", 4,
      "graphql error: no \\u{0}\\u{1b}[31m"
    ),
  ]

  @Test("a response that cannot be used leaves the cache as it was", arguments: responses)
  func badResponse(_ text: String, _ status: Int32, _ says: String) async throws {
    let folder = try Folder()
    let line = [
      "cache", "import", "country.graphql", "--var", "code=DE", "--keys", "Country=code",
    ]
    let good = #"{"data":{"country":{"__typename":"Country","code":"DE","name":"Germany"}}}"#
    try folder.write(good, to: "good.json")
    try folder.write(text, to: "r.json")
    let first = try await Program.run(line + ["good.json", "--store", "sqlite:c.db"], in: folder)
    #expect(first.status == 0, "\(first)")
    let before = try await Self.dump("c.db", folder)
    #expect(before.contains("Country:DE"))
    let result = try await Program.run(line + ["r.json", "--store", "sqlite:c.db"], in: folder)
    #expect(result.status == status && result.output == "", "\(result)")
    #expect(result.errors.contains(says), "\(result)")
    #expect(try await Self.dump("c.db", folder) == before)
    let memory = try await Program.run(line + ["r.json"], in: folder)
    #expect(memory.status == status, "\(memory)")
  }

  @Test(
    "a cache that is not there is not made",
    arguments: ["read germany.graphql", "dump", "get User:1", "stats", "clear"])
  func absent(_ command: String) async throws {
    let folder = try Folder()
    let words = ["cache"] + command.split(separator: " ").map { String($0) }
    let result = try await Program.run(words + ["--store", "sqlite:absent.db"], in: folder)
    #expect(result.status == 65 && result.output == "", "\(result)")
    #expect(result.errors.contains("cannot open the cache absent.db: No such file"), "\(result)")
    #expect(!folder.exists("absent.db"))
    let memory = try await Program.run(words, in: folder)
    #expect(memory.errors.contains("note: the memory store is empty"), "\(memory)")
    let text = try await Program.run(words + ["--store", "sqlite:note.txt"], in: folder)
    #expect(text.status == 65 && text.errors.contains("is not a SQLite database"), "\(text)")
  }

  @Test("explain proposes a redirect, and with its lines in the file the record answers")
  func redirect() async throws {
    let folder = try Folder()
    try folder.write("{ countries { code name } }", to: "all.graphql")
    try folder.write("query($c: ID!) { country(code: $c) { name } }", to: "one.graphql")
    let file = """
      version: 1
      endpoint: { url: "http://127.0.0.1:1/" }
      store: { kind: sqlite, path: c.db }
      chain: [max-retry, cache-read, fetch, response-code, parse, cache-write]

      """
    try await DemoServer.withServer { server in
      let filled = try await Program.run(
        [
          "run", "all.graphql", "-e", server.url, "--store", "sqlite:c.db", "--keys",
          "Country=code",
        ],
        in: folder)
      #expect(filled.status == 0, "\(filled)")
    }
    let explained = try await Program.run(
      ["cache", "explain", "one.graphql", "--var", "c=FR", "--store", "sqlite:c.db", "--keys"]
        + ["Country=code"], in: folder)
    #expect(explained.status == 3, "\(explained)")
    #expect(explained.output.contains("Country:FR is in the cache. If country returns it"))
    let lines = try #require(explained.output.range(of: "\n\nkeys:"))
    try folder.write(file + explained.output[lines.lowerBound...], to: "r.pipeline.yaml")
    let checked = try await Program.run(["pipeline", "check", "r.pipeline.yaml"], in: folder)
    #expect(checked.status == 0, "\(checked)")
    let pipeline = ["one.graphql", "--pipeline", "r.pipeline.yaml", "--var"]
    let read = try await Program.run(["run"] + pipeline + ["c=FR"], in: folder)
    #expect(read.output == #"{"data":{"country":{"name":"France"}}}"# + "\n", "\(read)")
    let again = try await Program.run(
      ["cache", "explain", "--store", "sqlite:c.db"] + pipeline + ["c=FR"], in: folder)
    #expect(again.status == 0 && again.output.contains(", redirected → Country:FR"), "\(again)")
    let none = try await Program.run(
      ["cache", "explain", "--store", "sqlite:c.db", "--json"] + pipeline + ["c=ZZ"], in: folder)
    #expect(none.status == 3, "\(none)")
    let field = try JSONValue(parsing: none.output)["fields"]?[0]
    #expect(field?["redirect"] == ["Country:ZZ"] && field?["status"] == "missing")
  }
}
