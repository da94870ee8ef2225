import Foundation
import GQLRunCache
import GQLRunDemoServer
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes

/// A chain read from YAML with a real transport and a real store.
struct Bench: Sendable {
  /// What the chain sends in a header field, and what must be seen nowhere.
  static let canary = "canary-7f3a91"
  /// The chain without options.
  static let bare = """
    - fetch
    - response-code
    - parse
    - cache-write
    """
  /// The chain without options, with every line and field logged.
  static let plain = "- logging: { headers: true }\n" + bare
  /// The plain chain below retries that have no delay.
  static let retrying = "- max-retry: { backoff: { base: 0s } }\n" + plain

  /// The plain chain with options of `fetch`.
  static func fetching(_ options: String) -> String {
    plain.replacing("- fetch", with: "- fetch: { \(options) }")
  }

  static let user = #"query User { user(id: "1") { id name } }"#
  /// What comes of ``user`` when the answer is ``HTTPText/user``.
  static let answered = #"{"data":{"user":{"id":"1","name":"Ada"}}}"#
  static let rename = #"mutation Rename { rename(id: "1") { name } }"#

  let runner: PipelineRunner
  let store: CacheStore?
  let log: LogRecorder
  /// A folder of its own, `${env:DIR}` in the chain.
  var folder = ""

  enum StoreKind: Sendable, CaseIterable {
    case memory, sqlite
  }

  struct Setup: Sendable {
    var store: StoreKind? = .memory
    /// The clock of the plugins.
    var clock = ServiceClock(ContinuousClock())
    /// The clock of the transport; `nil` is one that does not advance, so that no time limit ends on a busy machine.
    var networkClock: ServiceClock?
    var secondsSince1970: @Sendable () -> Double = { 784_111_777 }
    var random: @Sendable () -> Double = { 0.5 }
    /// What the file and plugins find in the environment.
    var variables: [String: String] = [:]
    /// What the run knows to be secret.
    var secrets = KnownSecrets()
    /// Replaces the network.
    var transport: (any HTTPTransport)?
    /// Changes the chain that was read.
    var change: @Sendable (inout Pipeline) -> Void = { _ in }
  }

  /// Assembles a chain and uses it; connections and files are gone afterwards.
  static func with<Result: Sendable>(
    _ chain: String = plain, url: String = "http://localhost/", setup: Setup = Setup(),
    body: @Sendable (Bench) async throws -> Result
  ) async throws -> Result {
    let folder = NSTemporaryDirectory() + "plugins-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var pipeline = try pipeline(
      chain, url: url, variables: setup.variables.merging(["DIR": folder]) { $1 })
    setup.change(&pipeline)
    let store: CacheStore? =
      switch setup.store {
      case .memory: .memory()
      case .sqlite: try CacheStore.sqlite(path: folder + "/cache.db")
      case nil: nil
      }
    let sockets = Sockets(setup.networkClock)
    let log = LogRecorder()
    var services = Services(
      transport: setup.transport ?? sockets, store: store,
      clock: setup.clock, secondsSince1970: setup.secondsSince1970, random: setup.random,
      logger: log.logger)
    let variables = setup.variables
    services.variable = { variables[$0] }
    services.secrets = setup.secrets
    let bench = Bench(
      runner: PipelineRunner(pipeline, services: services), store: store, log: log, folder: folder)
    do {
      let result = try await body(bench)
      await sockets.base.shutdown()
      try store?.close()
      return result
    } catch {
      await sockets.base.shutdown()
      try? store?.close()
      throw error
    }
  }

  /// Assembles a chain for a server with scripts, one for each connection, and uses both.
  ///
  /// - Parameter isSocket: Whether all operations are sent over WebSocket.
  static func withServer<Result: Sendable>(
    _ scripts: [RawServer.Step]..., chain: String = plain, isSocket: Bool = false,
    setup: Setup = Setup(), body: @Sendable @escaping (Bench, RawServer) async throws -> Result
  ) async throws -> Result {
    try await RawServer.withServer(scripts, tls: nil) { server in
      try await with(chain, url: isSocket ? server.socketURL : server.url, setup: setup) { bench in
        try await body(bench, server)
      }
    }
  }

  /// Assembles a chain for a demo server, and uses both.
  static func withDemoServer<Result: Sendable>(
    _ chain: String = plain, setup: Setup = Setup(),
    body: @Sendable (Bench, LiveDemoServer) async throws -> Result
  ) async throws -> Result {
    try await DemoServer.withServer { server in
      try await with(chain, url: server.url, setup: setup) { try await body($0, server) }
    }
  }

  static func pipeline(
    _ chain: String, url: String, variables: [String: String] = [:]
  ) throws -> Pipeline {
    let lines = chain.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n")
    let yaml = """
      version: 1
      endpoint: { url: "${env:URL}", headers: { Authorization: "Bearer ${env:TOKEN}" } }
      store: { kind: memory }
      chain:
      \(lines)
      """
    return try load(yaml, variables: variables.merging(["URL": url, "TOKEN": canary]) { $1 })
  }

  static func load(_ yaml: String, variables: [String: String] = [:]) throws -> Pipeline {
    try PipelineFile.load(
      Array(yaml.utf8), file: "test.pipeline.yaml", registry: .builtIn,
      environment: PipelineFileEnvironment(variable: { variables[$0] })
    ).pipeline
  }

  /// The text of a file in the folder; empty when there is none.
  func text(of file: String) -> String {
    (try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)) ?? ""
  }

  /// Writes a file of the folder, in folders that are created for it.
  func write(_ text: String, to file: String) throws {
    let url = URL(fileURLWithPath: "\(folder)/\(file)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  /// The permissions of a file in the folder.
  func permissions(of file: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: "\(folder)/\(file)")[.posixPermissions] as? Int
  }

  /// A bench with the services of this one and another chain.
  func using(_ chain: String, url: String) throws -> Bench {
    Bench(
      runner: PipelineRunner(try Self.pipeline(chain, url: url), services: runner.services),
      store: store, log: log, folder: folder)
  }

  /// What is wrong with a chain, one message per finding.
  static func findings(_ chain: String) -> [String] {
    do {
      _ = try pipeline(chain, url: "http://localhost/")
      return []
    } catch let diagnostics as PipelineDiagnostics {
      return diagnostics.all.map { finding in
        ([finding.message, finding.hint ?? ""] + finding.notes.map(\.text)).joined(separator: " ")
      }
    } catch {
      return ["\(error)"]
    }
  }

  static func request(
    _ document: String = user, policy: CachePolicy? = nil
  ) throws -> GraphQLRequest {
    GraphQLRequest(
      try PreparedOperation(document: Document(parsing: document)), cachePolicy: policy)
  }

  /// Runs an operation to its end.
  func run(
    _ document: String = user, policy: CachePolicy? = nil,
    change: (inout GraphQLRequest) -> Void = { _ in }
  ) async -> Outcome {
    do {
      var request = try Self.request(document, policy: policy)
      change(&request)
      return await outcome(of: request)
    } catch {
      return Outcome(error: error)
    }
  }

  func outcome(of request: GraphQLRequest) async -> Outcome {
    var outcome = Outcome()
    do {
      for try await response in runner.execute(request) { outcome.add(response) }
    } catch {
      outcome.error = error
    }
    return outcome
  }

  /// The store as text.
  func dump() async -> String {
    let lines = Lines()
    do {
      try await store?.dump { lines.add($0) }
    } catch {
      return "\(error)"
    }
    return lines.text
  }

  private final class Lines: @unchecked Sendable {
    // Unchecked: a dump is written by one task, and read when it has ended.
    private var bytes: [UInt8] = []

    func add(_ piece: UnsafeRawBufferPointer) { bytes += piece }
    var text: String { String(decoding: bytes, as: UTF8.self) }
  }
}

