import ArgumentParser
import GQLRun
import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import HTTPTypes
import Testing

@testable import gqlrun

/// Answers requests by their variables.
private struct PageServer: HTTPTransport {
  var answer: @Sendable (JSONValue) -> String

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let body = try JSONValue(parsing: request.body ?? [])
    let text = answer(body["variables"] ?? .null)
    return HTTPResponseMessage(
      head: HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]),
      body: HTTPBody([Array(text.utf8)]))
  }
}

@Suite("gqlrun run --paginate", .timeLimit(.minutes(10)))
struct RunPagesTests {
  private static let document = """
    query Feed($after: String) {
      feed(first: 2, after: $after) { ...Page edges { node { id } } }
    }
    fragment Page on PostConnection { pageInfo { hasNextPage endCursor } }
    """

  private static var fivePosts: DemoServer.Configuration {
    var configuration = DemoServer.Configuration()
    configuration.feedSize = 5
    return configuration
  }

  /// The ids of the posts of a page.
  private func ids(_ text: some StringProtocol) throws -> [String] {
    let feed = try JSONValue(parsing: String(text))["data"]?["feed"]
    return (feed?["edges"]?.arrayValue ?? []).compactMap { $0["node"]?["id"]?.stringValue }
  }

  @Test("with a schema, a connection without pageInfo is a note, with --quiet none")
  func connectionsWithoutPageInfo() async throws {
    try await DemoServer.withServer(Self.fivePosts) { server in
      let folder = try Folder()
      try folder.write(
        "{ feed(first: 1) { totalCount edges { node { id } } } }", to: "d.graphql")
      _ = try await Program.run(
        ["schema", "fetch", "-e", server.url, "-o", "s.graphql"], in: folder)
      let run = ["run", "d.graphql", "-e", server.url]
      let noted = try await Program.run(run + ["--schema", "s.graphql"], in: folder)
      #expect(
        noted.status == 0
          && noted.errors
            == "note: `feed` may have more pages; select its `pageInfo { hasNextPage endCursor }` to know\n",
        "\(noted)")
      for options in [[], ["--schema", "s.graphql", "--quiet"]] {
        #expect(try await Program.run(run + options, in: folder).errors == "")
      }
      let count = try await Program.run(
        ["run", "{ feed(first: 1) { totalCount } }", "-e", server.url, "--schema", "s.graphql"],
        in: folder)
      #expect(count.errors == "", "\(count)")
    }
  }

  @Test("every page is a result, in order, until the last one")
  func pages() async throws {
    try await DemoServer.withServer(Self.fivePosts) { server in
      let folder = try Folder()
      try folder.write(Self.document, to: "pages.graphql")
      let run = ["run", "pages.graphql", "-e", server.url, "--paginate"]
      let lines = try await Program.run(run, in: folder)
      #expect(lines.status == 0 && lines.errors == "", "\(lines)")
      let pages = try lines.output.split(separator: "\n").map(ids)
      #expect(pages == [["P_0", "P_1"], ["P_2", "P_3"], ["P_4"]])
      let slurped = try await Program.run(run + ["--slurp"], in: folder)
      let expected = lines.output.split(separator: "\n").joined(separator: ",")
      #expect(slurped.output == "[\(expected)]\n", "\(slurped)")
      let pretty = try await Program.run(run + ["--slurp", "--pretty"], in: folder)
      #expect(try JSONValue(parsing: pretty.output) == JSONValue(parsing: slurped.output))
      let exact = try await Program.run(run + ["--max-pages", "3"], in: folder)
      #expect(exact.status == 0 && exact.output == lines.output, "\(exact)")
      let limited = try await Program.run(run + ["--max-pages", "2"], in: folder)
      #expect(limited.status == 1 && limited.output.split(separator: "\n").count == 2)
      #expect(limited.errors.contains("there are more pages than --max-pages 2"), "\(limited)")
      for layout in ["--compact", "--pretty"] {
        let array = try await Program.run(
          run + ["--slurp", "--max-pages", "2", layout], in: folder)
        #expect(array.status == 1 && array.errors.contains("--max-pages 2"), "\(array)")
        #expect(try JSONValue(parsing: array.output).arrayValue?.count == 2, "\(array)")
      }
      _ = try await Program.run(
        run + ["--slurp", "--max-pages", "2", "-o", "pages.json"], in: folder)
      #expect(throws: (any Error).self) { try folder.text("pages.json") }
    }
  }

  @Test("a result that is not all there is has a warning with what requests the rest")
  func warnings() async throws {
    try await DemoServer.withServer(Self.fivePosts) { server in
      let folder = try Folder()
      try folder.write(Self.document, to: "pages.graphql")
      let run = ["run", "pages.graphql", "-e", server.url]
      let result = try await Program.run(run, in: folder)
      #expect(result.status == 0, "\(result)")
      #expect(
        result.errors
          == "warning: `feed` has more pages (hasNextPage is true): --paginate requests all of them, --var "
          + "'after=cDox' the next one\n", "\(result)")
      let next = try await Program.run(run + ["--var", "after=cDoz"], in: folder)
      #expect(next.status == 0 && next.errors == "", "\(next)")
      let quiet = try await Program.run(run + ["-s"], in: folder)
      #expect(quiet.status == 0 && quiet.errors == "", "\(quiet)")
    }
  }

  @Test("--paginate fails if another list of the operation has more pages")
  func otherLists() async throws {
    try await DemoServer.withServer(Self.fivePosts) { server in
      let folder = try Folder()
      try folder.write(
        """
        query Feeds($endCursor: String) {
          feed(first: 2, after: $endCursor) { pageInfo { hasNextPage endCursor } }
          first: feed(first: 1) { info: pageInfo { more: hasNextPage } }
        }
        """, to: "feeds.graphql")
      let run = ["run", "feeds.graphql", "-e", server.url]
      let pages = try await Program.run(run + ["--paginate"], in: folder)
      #expect(pages.status == 1 && pages.output.split(separator: "\n").count == 3, "\(pages)")
      #expect(
        pages.errors.contains(
          "the result is incomplete: `first` has more pages in all 3 objects; request more at a time"
        ),
        "\(pages)")
      let single = try await Program.run(run, in: folder)
      #expect(
        single.errors.contains(
          "`first` has more pages (hasNextPage is true); pass a variable as its cursor"),
        "\(single)")
    }
  }

  @Test("pages that the cache merges are requested one by one")
  func mergedPages() async throws {
    try await DemoServer.withServer(Self.fivePosts) { server in
      let folder = try Folder()
      try folder.write(Self.document, to: "pages.graphql")
      try folder.write(
        """
        version: 1
        endpoint: { url: "\(server.url)" }
        store: { kind: sqlite, path: cache.db }
        fields: { Query.feed: { merge: connection } }
        chain: [max-retry, cache-read, fetch, response-code, parse, cache-write]
        """, to: "merge.pipeline.yaml")
      let run = ["run", "pages.graphql", "--pipeline", "merge.pipeline.yaml"]
      let lines = try await Program.run(run + ["--paginate"], in: folder)
      #expect(lines.status == 0, "\(lines)")
      #expect(try lines.output.split(separator: "\n").map(ids).joined().count == 5)
      let cached = try await Program.run(run + ["--policy", "cache-only"], in: folder)
      #expect(try ids(cached.output) == ["P_0", "P_1", "P_2", "P_3", "P_4"], "\(cached)")
    }
  }

  /// The pages that a server answers, and the error at their end.
  private func follow(
    _ document: String, _ keys: KeyRules = KeyRules(),
    _ answer: @escaping @Sendable (JSONValue) -> String
  ) async throws -> (pages: Int, error: Failure?) {
    let operation = try PreparedOperation(document: Document(parsing: document), keys: keys)
    var configuration = PipelineClient.Configuration()
    configuration.transport = PageServer(answer: answer)
    let pipeline = try EndpointArguments.parse(["--endpoint", "http://127.0.0.1:1/"]).load()
    let client = try await PipelineClient(pipeline, configuration: configuration)
    let options = try PageOptions.parse(["--paginate"])
    return try await client.shutdown { client in
      var count = 0
      do {
        for try await _ in try RunPages(
          GraphQLRequest(operation), options: options, client: client,
          results: client.execute(GraphQLRequest(operation)),
          name: "q.graphql")
        {
          count += 1
        }
      } catch let error as Failure {
        return (count, error)
      }
      return (count, nil)
    }
  }

  @Test("a cursor that comes twice ends with an error")
  func loop() async throws {
    let (pages, error) = try await follow(
      "query($c: ID) { list(after: $c) { pageInfo { hasNextPage endCursor } } }"
    ) { variables in
      let next = variables["c"]?.stringValue == "a" ? "b" : "a"
      return #"{"data":{"list":{"pageInfo":{"hasNextPage":true,"endCursor":"\#(next)"}}}}"#
    }
    #expect(pages == 3)
    #expect(error?.message.contains("the cursor \"a\" a second time") == true, "\(error as Any)")
  }

  @Test("a list with a rule for offsets is followed until a page is empty")
  func offsets() async throws {
    let (pages, error) = try await follow(
      "query($o: Int) { items(offset: $o) { v } }",
      KeyRules(pages: ["Query": ["items": .offset]])
    ) { variables in
      let start = variables["o"]?.intValue ?? 0
      let items = (start..<max(start, min(start + 2, 5))).map { #"{"v":\#($0)}"# }
      return #"{"data":{"items":[\#(items.joined(separator: ","))]}}"#
    }
    #expect(pages == 4 && error == nil)
  }
}
