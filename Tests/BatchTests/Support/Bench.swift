import Foundation
import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport

@testable import GQLRunBatch

/// Runs manifests in a folder of their own, over real sockets.
enum Bench {
  /// A manifest whose tasks are the rows of `ids.csv`, each with the pages of a connection.
  static func posts(run: String, in location: Place) throws -> Manifest {
    try load(
      """
      version: 1
      pipeline: p.pipeline.yaml
      run: { \(run) }
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations:
        - id: posts
          query: "query($id: ID!, $after: String) { posts(user: $id, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }"
          foreach: { csv: ids.csv, key: "{{row.id}}" }
          variables: { id: "{{row.id}}" }
          paginate: { connection: posts }
          emit: posts.nodes[*]
      """, in: location)
  }

  static func load(_ yaml: String, in location: Place, url: String? = nil) throws -> Manifest {
    try location.write(yaml, to: "m.batch.yaml")
    let manifest = try loaded("m.batch.yaml", in: location, url: url).manifest
    // What the loader accepts, the JSON Schema accepts, too.
    if !yaml.hasPrefix("{"), yaml.utf8.count < 20_000 {
      let errors = schema.errors(
        of: try YAMLValues.value(of: Array(yaml.utf8), file: "m.batch.yaml"))
      guard errors.isEmpty else { throw SchemaErrors(errors: errors) }
    }
    return manifest
  }

  /// A manifest of a file, with the warnings about it.
  static func loaded(
    _ name: String, in location: Place, url: String? = nil
  ) throws -> ManifestLoader.Loaded {
    try ManifestLoader.load(
      path: location.file(name), registry: .builtIn,
      environment: PipelineFileEnvironment(readFile: {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: $0)))
      }), endpoint: url ?? "http://127.0.0.1:9/")
  }

  /// Loads a manifest for a server of its own, and uses both.
  static func withServer(
    _ yaml: String, in location: Place,
    body: (Manifest, LiveDemoServer) async throws -> Void
  ) async throws {
    try await DemoServer.withServer { server in
      try await body(load(yaml, in: location, url: server.url), server)
    }
  }

  private static let schema = SchemaValidator(schema: Manifest.schema)

  private struct SchemaErrors: Error { var errors: [String] }

  /// What is wrong with a manifest, as `line:column code message | hint`.
  static func findings(_ yaml: String, in location: Place) throws -> [String] {
    do {
      _ = try load(yaml, in: location)
      return []
    } catch let found as PipelineDiagnostics {
      return found.all.map {
        "\($0.location.line):\($0.location.column) \($0.code.rawValue) \($0.message) | \($0.hint ?? "")"
      }
    }
  }

  /// Real sockets whose limits of time never end: a busy machine may exceed them, and a request would be sent again.
  static func network() -> AsyncHTTPTransport {
    AsyncHTTPTransport(clock: ServiceClock(TestClock()))
  }

  static func run(
    _ manifest: Manifest, _ options: RunOptions = RunOptions(), control: RunControl = RunControl(),
    transport: (any HTTPTransport)? = nil, store: CacheStore? = nil, stopAt: Int? = nil,
    clock: ServiceClock = ServiceClock(ContinuousClock()),
    services given: Services? = nil
  ) async throws -> RunSummary {
    let network = Self.network()
    let counting = stopAt.map { CountingTransport(network, stopAt: $0, control) }
    let services =
      given ?? Services(transport: transport ?? counting ?? network, store: store, clock: clock)
    do {
      let summary = try await BatchRun(manifest, options: options, services: services).run(control)
      await network.shutdown()
      return summary
    } catch {
      await network.shutdown()
      throw error
    }
  }

  static func run(
    _ yaml: String, in location: Place, url: String, _ options: RunOptions = RunOptions(),
    control: RunControl = RunControl()
  ) async throws -> RunSummary {
    try await run(load(yaml, in: location, url: url), options, control: control)
  }

  static var resuming: RunOptions {
    var options = RunOptions()
    options.resumes = true
    return options
  }

  static var repeating: RunOptions {
    var options = RunOptions()
    options.onlyFailed = true
    return options
  }

  static func shard(_ text: String) -> RunOptions {
    var options = RunOptions()
    options.shard = Shard(text)
    return options
  }

  /// A pipeline without a store and a timeout.
  static let pipeline = """
    version: 1
    endpoint: { url: "http://127.0.0.1:9/" }
    store: { kind: none }
    chain: [fetch, response-code, parse]
    """

  /// A pipeline that keeps its results in `cache.db`.
  static let cachingPipeline = """
    version: 1
    endpoint: { url: "http://127.0.0.1:9/" }
    store: { kind: sqlite, path: cache.db }
    chain: [fetch, response-code, parse, cache-write]
    """

  /// An operation over the rows of `ids.csv`, to which further lines may be added.
  static let users = """
      - id: users
        document: u.graphql
        foreach: { csv: ids.csv, key: "{{row.id}}" }
        variables: { id: "{{row.id}}" }
    """

  static let country = "query Country($code: ID!) { country(code: $code) { code name capital } }"
  static let user = "query User($id: ID!) { user(id: $id) { id login } }"

  /// A CSV file of ids from 1 to `count`.
  static func ids(_ count: Int) -> String {
    "id\n" + (1...count).map { "U_\($0)\n" }.joined()
  }
}

extension NestedConnection {
  /// The document that requests the next page of one object.
  var nextPage: String {
    get throws {
      let next = Continuation(connection: 0, holder: ["id": "1"])
      let pack = ContinuationPack(continuations: [next])
      return try documents.request(pack, variables: [:]).template.document
    }
  }
}

extension TaskID {
  /// Parses 32 hexadecimal digits.
  init?(text: String) {
    let digits = Array(text.utf8)
    guard digits.count == 32 else { return nil }
    let bytes = stride(from: 0, to: 32, by: 2).compactMap {
      UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
    }
    guard bytes.count == 16 else { return nil }
    self.init(bytes)
  }
}
