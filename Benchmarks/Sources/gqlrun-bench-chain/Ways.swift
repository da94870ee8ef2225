import AsyncHTTPClient
import Foundation
import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import NIOCore

/// A way to ask the server.
protocol Way: Sendable {
  var name: String { get }
  /// Asks once, and reads the answer to its end.
  func ask() async throws
  func end() async throws
}

struct Failed: Error {
  var reason: String
}

/// What is asked: a few fields of one object.
enum Question {
  static let document = #"query Country { country(code: "PT") { code name capital emoji } }"#
}

/// async-http-client as a program without gqlrun would use it.
struct BareWay: Way {
  let name = "bare async-http-client"
  private let client: HTTPClient
  private let request: HTTPClientRequest

  init(url: String) throws {
    var configuration = HTTPClient.Configuration()
    configuration.decompression = .enabled(limit: .size(1 << 30))
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
    client = HTTPClient(
      eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    let operation = try PreparedOperation(document: Document(parsing: Question.document))
    let quoted = operation.document.replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    for (name, value) in [
      ("Content-Type", "application/json"),
      ("Accept", "application/graphql-response+json, application/json;q=0.9"),
      ("Accept-Encoding", "gzip, deflate"), ("User-Agent", "gqlrun-bench"),
    ] {
      request.headers.add(name: name, value: value)
    }
    request.body = .bytes(
      ByteBuffer(string: #"{"query":"\#(quoted)","operationName":"Country"}"#))
    self.request = request
  }

  func ask() async throws {
    let response = try await client.execute(request, timeout: .seconds(30))
    var count = 0
    for try await chunk in response.body { count += chunk.readableBytes }
    guard response.status == .ok, count > 20 else { throw Failed(reason: "\(response.status)") }
  }

  func end() async throws { try await client.shutdown() }
}

/// A pipeline as a file declares it.
struct ChainWay: Way {
  let name: String
  private let runner: PipelineRunner
  private let transport: AsyncHTTPTransport
  private let operation: PreparedOperation
  private let policy: CachePolicy

  init(
    _ name: String, url: String, store: String, policy: CachePolicy = .networkOnly,
    entries: [String]
  ) throws {
    self.name = name
    self.policy = policy
    let yaml = """
      version: 1
      endpoint: { url: "\(url)" }
      store: { kind: \(store) }
      chain:
      \(entries.map { "  - \($0)\n" }.joined())
      """
    let loaded = try PipelineFile.load(
      Array(yaml.utf8), file: "bench.pipeline.yaml", registry: .builtIn,
      environment: PipelineFileEnvironment())
    transport = AsyncHTTPTransport()
    runner = PipelineRunner(
      loaded.pipeline,
      services: Services(transport: transport, store: store == "none" ? nil : .memory()))
    operation = try PreparedOperation(document: Document(parsing: Question.document))
  }

  func ask() async throws {
    var count = 0
    for try await response in runner.execute(GraphQLRequest(operation, cachePolicy: policy)) {
      try response.forEachChunk { count += $0.count }
    }
    guard count > 20 else { throw Failed(reason: "an answer of \(count) bytes") }
  }

  func end() async throws { await transport.shutdown() }
}
