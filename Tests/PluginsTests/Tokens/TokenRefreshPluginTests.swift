import Foundation
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(10))) struct TokenRefreshPluginTests {
  static func chain(_ options: String, retries: Int = 3) -> String {
    """
    - max-retry: { max_retries: \(retries), backoff: { base: 0s } }
    - logging: { headers: true }
    - cache-read
    - token-refresh: { \(options) }
    \(Bench.bare)
    """
  }

  private static let oauth2 = "oauth2: { token_url: \"\(TokenServer.url)\", client_id: c }"

  private func bench<Result: Sendable>(
    _ options: String, _ transport: any HTTPTransport, variables: [String: String] = [:],
    retries: Int = 3, body: @Sendable (Bench) async throws -> Result
  ) async throws -> Result {
    let setup = Bench.Setup(
      clock: ServiceClock(TestClock()), variables: variables, transport: transport)
    return try await Bench.with(
      Self.chain(options, retries: retries), url: "http://localhost/graphql", setup: setup,
      body: body)
  }

  private func tokens(_ network: FakeNetwork) async -> [String] {
    await network.requests.map { $0.head.headerFields[.authorization] ?? "none" }
  }

  // MARK: Environment and file

  @Test(arguments: [
    ("env: MY_TOKEN", ["MY_TOKEN": "t1"], "Bearer t1"),
    ("credential: my-api", ["MY_API_TOKEN": "t2"], "Bearer t2"),
    ("env: T, scheme: token", ["T": "t3"], "token t3"),
    ("env: T, scheme: \"\"", ["T": "t4"], "t4"),
  ]) func `a token comes from the environment`(
    _ options: String, _ variables: [String: String], _ sent: String
  ) async throws {
    let network = FakeNetwork(.ok)
    try await bench(options, network, variables: variables) { bench in
      #expect(await bench.run().error == nil)
      #expect(await tokens(network) == [sent])
    }
  }

  @Test(arguments: [
    ("env: NOT_SET", "the variable NOT_SET is not set"),
    ("file: \"${env:DIR}/none\"", "there is no file"),
    ("command: \"exit 3\"", "the token command failed"),
    ("command: \"true\"", "printed nothing"),
    ("command: \"echo two words\"", "several words"),
    ("command: \"echo '{'\"", "begins like JSON and is not valid JSON"),
    ("command: \"echo '{}'\"", "without token or access_token"),
    ("command: \"printf 'a\\\\001b'\"", "characters that HTTP forbids"),
  ]) func `without a token nothing is sent`(_ options: String, _ message: String) async throws {
    let network = FakeNetwork(.ok)
    try await bench(options, network) { bench in
      let outcome = await bench.run()
      #expect(
        outcome.code?.rawValue == "missing_token" || outcome.code == .tokenRenewalFailed)
      #expect(outcome.failure?.delivery == .notSent)
      #expect(outcome.message.contains(message), "\(outcome.message)")
      #expect(await network.count == 0)
    }
  }

  @Test func `a refused token without renewal is reported once, and the cache stays`() async throws
  {
    let network = FakeNetwork(.response(401, body: "who is secret-token-1?"))
    try await bench("env: T", network, variables: ["T": "secret-token-1"]) { bench in
      let outcome = await bench.run()
      #expect(outcome.failure?.http?.status == 401)
      #expect(outcome.message.contains("the variable T has no other token"), "\(outcome.message)")
      #expect(await network.count == 1)
      #expect(await bench.dump() == "")
      // Only the server repeats it.
      #expect(!outcome.message.contains("secret-token-1"))
      #expect(!bench.log.everything.contains("secret-token-1"))
    }
  }

  @Test func `a file is read for every attempt, so that changes of it are used`()
    async throws
  {
    let file = NSTemporaryDirectory() + "token-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: file) }
    // Some editors begin a file with a byte order mark.
    try Data("\u{FEFF} old \n\n".utf8).write(to: URL(fileURLWithPath: file))
    let network = FakeNetwork(
      [.response(401), .ok],
      before: { try? Data("new".utf8).write(to: URL(fileURLWithPath: file)) })
    try await bench("file: \"\(file)\"", network) { bench in
      #expect(await bench.run().error == nil)
      #expect(await tokens(network) == ["Bearer old", "Bearer new"])
    }
  }

  @Test(arguments: [
    ("file: \"PIPE\"", "is a pipe, and a token is read for every request"),
    (
      "oauth2: { token_url: \"http://localhost/token\", client_id: c, store: \"PIPE\" }",
      "is not a token file"
    ),
  ])
  func `a pipe is no token file, and is not waited for`(
    _ options: String, _ message: String
  ) async throws {
    let pipe = NSTemporaryDirectory() + "token-\(UUID().uuidString)"
    defer {
      for file in [pipe, pipe + ".lock"] { try? FileManager.default.removeItem(atPath: file) }
    }
    #expect(mkfifo(pipe, 0o600) == 0)
    let network = FakeNetwork(.ok)
    try await bench(options.replacing("PIPE", with: pipe), network) { bench in
      let outcome = await bench.run()
      #expect(outcome.message.contains(message), "\(outcome.message)")
      #expect(await network.count == 0)
    }
  }

  // MARK: Commands

  private static let counting =
    "echo x >> ${env:DIR}/count; "
    + "printf '{\\\"kind\\\":\\\"ExecCredential\\\",\\\"status\\\":{\\\"token\\\":\\\"t%s\\\"%s}}' "
    + "$(wc -l < ${env:DIR}/count) "

  @Test func `a command prints a token as kubectl's plugins do, and is run again when refused`()
    async throws
  {
    let network = FakeNetwork(.ok, .response(401), .ok)
    try await bench("command: \"\(Self.counting) ''\"", network) { bench in
      for _ in 0..<3 { #expect(await bench.run(policy: .networkOnly).error == nil) }
      #expect(await tokens(network) == ["Bearer t1", "Bearer t1", "Bearer t2", "Bearer t2"])
    }
  }

  @Test(arguments: ["t1", #"{\"token\": \"t1\"}"#])
  func `a byte order mark is no part of what a command prints`(_ output: String) async throws {
    let network = FakeNetwork(.ok)
    try await bench(#"command: "printf '\\357\\273\\277\#(output)\\n'""#, network) { bench in
      #expect(await bench.run().error == nil)
      #expect(await tokens(network) == ["Bearer t1"])
    }
  }

  @Test func `entries with one credential and other sources have tokens of their own`()
    async throws
  {
    let network = FakeNetwork(.ok)
    let other = "- token-refresh: { command: \"echo b\", header: X-Other, scheme: \"\" }"
    let chain = Self.chain("command: \"echo a\"")
      .replacing("- cache-read", with: "- cache-read\n\(other)")
    try await Bench.with(chain, setup: Bench.Setup(transport: network)) { bench in
      #expect(await bench.run().error == nil)
      #expect(await tokens(network) == ["Bearer a"])
      let name = try #require(HTTPField.Name("X-Other"))
      #expect(await network.requests.map { $0.head.headerFields[name] } == ["b"])
    }
  }

  /// The clock of these tests says 1994-11-06T08:49:37Z.
  @Test(arguments: [
    // Good for an hour: kept.
    ("1994-11-06T09:49:37Z", 1), ("1994-11-06T09:49:37.5Z", 1),
    // Shorter than twice the skew: good for half of its life.
    ("1994-11-06T08:50:37Z", 1),
    // Ended by our clock when it was new: the clocks differ, and the server is the one to say.
    ("1994-11-06T08:00:00Z", 1),
  ]) func `the end that a command tells is heeded, as far as the clocks agree`(
    _ time: String, _ runs: Int
  ) async throws {
    let network = FakeNetwork(.ok)
    let command = Self.counting + "',\\\"expirationTimestamp\\\":\\\"\(time)\\\"'"
    try await bench("command: \"\(command)\"", network) { bench in
      for _ in 0..<2 { #expect(await bench.run(policy: .networkOnly).error == nil) }
      #expect(bench.text(of: "count").count == runs * 2)
    }
  }

  @Test(arguments: ["3600", "\\\"3600\\\""])
  func `the lifetime that a command tells is heeded, also as text`(
    _ lifetime: String
  ) async throws {
    let (network, clock) = (FakeNetwork(.ok), TestClock())
    let command =
      "echo x >> ${env:DIR}/count; printf '{\\\"token\\\":\\\"t\\\",\\\"expires_in\\\":\(lifetime)}'"
    try await Bench.with(
      Self.chain("command: \"\(command)\""), url: "http://localhost/graphql",
      setup: Bench.Setup(clock: ServiceClock(clock), transport: network)
    ) { bench in
      for _ in 0..<2 { #expect(await bench.run(policy: .networkOnly).error == nil) }
      #expect(bench.text(of: "count") == "x\n")
      clock.advance(by: .seconds(3_590))
      #expect(await bench.run(policy: .networkOnly).error == nil)
      #expect(bench.text(of: "count") == "x\nx\n")
    }
  }

  // MARK: Which answers mean that a token was refused

  static let unauthenticated =
    #"{"errors":[{"message":"no","extensions":{"code":"UNAUTHENTICATED"}}]}"#

  @Test(arguments: [
    (200, unauthenticated, 2), (401, "", 2), (400, unauthenticated, 2), (403, "", 1),
    // As a server refuses an HTTP batch.
    (400, "[\(unauthenticated)]", 2),
    (200, #"{"errors":[{"message":"no","extensions":{"code":"FORBIDDEN"}}]}"#, 1),
  ]) func `a 401 and the code UNAUTHENTICATED renew the token, once`(
    _ status: Int, _ body: String, _ count: Int
  ) async throws {
    let server = TokenServer(
      .token(), refusal: (status, body), accepts: { token, _ in token == "token-2" })
    try await bench(Self.oauth2, server, retries: 0) { bench in
      let outcome = await bench.run()
      #expect(await server.requests.count == count)
      #expect(await server.renewals.count == count)
      #expect((outcome.results.first?.errors == [] && outcome.error == nil) == (count == 2))
    }
  }

  /// Such a body is a response, with any status.
  @Test(arguments: [
    (401, #"{"errors":[{"message":"no"}]}"#, Bench.rename, 2),
    (401, #"{"data":{"rename":{"name":"a"}},"errors":[{"message":"no"}]}"#, Bench.rename, 1),
    (403, #"{"errors":[{"message":"no"}]}"#, Bench.rename, 1),
  ]) func `a 401 of GraphQL's own type renews the token, as any other`(
    _ status: Int, _ body: String, _ document: String, _ count: Int
  ) async throws {
    let network = FakeNetwork(
      .body(body, status: status, type: "application/graphql-response+json"), .ok)
    try await bench("command: \"\(Self.counting) ''\"", network) { bench in
      _ = await bench.run(document)
      #expect(await tokens(network) == Array(["Bearer t1", "Bearer t2"].prefix(count)))
    }
  }

  @Test func `a mutation is sent again after a 401, but not when some of it was carried out`()
    async throws
  {
    // More than is kept of a rejected body.
    let long = String(repeating: "a", count: 2000)
    for (status, body, count) in [
      (401, "", 2),
      (401, #"{ "data" : {"rename":{"name":"\#(long)"}},"errors":[{"message":"no"}]}"#, 1),
      (401, #"{"errors":[{"message":"\#(long)"}]}"#, 2),
      (401, #"{"data":null,"errors":[{"message":"\"data\":1 \#(long)"}]}"#, 2),
      (200, Self.unauthenticated, 2),
      (
        200,
        #"{"data":{"rename":null},"errors":[{"message":"no","path":["rename"],"extensions":{"code":"UNAUTHENTICATED"}}]}"#,
        1
      ),
      // A server that leaves the path out.
      (
        200,
        #"{"data":{"rename":{"name":"a"}},"errors":[{"message":"no","extensions":{"code":"UNAUTHENTICATED"}}]}"#,
        1
      ),
      (401, #"{"data":{"rename":{"name":"a"}},"errors":[{"message":"no"}]}"#, 1),
      (401, #"{"data":null,"errors":[{"message":"no","path":["rename"]}]}"#, 1),
      (
        400,
        #"{"errors":[{"message":"no","path":["rename"],"extensions":{"code":"UNAUTHENTICATED"}}]}"#,
        1
      ),
      (401, #"{"data":null,"errors":[{"message":"no"}]}"#, 2),
    ] {
      let server = TokenServer(
        .token(), refusal: (status, body), accepts: { token, _ in token == "token-2" })
      try await bench(Self.oauth2, server) { bench in
        _ = await bench.run(Bench.rename)
        #expect(await server.requests.count == count, "\(status) \(body)")
      }
    }
  }

  @Test func `a token that is refused after it was renewed is not renewed again`() async throws {
    let server = TokenServer(.token(), accepts: { _, _ in false })
    try await bench(Self.oauth2, server) { bench in
      let first = await bench.run()
      #expect(first.failure?.http?.status == 401)
      #expect(first.message.contains("was renewed once already"), "\(first.message)")
      #expect(await server.tokens == ["token-1", "token-2"])
      // The next operation does not begin again: the token is not a second old.
      #expect(await bench.run().failure?.http?.status == 401)
      #expect(await server.tokens == ["token-1", "token-2", "token-2"])
      #expect(await server.renewals.count == 2)
    }
  }

  @Test func `a late 401 for an old token is answered with the current one`() async throws {
    let server = TokenServer(.token())
    let network = LateRefusal(base: server)
    try await bench(Self.oauth2, network) { bench in
      let slow = Task { await bench.run() }
      // The first request is in flight with token-1 when another operation renews it.
      await network.held()
      await network.refuseOnce()
      #expect(await bench.run().error == nil)
      #expect(await server.renewals.count == 2)
      await network.release()
      #expect(await slow.value.error == nil)
      #expect(await server.renewals.count == 2)
      #expect(await server.tokens.last == "token-2")
    }
  }

  @Test(arguments: [(9, 2), (11, 3)])
  func `a late 401 after a failed renewal gets its error, or renews the token if that was long ago`(
    _ seconds: Int, _ renewals: Int
  ) async throws {
    let server = TokenServer(
      .token(expiresIn: nil), .response(400, #"{"error":"invalid_grant"}"#), .token(expiresIn: nil))
    let network = LateRefusal(base: server)
    let clock = TestClock()
    try await Bench.with(
      Self.chain(Self.oauth2), url: "http://localhost/graphql",
      setup: .init(clock: ServiceClock(clock), transport: network)
    ) { bench in
      let slow = Task { await bench.run() }
      await network.held()
      await network.refuseOnce()
      #expect(await bench.run().code == .tokenRenewalFailed)
      clock.advance(by: .seconds(seconds))
      await network.release()
      let outcome = await slow.value
      #expect((outcome.code == .tokenRenewalFailed) == (renewals == 2), "\(outcome.message)")
      #expect((outcome.error == nil) == (renewals == 3), "\(outcome.message)")
      #expect(await server.renewals.count == renewals)
    }
  }
}

/// Holds the first GraphQL request, and answers it with 401 when it is let go.
private actor LateRefusal: HTTPTransport {
  private let base: TokenServer
  private var isFirst = true
  private var refusals = 0
  private var holding: CheckedContinuation<Void, Never>?
  private var watcher: CheckedContinuation<Void, Never>?

  init(base: TokenServer) { self.base = base }

  func held() async {
    if holding == nil { await withCheckedContinuation { watcher = $0 } }
  }

  func refuseOnce() { refusals = 1 }

  func release() { holding?.resume() }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    guard request.head.path != "/token" else {
      return try await base.send(request, limits: limits)
    }
    if isFirst {
      isFirst = false
      await withCheckedContinuation {
        holding = $0
        watcher?.resume()
      }
      return Self.refusal
    }
    if refusals > 0 {
      refusals -= 1
      return Self.refusal
    }
    return try await base.send(request, limits: limits)
  }

  private static var refusal: HTTPResponseMessage {
    HTTPResponseMessage(head: HTTPResponse(status: .unauthorized), body: HTTPBody([]))
  }
}
