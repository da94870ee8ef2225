import Foundation
import GQLRunDemoServer
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

/// Faults of tokens, with many operations and several processes.
@Suite(.timeLimit(.minutes(10))) struct TokenFaultTests {
  /// A thousand operations wait for connections as long as the machine needs.
  private static func chain(_ tokenURL: String, _ oauth2: String = "") -> String {
    """
    - max-retry: { max_retries: 0, backoff: { base: 0s } }
    - cache-read: { policy: network-only }
    - token-refresh: { oauth2: { token_url: "\(tokenURL)", client_id: c\(oauth2) } }
    - fetch: { max_connections: 64, connect_timeout: 1h, idle_timeout: 1h, timeout: 1h }
    - response-code
    - parse
    - cache-write
    """
  }

  private func outcomes(
    _ count: Int, _ bench: Bench, _ document: String = Bench.user
  ) async -> [Outcome] {
    await withTaskGroup(of: Outcome.self) { group in
      for _ in 0..<count { group.addTask { await bench.run(document) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  /// Sockets, with every 401 held until all operations have one.
  private actor Barrier: HTTPTransport {
    private let base: any HTTPTransport
    private var missing: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private(set) var refusals = 0

    init(_ base: any HTTPTransport, _ count: Int) {
      self.base = base
      missing = count
    }

    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      let response = try await base.send(request, limits: limits)
      guard response.head.status == .unauthorized else { return response }
      // Read to its end, so that the connection is free for the others.
      let body = try await response.body.prefix(.max)
      refusals += 1
      missing -= 1
      if missing == 0 {
        for continuation in waiting { continuation.resume() }
        waiting = []
      } else if missing > 0 {
        await withCheckedContinuation { waiting.append($0) }
      }
      return HTTPResponseMessage(head: response.head, body: HTTPBody([body]))
    }
  }

  @Test func `a thousand operations get 401 at once: one renewal, a thousand successes`()
    async throws
  {
    func token(_ name: String) -> [RawServer.Step] {
      [
        .request,
        .send(
          HTTPText.response(
            headers: ["Connection: close"],
            body: #"{"access_token":"\#(name)","token_type":"bearer","expires_in":3600}"#)),
      ]
    }
    try await RawServer.withServer(token("old-token"), token("new-token"), token("too-many")) {
      tokens in
      try await DemoServer.withServer { server in
        var wish = Misbehaviour()
        wish.auth = "new-token"
        server.misbehave(wish)
        // However long a busy machine takes, no limit of time ends.
        let clock = ServiceClock(TestClock())
        let sockets = AsyncHTTPTransport(clock: clock)
        let barrier = Barrier(sockets, 1_000)
        let url = "http://127.0.0.1:\(tokens.port)/token"
        let result = try await Bench.with(
          Self.chain(url), url: server.url, setup: .init(clock: clock, transport: barrier)
        ) { bench in
          await outcomes(1_000, bench, #"query User { user(id: "U_1") { id login } }"#)
        }
        await sockets.shutdown()
        #expect(result.count { $0.error == nil && $0.results.count == 1 } == 1_000)
        #expect(await barrier.refusals == 1_000)
        #expect(server.requestCount == 2_000)
        #expect(await tokens.log.requests.count == 2)
      }
    }
  }

  @Test(arguments: [
    TokenServer.Answer.response(400, #"{"error":"invalid_grant"}"#), .response(503, ""),
    .failure(.connectionFailed), .silence,
  ]) func `a renewal that fails or hangs fails all who wait, once, with its cause`(
    _ answer: TokenServer.Answer
  ) async throws {
    let server = TokenServer(.token(), answer, accepts: { _, _ in false })
    await server.collect(1_000)
    let clock = TestClock()
    try await Bench.with(
      Self.chain(TokenServer.url), url: "http://localhost/graphql",
      setup: .init(clock: ServiceClock(clock), transport: server)
    ) { bench in
      try await bench.prime()
      let before = await bench.dump()
      async let all = outcomes(1_000, bench)
      if case .silence = answer {
        await server.renewals(2)
        await clock.sleepers(1)
        clock.advance(by: .seconds(31))
      }
      let result = await all
      #expect(await server.renewals.count == 2)
      #expect(await server.requests.count == 1_000)
      #expect(result.allSatisfy { $0.results.isEmpty && $0.message.contains("token") })
      #expect(Set(result.map(\.message)).count == 1)
      #expect(await bench.dump() == before)
    }
  }

  @Test func `a caller that is cancelled during a renewal leaves it to the others`()
    async throws
  {
    let server = TokenServer(.silence)
    let clock = TestClock()
    try await Bench.with(
      Self.chain(TokenServer.url), url: "http://localhost/graphql",
      setup: .init(clock: ServiceClock(clock), transport: server)
    ) { bench in
      let first = Task { await bench.run() }
      await server.renewals(1)
      let second = Task { await bench.run() }
      first.cancel()
      #expect(await first.value.error is CancellationError)
      // The second caller waits for the first renewal or begins its own one: the time of either passes.
      let passing = Task {
        while !Task.isCancelled {
          clock.advance(by: .seconds(31))
          await Task.yield()
        }
      }
      #expect(await second.value.code == .timedOut)
      passing.cancel()
      #expect(await server.renewals.count <= 2)
    }
  }

  /// Calls a closure with the path of a file for tokens, and removes its folder afterwards.
  private func withStore(_ body: (_ store: String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "tokens-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body("\(folder)/token.json")
  }

  /// Uses a chain whose tokens are in a file.
  private func bench<Result: Sendable>(
    store: String, _ transport: any HTTPTransport,
    body: @Sendable (Bench) async throws -> Result
  ) async throws -> Result {
    let options =
      ", grant: refresh-token, refresh_token: \"${env:REFRESH}\", store: \"${env:STORE}\""
    let setup = Bench.Setup(
      variables: ["REFRESH": "refresh-0", "STORE": store], transport: transport)
    return try await Bench.with(
      Self.chain(TokenServer.url, options), url: "http://localhost/graphql", setup: setup,
      body: body)
  }

  /// A server that takes each refresh token once only, as OAuth 2.1 has it.
  private actor Rotating: HTTPTransport {
    private(set) var renewals = 0
    private(set) var replayed = 0
    private var current = "refresh-0"

    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      var head = HTTPResponse(status: .ok)
      head.headerFields[.contentType] = "application/json"
      if request.head.path == "/token" {
        let body = String(decoding: request.body ?? [], as: UTF8.self)
        guard body.contains("refresh_token=\(current)&") else {
          replayed += 1
          head.status = .badRequest
          return .init(head: head, body: HTTPBody([Array(#"{"error":"invalid_grant"}"#.utf8)]))
        }
        renewals += 1
        current = "refresh-\(renewals)"
        let answer =
          #"{"access_token":"access-\#(renewals)","refresh_token":"\#(current)","expires_in":3600}"#
        return .init(head: head, body: HTTPBody([Array(answer.utf8)]))
      }
      if TokenServer.token(of: request) != "access-\(max(renewals, 2))" {
        head.status = .unauthorized
        return .init(head: head, body: HTTPBody([]))
      }
      return .init(head: head, body: HTTPBody([Array(HTTPText.user.utf8)]))
    }
  }

  /// A network that is slow to bring renewed tokens, and loses them if it is cancelled.
  private struct SlowNetwork: HTTPTransport {
    let server: any HTTPTransport
    let gate: Gate

    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      let response = try await server.send(request, limits: limits)
      guard request.head.path == "/token" else { return response }
      await gate.pass()
      try Task.checkCancellation()
      return response
    }
  }

  @Test func `a renewal without callers ends, so that no refresh token is lost`() async throws {
    let (server, gate) = (Rotating(), Gate())
    try await withStore { store in
      try await bench(store: store, SlowNetwork(server: server, gate: gate)) { bench in
        let first = Task { await bench.run() }
        await gate.arrival(1)
        first.cancel()
        #expect(await first.value.error is CancellationError)
        let second = Task { await bench.run() }
        await gate.open()
        let outcome = await second.value
        #expect(outcome.error == nil, "\(outcome.message)")
      }
    }
    // One to begin with, and one when the first token was refused.
    #expect(await server.renewals == 2)
    #expect(await server.replayed == 0)
  }

  @Test func `a token file behind a symbolic link is replaced and removed where it is`()
    async throws
  {
    let server = TokenServer(.token(refreshToken: "refresh-1"))
    try await withStore { store in
      let file = URL(fileURLWithPath: store)
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(#"{"version":1}"#.utf8).write(to: file)
      let link = store + ".link"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: store)
      try await bench(store: link, server) { bench in
        #expect(await bench.run().error == nil)
        #expect(try String(contentsOfFile: store, encoding: .utf8).contains("refresh-1"))
        try await bench.runner.signOut()
        #expect(!FileManager.default.fileExists(atPath: store))
      }
      // The link leads to nothing until the next process signs in.
      try await bench(store: link, server) { bench in #expect(await bench.run().error == nil) }
      #expect(try String(contentsOfFile: store, encoding: .utf8).contains("refresh-1"))
      let target = try FileManager.default.destinationOfSymbolicLink(atPath: link)
      #expect(target == store)
    }
  }

  @Test func `a sign-out during a renewal leaves neither its token nor a file`() async throws {
    let (server, gate) = (TokenServer(.token(refreshToken: "refresh-1")), Gate())
    try await withStore { store in
      try await bench(store: store, SlowNetwork(server: server, gate: gate)) { bench in
        let first = Task { await bench.run() }
        await gate.arrival(1)
        try await bench.runner.signOut()
        await gate.open()
        // The request that waited for the token is sent with it.
        #expect(await first.value.error == nil)
        #expect(!FileManager.default.fileExists(atPath: store))
        #expect(await bench.run().error == nil)
        #expect(FileManager.default.fileExists(atPath: store))
      }
    }
    #expect(await server.tokens == ["token-1", "token-2"])
    #expect(await server.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-0"])
  }

  @Test
  func `two processes renew one after the other, and the second takes what the first brought`()
    async throws
  {
    let server = Rotating()
    try await withStore { store in
      // The lock is one of files, so two sets of services are to each other as two processes are.
      let results = try await withThrowingTaskGroup(of: [Outcome].self) { group in
        for _ in 0..<4 {
          group.addTask { try await bench(store: store, server) { await outcomes(25, $0) } }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(
        results.count { $0.error == nil } == 100,
        "\(results.first { $0.error != nil }?.message ?? "")")
    }
    // One to begin with, and one when the first token was refused.
    #expect(await server.renewals == 2)
    #expect(await server.replayed == 0)
  }
}
