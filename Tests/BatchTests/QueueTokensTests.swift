import Foundation
import GQLRunPipeline
import GQLRunPostgres
import HTTPTypes
import Testing

@testable import GQLRunBatch

@Suite("Tokens of a queue", .needsPostgres, .timeLimit(.minutes(10)))
struct QueueTokensTests {
  private static func manifest(
    _ bench: QueueBench, _ count: Int, _ grant: String
  ) throws -> Manifest {
    try bench.location.write(
      """
      version: 1
      endpoint: { url: http://127.0.0.1:9/ }
      store: { kind: none }
      chain:
        - max-retry
        - token-refresh: { oauth2: { token_url: "http://127.0.0.1:9/token", client_id: me, \(grant) } }
        - fetch
        - response-code
        - parse
      """, to: "p.pipeline.yaml")
    try bench.location.write("first-secret", to: "secret.txt")
    _ = try bench.manifest(count)
    return try Bench.load(
      "pipeline: p.pipeline.yaml\n" + bench.location.text("m.batch.yaml"), in: bench.location)
  }

  @Test(
    "one worker renews a token, and all use it: also a refresh token that is valid once",
    arguments: [
      #"client_secret: "${file:secret.txt}""#,
      #"grant: refresh-token, refresh_token: "${file:secret.txt}", store: t.json"#,
    ])
  func renewals(_ grant: String) async throws {
    let bench = try QueueBench()
    let manifest = try Self.manifest(bench, 90, grant)
    try bench.begin(manifest)
    let server = RotatingServer(revokedAfter: [30])
    try await bench.work(manifest, workers: 3, transport: server)
    #expect(try bench.counts() == ["done": 90])
    #expect(await server.renewals == 2)
    #expect(await server.refusedRenewals == 0)
    // A later run uses the token that is stored.
    _ = try BatchQueue(manifest).initialize(beginsNew: true)
    _ = try BatchQueue(manifest).enqueue()
    try await bench.work(manifest, workers: 2, transport: server)
    #expect(try bench.counts() == ["done": 180])
    #expect(await server.renewals == 2)
    // The local file of a worker stays as it was.
    #expect(!FileManager.default.fileExists(atPath: bench.location.file("t.json")))
    let rows = try bench.connection.run("SELECT name, contents FROM gq_token")
    #expect(rows.count == 1)
    let stored = String(decoding: rows.bytes(0, 1), as: UTF8.self) + rows.text(0, 0)
    for secret in ["access-", "refresh-", "first-secret"] {
      #expect(!stored.contains(secret))
    }
  }

  @Test("a renewal that was cut off from the database stores its tokens on a new connection")
  func lostConnection() async throws {
    let (bench, _) = try QueueBench.begun(1)
    let tokens = QueueTokens(QueueDatabase(url: bench.url, patience: .seconds(60)))
    try await tokens.whileLocked("a") { [url = bench.url] in
      let before = try await tokens.read("a")?.bytes
      #expect(before == nil)
      // The server ends all other connections, among them that with the lock.
      try PostgresConnection(url).run(
        "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation "
          + "WHERE c.oid = 'gq_token'::regclass AND l.pid <> pg_backend_pid()")
      try await tokens.write([1, 2, 3], of: "a")
    }
    let other = QueueTokens(QueueDatabase(url: bench.url))
    let found = try await other.whileLocked("a") { try await other.read("a")?.bytes }
    #expect(found == [1, 2, 3])
  }
}

/// An OAuth 2 server that replaces the refresh token at each renewal, and a GraphQL server that accepts the last access
/// token only.
private actor RotatingServer: HTTPTransport {
  /// The numbers of requests after which an access token is not accepted any more, one after the other.
  private var lives: [Int]
  private var left: Int
  private var refreshToken = "first-secret"
  private(set) var renewals = 0
  /// Renewals with a refresh token that was used before.
  private(set) var refusedRenewals = 0

  init(revokedAfter lives: [Int]) {
    self.lives = lives
    left = 0
  }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    guard request.head.path == "/token" else {
      guard left > 0, request.head.headerFields[.authorization] == "Bearer access-\(renewals)"
      else {
        return .response(401, "")
      }
      left -= 1
      return .response()
    }
    let form = String(decoding: request.body ?? [], as: UTF8.self)
    if form.contains("grant_type=refresh_token"), !form.contains("refresh_token=\(refreshToken)") {
      refusedRenewals += 1
      return .response(400, #"{"error":"invalid_grant"}"#)
    }
    renewals += 1
    refreshToken = "refresh-\(renewals)"
    left = lives.isEmpty ? .max : lives.removeFirst()
    return .response(
      200,
      #"{"access_token":"access-\#(renewals)","token_type":"Bearer","expires_in":3600,"refresh_token":"\#(refreshToken)"}"#
    )
  }
}
