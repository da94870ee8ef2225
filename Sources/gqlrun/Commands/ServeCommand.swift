import ArgumentParser
import Foundation
import GQLRunDemoServer
import GQLRunPlugins
import GQLRunSupport

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run the demo server: countries, a feed, a shop and issues, of any size.",
    discussion: """
      Listens on the loopback address only. 120 customers have 1,780 orders with 12,629 lines, \
      and 8,280 of them a million objects; a customer is found through node and nodes, an order \
      through order. The repositories gqlrun/app, gqlrun/server and gqlrun/docs have issues with \
      labels and comments, as GitHub's schema names them. Subscriptions are served over WebSocket \
      (graphql-transport-ws and graphql-ws), server-sent events and multipart responses. A \
      request can demand faults, in the URL or in header fields (X-Demo-…), such as \
      http://127.0.0.1:8080/graphql?status=503&times=2:
      \(Misbehaviour.options.map { Self.row($0) }.joined(separator: "\n"))

      EXAMPLES
        gqlrun serve
        gqlrun serve --port 0 --posts 1000 > address
        gqlrun serve --like-every 500ms --fault close-after=100
        gqlrun serve --customers 8280 --max-complexity 1000 --fault delay=20
      """)

  private static func row(_ option: Misbehaviour.Option) -> String {
    let value = option.placeholder.isEmpty ? "" : "=" + option.placeholder
    return "  \((option.name + value).padded(to: 24))  \(option.help)"
  }

  @Option(name: .shortAndLong, help: "Port to listen on; 0 selects a free port.")
  var port = 8080

  @Option(help: "Number of posts in the feed.")
  var posts = 1_000_000

  @Option(help: "Number of customers of the shop.")
  var customers = 120

  @Option(
    help: ArgumentHelp(
      "Refuse operations that ask for more objects than this.", valueName: "objects"))
  var maxComplexity: Int?

  @Option(
    help: ArgumentHelp(
      "Add a like to one of the first ten posts at this interval, for subscriptions.",
      valueName: "duration"), transform: TimeLimit.init)
  var likeEvery: TimeLimit?

  @Option(
    help: ArgumentHelp(
      "A fault of all requests, as a request demands it in its URL; repeatable.",
      valueName: "name=value"))
  var fault: [String] = []

  @Option(
    help: ArgumentHelp(
      "Accept up to this many operations in one request; 0 refuses arrays.", valueName: "count"))
  var batching = 0

  @Option(
    help: ArgumentHelp(
      "Operation manifest with documents that requests may identify by documentId.",
      valueName: "path"))
  var manifest: String?

  @Option(help: "Operations that run at a time on a WebSocket connection.")
  var maxOperations = 1000

  @OptionGroup var metrics: MetricsOptions

  func validate() throws {
    try require("--max-operations", maxOperations, in: 1...1_000_000)
    try require("--batching", batching, in: 0...1000)
    do throws(Misbehaviour.Failure) {
      _ = try misbehaviour
    } catch {
      throw ValidationError("cannot use --fault: \(error.message)")
    }
    try require("--port", port, in: 0...65_535, or: "is not a port")
    try require("--posts", posts, in: 0...100_000_000)
    try require("--customers", customers, in: 0...10_000_000)
    if let maxComplexity, maxComplexity < 1 {
      throw ValidationError("--max-complexity \(maxComplexity) is out of range; use at least 1")
    }
  }

  private var misbehaviour: Misbehaviour {
    get throws(Misbehaviour.Failure) {
      var result = Misbehaviour()
      for setting in fault { try result.add(setting) }
      return result
    }
  }

  func run() async throws {
    var configuration = DemoServer.Configuration(port: port)
    configuration.feedSize = posts
    configuration.customers = customers
    configuration.maxComplexity = maxComplexity
    configuration.likeInterval = likeEvery?.duration
    configuration.misbehaviour = try misbehaviour
    configuration.maxOperations = maxOperations
    configuration.maxBatch = batching
    if let manifest {
      let operations = try OperationManifest(path: manifest).operations
      configuration.persistedDocuments = Dictionary(operations.map { ($0.id, $0.body) }) {
        first, _ in first
      }
    }
    let server = DemoServer(configuration)
    ProgramTelemetry.current?.registry?.onCollect { [log = server.log] registry in
      registry.set("gqlrun.serve.requests", log.requestCount)
      registry.set("gqlrun.serve.response.size", log.bytesWritten)
    }
    do {
      try await Interruption.serve { try await server.run(onReady: $0) }
    } catch let failure as DemoServer.Failure
      where failure.message.contains("Address already in use")
    {
      throw Failure(
        .failed,
        "port \(port) is in use already; choose another with --port N, or a free one with --port 0"
      )
    }
  }
}