/// The transport of a bench.
///
/// Connecting, and keeping an unused connection, have limits in real time whatever the clock is. A busy machine exceeds
/// the default ones, so that a connection would be given up and opened again. Without a clock, they are an hour.
private struct Sockets: HTTPTransport {
  let base: AsyncHTTPTransport
  private let hasClock: Bool

  init(_ clock: ServiceClock?) {
    base = AsyncHTTPTransport(clock: clock ?? ServiceClock(TestClock()))
    hasClock = clock != nil
  }

  var executors: [any TaskExecutor] { base.executors }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    guard !hasClock else { return try await base.send(request, limits: limits) }
    let (defaults, hour) = (HTTPLimits(), Duration.seconds(3_600))
    var limits = limits
    if limits.connect == defaults.connect { limits.connect = hour }
    if limits.connection.keepAlive == defaults.connection.keepAlive {
      limits.connection.keepAlive = hour
    }
    return try await base.send(request, limits: limits)
  }
}

/// What came of an operation.
struct Outcome: Sendable {
  struct Result: Sendable, Equatable {
    var source: GraphQLResponse.Source
    /// The whole result, `{"data":…}`.
    var text: String
    var errors: [GraphQLError]
    var status: Int?
    var attempt: Int
    var staleness: Staleness?
    var gap: Double?
    /// `succeeded`, or why the query that fetches what was missed failed.
    var catchUp: String?
    var isCatchUp = false
  }

  var results: [Result] = []
  var error: (any Error)?
  /// The labels of pending fragments, and labels and texts of delivered ones, for each result.
  var pending: [[String]] = []
  var delivered: [[String]] = []
  /// Whether each result has a summary of a commit.
  var hasSummary: [Bool] = []

  mutating func add(_ response: GraphQLResponse) {
    pending.append(response.pending.map { $0.label ?? "" })
    hasSummary.append(response.writeSummary != nil)
    delivered.append(
      (response.part?.delivered ?? []).map { fragment in
        "\(fragment.label ?? "") "
          + String(decoding: (try? fragment.data?.bytes()) ?? [], as: UTF8.self)
      })
    var bytes: [UInt8] = []
    try? response.forEachChunk { bytes += $0 }
    results.append(
      Result(
        source: response.source, text: String(decoding: bytes, as: UTF8.self),
        errors: response.errors, status: response.http?.status.code, attempt: response.attempt,
        staleness: response.staleness, gap: response.gap?.since,
        catchUp: response.gap?.catchUp.map { outcome in
          if case .failed(let error) = outcome { "\(error)" } else { "succeeded" }
        }, isCatchUp: response.isCatchUp))
  }

  var failure: ChainError? { error as? ChainError }
  var code: ChainError.Code? { failure?.code }
  var message: String { failure.map { "\($0)" } ?? error.map { "\($0)" } ?? "" }
  var sources: [GraphQLResponse.Source] { results.map(\.source) }
  var texts: [String] { results.map(\.text) }
}

extension Bench {
  /// Puts the answer to ``user`` into the store, with another name than servers give.
  func prime(_ name: String = "Old") async throws {
    let operation = try PreparedOperation(document: Document(parsing: Self.user))
    let normalizer = try ResponseNormalizer(operation, store: store)
    let text = HTTPText.user.replacingOccurrences(of: "Ada", with: name)
    try Array(text.utf8).withUnsafeBytes { try normalizer.feed($0) }
    _ = try await normalizer.finish().write?.commit()
  }
}
