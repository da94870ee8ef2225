import ArgumentParser
import Foundation
import GQLRun
import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import Logging

struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Show operations passing through a pipeline, into the cache and out of it.",
    discussion: """
      Starts the demo server on a free local port, runs operations against it, and prints the source \
      and the duration of each result.

      EXAMPLES
        gqlrun demo
        gqlrun demo --posts 25000
      """)

  @Option(help: "Number of posts in the large response.")
  var posts = 5_000

  func validate() throws {
    try require("--posts", posts, in: 1...10_000_000)
  }

  func run() async throws {
    let posts = posts
    try await Interruption.run {
      var configuration = DemoServer.Configuration()
      configuration.likeInterval = .milliseconds(50)
      try await DemoServer.withServer(configuration) { server in
        try await GuidedTour(server: server, posts: posts).run()
      }
    }
  }
}

/// The steps of the demonstration, against a running demo server.
private struct GuidedTour {
  let server: LiveDemoServer
  let posts: Int

  private static let country = """
    query Country($code: ID!) {
      country(code: $code) { name capital emoji continent { name } languages { name native } }
    }
    """
  private static let names = "query Names { country(code: \"DE\") { emoji name } }"
  private static let feed = """
    query Feed($first: Int!) {
      feed(first: $first) {
        edges {
          cursor
          node {
            id title body likeCount
            author { id login name }
            tags { id name }
            comments(first: 10) { edges { node { id body author { id login name } } } }
          }
        }
      }
    }
    """

  private static let likes = "subscription Likes { likesChanged(post: \"P_0\") { id likeCount } }"
  private static let post = "query Post { post(id: \"P_0\") { id likeCount } }"

  func run() async throws {
    let directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("gqlrun-demo-\(UUID().uuidString)")
    try SystemIO.createFolder(directory.path)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appendingPathComponent("demo.pipeline.yaml").path
    try Self.pipeline.write(toFile: file, atomically: true, encoding: .utf8)
    var environment = PipelineFileEnvironment.process
    let url = server.url
    environment.variable = { $0 == "GQL_URL" ? url : nil }
    let pipeline = try PipelineFile.load(path: file, registry: .builtIn, environment: environment)
      .pipeline
    let facts = TypeFacts(try Schema(sdl: Document(parsing: DemoExecutor.schemaText)))
    let client = try await PipelineClient.open(
      pipeline, logger: RunLog.logger(verbosity: 1, isQuiet: false)
    ) { $0.facts = facts }
    try await client.shutdown(after: steps)
    say("\nThat was a request from beginning to end. Next:")
    say("  gqlrun serve --port 8080                 this server, for your own operations")
    say("  gqlrun run FILE.graphql --endpoint URL   any server")
    say("  gqlrun plugins                           what a chain can be made of")
  }

  private static let pipeline = """
    version: 1
    name: demo
    endpoint: { url: "${env:GQL_URL}" }
    store: { kind: sqlite, path: cache.db }
    keys: { types: { Country: [code], Continent: [code], Language: [code] } }
    chain:
      - logging
      - cache-read: { policy: cache-first }
      - timeout: { total: 1m }
      - max-retry: { max_retries: 3, backoff: { base: 100ms } }
      - fetch
      - response-code
      - parse
      - cache-write

    """

  private func steps(_ client: PipelineClient) async throws {
    title("The demo server is at \(server.url). This is the chain:")
    say(
      client.pipeline.show().split(separator: "\n").drop { $0 != "chain" }.dropFirst()
        .filter { $0.hasPrefix("  - ") }.joined(separator: "\n"))

    title("1. A new operation: the network answers.")
    try await ask(Self.country, variables: #"{"code":"DE"}"#, client: client, isShown: true)

    title("2. The same again: the cache answers, from records.")
    try await ask(Self.country, variables: #"{"code":"DE"}"#, client: client)

    title("3. Another operation about the same country: every field is known already.")
    try await ask(Self.names, variables: "{}", client: client, isShown: true)

    title("4. What the cache holds of it:")
    if let record = try await client.store?.record(forKey: "Country:DE") {
      say("   " + Terminal.safe(record))
    }

    title("5. A server that fails twice: max-retry tries again.")
    var failing = Misbehaviour()
    failing.status = 503
    failing.times = 2
    server.misbehave(failing)
    try await ask(Self.country, variables: #"{"code":"JP"}"#, client: client)

    title("6. A server that is down: what was fetched before is still there.")
    var down = Misbehaviour()
    down.status = 503
    server.misbehave(down)
    try await ask(Self.country, variables: #"{"code":"JP"}"#, client: client)
    server.misbehave(nil)

    title("7. A large response, normalized into SQLite while it arrives:")
    try await ask(Self.feed, variables: #"{"first":\#(posts)}"#, client: client)
    try await ask(Self.feed, variables: #"{"first":\#(posts)}"#, client: client)
    if let statistics = try await client.store?.statistics() {
      say(
        "   the cache now holds \(Quantity.count(statistics.records, "record")), \(statistics.bytes / 1_000_000) MB"
      )
    }

    title("8. A live subscription: its events change what a watched query shows.")
    try await followLikes(client)
    say("   the most memory this process and its server used: \(Self.peakMiB) MiB")
  }

  /// Watches a query while a subscription to the same post runs.
  private func followLikes(_ client: PipelineClient) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { for try await _ in client.subscribe(Self.likes) {} }
      group.addTask { try await showPost(client) }
      defer { group.cancelAll() }
      // The subscription does not end by itself, unless it fails.
      try await group.next()
    }
  }

  private func showPost(_ client: PipelineClient) async throws {
    var results = 0
    for try await update in client.watch(Self.post) {
      guard let result = update.result, let post = result.data?["post"] else { continue }
      let source = result.source == .cache ? "from the cache" : "from the server"
      let requests = Quantity.count(server.requestCount, "request")
      say("   \(source), \(requests) so far: \(Terminal.safe(post.jsonText()))")
      results += 1
      if results == 4 { return }
    }
  }

  private func ask(
    _ document: String, variables: String, client: PipelineClient, isShown: Bool = false
  ) async throws {
    let operation = try client.prepare(
      document, variables: JSONValue(parsing: variables).objectValue ?? JSONObject())
    let requests = server.requestCount
    let start = ContinuousClock.now
    for try await response in client.execute(GraphQLRequest(operation)) {
      let seconds = (ContinuousClock.now - start).seconds
      let sent = server.requestCount - requests
      var line = "   from the \(response.source == .cache ? "cache" : "server"), "
      line += "\(Quantity.count(sent, "request")), \(Duration.seconds(seconds).shown)"
      if let count = response.data?.count, count > 1_000_000 {
        line += ", \(count / 1_000_000) MB, \(Quantity.rate(bytes: count, seconds: seconds))"
      }
      say(Terminal.styled(line, response.source == .cache ? .green : .cyan))
      if isShown {
        var text: [UInt8] = []
        try response.forEachChunk { text.append(contentsOf: $0) }
        say("   " + Terminal.safe(String(decoding: text, as: UTF8.self)))
      }
    }
  }

  private func title(_ text: String) {
    say("")
    say(Terminal.styled(text, .bold))
  }

  /// Prints a line of the tour on standard error, because it is not a result.
  private func say(_ line: String) { Terminal.note(line) }

  private static var peakMiB: Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return Int(usage.ru_maxrss) / 1024
  }
}
