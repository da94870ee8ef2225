import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(10))) struct OAuth2Tests {
  private static let refresh =
    "grant: refresh-token, refresh_token: \"${env:REFRESH}\", store: \"${env:DIR}/keys/token.json\""
  private static let secret = "client_secret: \"${env:SECRET}\""
  private static let secrets = [
    "SECRET": "client secret+1", "REFRESH": "first-refresh-token",
  ]

  private func bench<Result: Sendable>(
    _ oauth2: String, _ server: TokenServer, more: String = "", retries: Int = 0,
    clock: ServiceClock = ServiceClock(ContinuousClock()),
    time: @escaping @Sendable () -> Double = { 784_111_777 },
    variables: [String: String] = secrets, body: @Sendable (Bench) async throws -> Result
  ) async throws -> Result {
    let setup = Bench.Setup(
      clock: clock, secondsSince1970: time, variables: variables, transport: server)
    let options =
      "oauth2: { token_url: \"\(TokenServer.url)\", client_id: \"my client\", \(oauth2) }\(more)"
    return try await Bench.with(
      TokenRefreshPluginTests.chain(options, retries: retries), url: "http://localhost/graphql",
      setup: setup, body: body)
  }

  // MARK: What is sent

  @Test func `client credentials, the secret in a field`() async throws {
    let server = TokenServer(.token())
    let options = Self.secret + ", scope: \"read write\", audience: api"
    try await bench(options, server) { bench in
      #expect(await bench.run().error == nil)
      #expect(
        await server.forms == [
          ["grant_type": "client_credentials", "scope": "read write", "audience": "api"]
        ])
      let field = try #require(await server.renewals.first?.head.headerFields[.authorization])
      let pair = Data(base64Encoded: String(field.dropFirst(6))).map {
        String(decoding: $0, as: UTF8.self)
      }
      #expect(field.hasPrefix("Basic ") && pair == "my%20client:client%20secret%2B1")
      #expect(await server.tokens == ["token-1"])
    }
  }

  @Test func `client credentials, the secret in the body`() async throws {
    let server = TokenServer(.token(expiresIn: nil))
    try await bench(Self.secret + ", client_auth: post", server) { bench in
      #expect(await bench.run().error == nil)
      #expect(
        await server.forms == [
          [
            "grant_type": "client_credentials", "client_id": "my client",
            "client_secret": "client secret+1",
          ]
        ])
      #expect(await server.renewals.first?.head.headerFields[.authorization] == nil)
    }
  }

  @Test func `entries with one credential and other clients have, and renew, tokens of their own`()
    async throws
  {
    let server = TokenServer(.token(), accepts: { _, issued in issued.count >= 4 })
    func options(_ client: String) -> String {
      "oauth2: { token_url: \"\(TokenServer.url)\", client_id: \(client) }"
    }
    let other = "- token-refresh: { \(options("other")), header: X-Other }"
    let chain = TokenRefreshPluginTests.chain(options("own"))
      .replacing("- cache-read", with: "- cache-read\n\(other)")
    try await Bench.with(chain, setup: Bench.Setup(transport: server)) { bench in
      #expect(await bench.run().error == nil)
      #expect(
        await server.forms.map { $0["client_id"] } == ["other", "own", "own", "other"])
    }
  }

  @Test(arguments: ["", "grant: refresh-token, refresh_token: \"${env:REFRESH}\", "])
  func `entries with one file have tokens of their own`(_ grant: String) async throws {
    let server = TokenServer(.token(refreshToken: "rotated"), accepts: { _, _ in true })
    func options(_ client: String) -> String {
      "oauth2: { token_url: \"\(TokenServer.url)\", client_id: \(client), \(grant)"
        + "store: \"${env:DIR}/token.json\" }"
    }
    let other = "- token-refresh: { \(options("other")), header: X-Other }"
    let chain = TokenRefreshPluginTests.chain(options("own"))
      .replacing("- cache-read", with: "- cache-read\n\(other)")
    let setup = Bench.Setup(variables: Self.secrets, transport: server)
    try await Bench.with(chain, setup: setup) { bench in
      #expect(await bench.run().error == nil)
      #expect(await server.forms.map { $0["client_id"] } == ["other", "own"])
      #expect(await !server.forms.contains { $0["refresh_token"] == "rotated" })
      #expect(await server.tokens == ["token-2"])
    }
  }

  @Test func `entries that differ in client_auth only have tokens of their own`() async throws {
    let server = TokenServer(.token(), accepts: { _, _ in true })
    let options = "token_url: \"\(TokenServer.url)\", client_id: c, \(Self.secret)"
    let other = "- token-refresh: { oauth2: { \(options), client_auth: post }, header: X-Other }"
    let chain = TokenRefreshPluginTests.chain("oauth2: { \(options) }")
      .replacing("- cache-read", with: "- cache-read\n\(other)")
    let setup = Bench.Setup(variables: Self.secrets, transport: server)
    try await Bench.with(chain, setup: setup) { bench in
      #expect(await bench.run().error == nil)
      #expect(await server.forms.map { $0["client_id"] } == ["c", nil])
      #expect(await server.tokens == ["token-2"])
    }
  }

  /// The tokens of a queue, in memory.
  private actor TokensInMemory: SharedTokens {
    private(set) var contents: [String: [UInt8]] = [:]

    func whileLocked<Value: Sendable>(
      _ name: String, _ work: nonisolated(nonsending) @Sendable () async throws -> Value
    ) async throws -> Value {
      try await work()
    }

    func read(_ name: String) -> (bytes: [UInt8], age: Duration)? {
      contents[name].map { (bytes: $0, age: Duration.zero) }
    }

    func write(_ bytes: [UInt8], of name: String) { contents[name] = bytes }
  }

  @Test func `entries whose URLs differ in the query only have tokens of their own in a queue`()
    async throws
  {
    let server = TokenServer(.token(), accepts: { _, _ in true })
    let shared = TokensInMemory()
    func entry(_ query: String, _ header: String) -> String {
      "- token-refresh: { oauth2: { token_url: \"\(TokenServer.url)?\(query)\", client_id: c, "
        + "\(Self.secret) }, header: \(header) }"
    }
    let chain = [
      "- max-retry", entry("tenant=a", "X-Other"), entry("tenant=b", "Authorization"), Bench.bare,
    ].joined(separator: "\n")
    let pipeline = try Bench.pipeline(
      chain, url: "http://localhost/", variables: Self.secrets)
    var services = Services(transport: server)
    services[SharedTokensKey.self] = shared
    let bench = Bench(
      runner: PipelineRunner(pipeline, services: services), store: nil, log: LogRecorder())
    #expect(await bench.run().error == nil)
    #expect(await server.tokens == ["token-2"])
    #expect(await shared.contents.count == 2)
  }

  // MARK: Refresh tokens

  @Test func `a rotated refresh token is kept, for its owner only, before its token is used`()
    async throws
  {
    let server = TokenServer(
      .token(refreshToken: "second-refresh-token"), .token(),
      accepts: { token, _ in token == "token-2" })
    try await bench(Self.refresh, server) { bench in
      #expect(await bench.run().error == nil)
      #expect(
        await server.forms.map { $0["refresh_token"] } == [
          "first-refresh-token", "second-refresh-token",
        ])
      let kept = try JSONValue(parsing: bench.text(of: "keys/token.json"))
      #expect(kept["access_token"] == "token-2")
      #expect(kept["refresh_token"] == "second-refresh-token")
      #expect(try bench.permissions(of: "keys/token.json") == 0o600)
      #expect(try bench.permissions(of: "keys") == 0o700)
      #expect(!bench.log.everything.contains("refresh-token"))
    }
  }

  @Test func `an empty refresh token replaces no other one, also not from a file`() async throws {
    let server = TokenServer(
      .token(refreshToken: "second-refresh-token"), .token(refreshToken: ""),
      accepts: { token, _ in token == "token-2" })
    try await bench(Self.refresh, server) { bench in
      #expect(await bench.run().error == nil)
      let kept = try JSONValue(parsing: bench.text(of: "keys/token.json"))
      #expect(kept["access_token"] == "token-2")
      #expect(kept["refresh_token"] == "second-refresh-token")
    }
    let next = TokenServer(.token())
    try await bench(Self.refresh.replacing("/keys/", with: "/"), next) { bench in
      let origin = DocumentHash.sha256("first-refresh-token")
      try bench.write(
        #"{"version":1,"refresh_token":"","origin":"\#(origin)"}"#, to: "token.json")
      #expect(await bench.run().error == nil)
      #expect(await next.forms.map { $0["refresh_token"] } == ["first-refresh-token"])
    }
  }

  @Test func `a token that cannot be kept is not used, and is kept at the next try`() async throws {
    let server = TokenServer(.token(refreshToken: "second-refresh-token"))
    let options = Self.refresh.replacing("/keys/", with: "/locked/")
    try await bench(options, server) { bench in
      let folder = bench.folder + "/locked"
      // A folder has the name of the file, so that nothing can be renamed to it.
      try FileManager.default.createDirectory(
        atPath: folder + "/token.json/x", withIntermediateDirectories: true)
      let outcome = await bench.run()
      #expect(outcome.code == .tokenRenewalFailed, "\(outcome.message)")
      #expect(await server.requests.isEmpty)
      try FileManager.default.removeItem(atPath: folder + "/token.json")
      #expect(await bench.run().error == nil)
    }
  }

  @Test func `the file of a killed writer is ignored, and a new sign-in overrides the file`()
    async throws
  {
    let server = TokenServer(.token(refreshToken: "other-refresh-token"))
    let old = DocumentHash.sha256("an-older-sign-in")
    try await bench(Self.refresh, server) { bench in
      try bench.write("{\"version\":1,\"access_tok", to: "keys/token.json.17-4.part")
      try bench.write(
        #"{"version":1,"access_token":"stale","refresh_token":"r0","origin":"\#(old)"}"#,
        to: "keys/token.json")
      #expect(await bench.run().error == nil)
      #expect(await server.forms.map { $0["refresh_token"] } == ["first-refresh-token"])
      #expect(await server.tokens == ["token-1"])
    }
  }

  @Test func `a token that HTTP cannot send is not kept`() async throws {
    let server = TokenServer(
      .response(200, #"{"access_token":"a\r\nX-Evil: b","expires_in":3600}"#), .token())
    try await bench(Self.refresh, server) { bench in
      let outcome = await bench.run()
      #expect(outcome.code == .tokenRenewalFailed)
      #expect(
        outcome.message.contains("issued a token with characters that HTTP forbids"),
        "\(outcome.message)")
      #expect(await server.requests.isEmpty)
      #expect(!FileManager.default.fileExists(atPath: bench.folder + "/keys/token.json"))
      #expect(await bench.run().error == nil)
      #expect(await server.tokens == ["token-1"])
    }
  }

  @Test func `a file of something else is not overwritten`() async throws {
    let server = TokenServer(.token())
    try await bench(Self.refresh.replacing("/keys/", with: "/"), server) { bench in
      try bench.write("my notes", to: "token.json")
      let outcome = await bench.run()
      #expect(outcome.message.contains("is not a token file"), "\(outcome.message)")
      #expect(bench.text(of: "token.json") == "my notes")
      #expect(await server.requests.isEmpty)
      #expect(await server.renewals.isEmpty)
    }
  }

  // MARK: Time

  @Test func `a token is renewed before it ends, by the clock that does not jump`() async throws {
    let clock = TestClock()
    let server = TokenServer(.token(expiresIn: 600), accepts: { _, _ in true })
    let wall = Wall()
    try await bench(
      Self.secret, server, clock: ServiceClock(clock),
      time: { wall.seconds }
    ) { bench in
      for (passed, jump, renewals) in [
        (0, 0.0, 1), (500, 0, 1), (0, 1e8, 1), (0, -2e8, 1), (39, 0, 1), (2, 0, 2), (0, 0, 2),
      ] {
        clock.advance(by: .seconds(passed))
        wall.seconds += jump
        #expect(await bench.run(policy: .networkOnly).error == nil)
        #expect(await server.renewals.count == renewals, "\(passed) \(jump)")
      }
    }
  }

  @Test func `a token that may end during an upload is renewed before it`() async throws {
    let clock = TestClock()
    let server = TokenServer(.token(expiresIn: 600), accepts: { _, _ in true })
    try await bench(Self.secret, server, clock: ServiceClock(clock)) {
      bench in
      let operation = try PreparedOperation(
        document: Document(parsing: "query Q($f: Upload) { user(id: \"1\") { id name } }"),
        uploads: ["f"])
      // 100 s at 1 MiB per second, in addition to the 60 s of `skew`.
      let upload = try Upload(bytes: [UInt8](repeating: 0, count: 100 << 20))
      for (passed, uploads, renewals) in [
        (0, ["f": upload], 1), (430, ["f": upload], 1), (20, [:], 1), (0, ["f": upload], 2),
      ] {
        clock.advance(by: .seconds(passed))
        let request = GraphQLRequest(operation, cachePolicy: .networkOnly, uploads: uploads)
        #expect(await bench.outcome(of: request).error == nil)
        #expect(await server.renewals.count == renewals, "\(passed)")
      }
    }
  }

  @Test func `a token that lives shorter than the skew is used for half its life`() async throws {
    let clock = TestClock()
    let server = TokenServer(.token(expiresIn: 10), accepts: { _, _ in true })
    try await bench(Self.secret, server, clock: ServiceClock(clock)) {
      bench in
      for renewals in [1, 1, 2] {
        #expect(await bench.run(policy: .networkOnly).error == nil)
        #expect(await server.renewals.count == renewals)
        clock.advance(by: .seconds(3))
      }
    }
  }

  /// The file says: issued at 784,111,777, good for an hour.
  @Test(arguments: [
    (784_111_777.0, 0), (784_114_777.0, 0), (784_115_367.0, 1), (1_784_111_777.0, 1),
    // Set back: no more than its life can be left.
    (784_000_000.0, 0),
  ]) func `a kept token is used by another process as long as it is good`(
    _ time: Double, _ renewals: Int
  ) async throws {
    let server = TokenServer(.token(), accepts: { _, _ in true })
    try await bench(Self.refresh.replacing("/keys/", with: "/"), server, time: { time }) { bench in
      let origin = DocumentHash.sha256("first-refresh-token")
      try bench.write(
        """
        {"version":1,"access_token":"kept","issued_at":784111777,"lifetime":3600,
         "refresh_token":"r1","origin":"\(origin)"}
        """, to: "token.json")
      #expect(await bench.run().error == nil)
      #expect(await server.renewals.count == renewals)
      #expect(await server.tokens == [renewals == 0 ? "kept" : "token-1"])
    }
  }

  @Test(arguments: ["-1e300", "1e300"])
  func `a kept token with an impossible lifetime is no failure`(_ lifetime: String) async throws {
    let server = TokenServer(.token(), accepts: { _, _ in true })
    try await bench(Self.refresh.replacing("/keys/", with: "/"), server) { bench in
      let origin = DocumentHash.sha256("first-refresh-token")
      try bench.write(
        """
        {"version":1,"access_token":"kept","issued_at":784111777,"lifetime":\(lifetime),
         "refresh_token":"r1","origin":"\(origin)"}
        """, to: "token.json")
      #expect(await bench.run().error == nil)
      #expect(await server.renewals.count == (lifetime == "-1e300" ? 1 : 0))
    }
  }

  private final class Wall: @unchecked Sendable {
    // Unchecked: moved while nothing runs.
    var seconds = 784_111_777.0
  }

  // MARK: Failures

  @Test(arguments: [
    (400, #"{"error":"invalid_grant","error_description":"expired"}"#, "invalid_grant, expired"),
    (401, #"{"error":"invalid_client"}"#, "check client_id, client_secret and client_auth"),
    (400, #"{"error":"invalid_scope","error_description":"client secret+1"}"#, "•••"),
    (404, "<h1>nothing here</h1>", "404"),
    (200, "{}", "without an access_token"),
    // As GitHub does.
    (
      200, #"{"error":"bad_refresh_token","error_description":"expired"}"#,
      ": bad_refresh_token, expired; sign in again"
    ),
    (200, #"{"error":"slow_down","error_description":"client secret+1"}"#, "slow_down, •••"),
    (200, #"{"access_token":"x","token_type":"mac"}"#, "of type mac"),
  ]) func `a refusal is reported in the terms of the token endpoint, and nothing is sent`(
    _ status: Int, _ body: String, _ message: String
  ) async throws {
    let server = TokenServer(.response(status, body))
    try await bench(Self.secret, server, retries: 3) { bench in
      let outcome = await bench.run()
      #expect(outcome.code == .tokenRenewalFailed)
      #expect(outcome.message.contains(message), "\(outcome.message)")
      #expect(!outcome.message.contains("client secret+1"))
      #expect(await server.renewals.count == 1)
      #expect(await server.requests.isEmpty)
      #expect(await bench.dump() == "")
    }
  }

  @Test func `a failing token endpoint is retried by max-retry, and then reported`() async throws {
    for answer in [TokenServer.Answer.response(503, ""), .failure(.connectionFailed)] {
      let server = TokenServer(answer)
      try await bench(Self.secret, server, retries: 2) { bench in
        let outcome = await bench.run()
        #expect(outcome.message.contains("could not be renewed"), "\(outcome.message)")
        #expect(await server.renewals.count == 3)
        #expect(await server.requests.isEmpty)
      }
    }
  }

  @Test func `a renewal that hangs ends at its time, and nothing is sent`() async throws {
    let server = TokenServer(.silence)
    try await bench(
      Self.secret, server, more: ", timeout: 5s",
      clock: ServiceClock(TestClock.jumping())
    ) { bench in
      let outcome = await bench.run()
      #expect(outcome.code == .timedOut)
      #expect(outcome.message.contains("no token within 5s"), "\(outcome.message)")
      #expect(await server.requests.isEmpty)
    }
  }
}
