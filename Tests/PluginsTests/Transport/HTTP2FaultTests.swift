import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import NIOSSL
import Testing

/// Faults 35 to 37: a server that speaks HTTP/2, frame by frame.
@Suite(
  .timeLimit(.minutes(10)), .enabled(if: TestCertificates.shared != nil, "there is no openssl"))
struct HTTP2FaultTests {
  private let certificates: TestCertificates

  init() throws {
    certificates = try #require(TestCertificates.shared)
  }

  // https://www.rfc-editor.org/rfc/rfc9113#section-4.1
  private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt8, _ payload: [UInt8])
    -> [UInt8]
  {
    let count = payload.count
    return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags, 0, 0, 0]
      + [stream] + payload
  }

  private static let settings = frame(4, 0, 0, []) + frame(4, 1, 0, [])

  /// `:status 200`, the content type, and a length. https://www.rfc-editor.org/rfc/rfc7541#appendix-A
  private static func head(length: Int? = nil) -> [UInt8] {
    func literal(_ index: UInt8, _ text: String) -> [UInt8] {
      [0x0F, index - 15, UInt8(text.utf8.count)] + Array(text.utf8)
    }
    return frame(
      1, 4, 1,
      [0x88] + literal(31, "application/json") + (length.map { literal(28, "\($0)") } ?? []))
  }

  private static func data(_ text: String, isLast: Bool = false) -> [UInt8] {
    frame(0, isLast ? 1 : 0, 1, Array(text.utf8))
  }

  private static func reset(_ code: UInt8) -> [UInt8] { frame(3, 0, 1, [0, 0, 0, code]) }

  private static let goAway = frame(7, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0])

  /// The two lines of the preface, then the whole request.
  private static func script(_ answer: [UInt8]) -> [RawServer.Step] {
    [.request, .request, .send(settings), .stream(1), .send(answer), .untilClosed]
  }

  private static let good = head() + data(HTTPText.user, isLast: true)

  private func with(
    _ scripts: [[RawServer.Step]], document: String = Bench.user, fetch: String = "",
    setup: Bench.Setup = Bench.Setup(),
    check: @escaping @Sendable (Outcome, RawServer) async throws -> Void
  ) async throws {
    let tls = try certificates.server(.good) { $0.applicationProtocols = ["h2"] }
    let chain = Bench.retrying.replacing(
      "- fetch", with: "- fetch: { \(fetch)tls: { ca_file: \(certificates.path("ca.pem")) } }")
    try await RawServer.withServer(scripts, tls: tls) { server in
      let url = "https://localhost:\(server.port)/graphql"
      try await Bench.with(chain, url: url, setup: setup) { bench in
        try await bench.prime()
        let before = await bench.dump()
        let outcome = await bench.run(document, policy: .networkOnly)
        expectNoSecrets(outcome, bench)
        if outcome.error != nil { #expect(await bench.dump() == before) }
        try await check(outcome, server)
      }
    }
  }

  @Test func `an answer over HTTP/2 is read`() async throws {
    try await with([Self.script(Self.good)]) { outcome, server in
      #expect(outcome.texts == [Bench.answered], "\(outcome.message)")
      #expect(await server.log.connections == 1)
    }
  }

  @Test func `a connection whose server goes away after its answers is closed`() async throws {
    try await with([Self.script(Self.good + Self.goAway)]) { outcome, server in
      #expect(outcome.texts == [Bench.answered], "\(outcome.message)")
      await server.log.closure()
    }
  }

  @Test func `an archive has the version that was spoken`() async throws {
    let tls = try certificates.server(.good) { $0.applicationProtocols = ["h2"] }
    let sockets = AsyncHTTPTransport(clock: ServiceClock(TestClock()))
    let recorder = ExchangeRecorder()
    let setup = Bench.Setup(transport: RecordingTransport(sockets, recorder: recorder))
    let ca = certificates.path("ca.pem")
    let chain = Bench.fetching("connect_timeout: 1h, tls: { ca_file: \(ca) }")
    try await RawServer.withServer([Self.script(Self.good)], tls: tls) { [setup] server in
      let url = "https://localhost:\(server.port)/graphql"
      _ = try await Bench.with(chain, url: url, setup: setup) { await $0.run() }
    }
    await sockets.shutdown()
    let entry = await recorder.archive(creator: "gqlrun", version: "1")["log"]?["entries"]?
      .arrayValue?.first
    for side in ["request", "response"] {
      #expect(entry?[side]?["httpVersion"]?.stringValue == "HTTP/2")
    }
  }

  private static let renamed =
    head() + data(#"{"data":{"rename":{"__typename":"User","id":"1","name":"Ada"}}}"#, isLast: true)

  // GOAWAY comes after the request, or in the turn of the event loop in which the request gets the connection.
  @Test(arguments: [
    script(goAway), [.request, .request, .send(settings + goAway), .untilClosed],
  ]) func `fault 35: what a server going away did not begin is sent again, mutations too`(
    _ script: [RawServer.Step]
  ) async throws {
    try await with(
      [script, Self.script(Self.renamed)], document: Bench.rename
    ) { outcome, server in
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.results.first?.attempt == 2)
      #expect(await server.log.connections == 2)
    }
  }

  @Test func `fault 35: a refused stream is sent again, mutations too`() async throws {
    let script: [RawServer.Step] = [
      .request, .request, .send(Self.settings), .stream(1), .send(Self.reset(7)),
      .stream(3), .send(Self.onStream3(Self.renamed)), .untilClosed,
    ]
    try await with([script], document: Bench.rename) { outcome, server in
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.results.first?.attempt == 2)
      #expect(await server.log.connections == 1)
    }
  }

  /// The frames of a stream 1 on stream 3.
  private static func onStream3(_ frames: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var rest = frames[...]
    while rest.count >= 9 {
      let start = rest.startIndex
      let length = Int(rest[start]) << 16 | Int(rest[start + 1]) << 8 | Int(rest[start + 2])
      result += rest.prefix(8) + [3] + rest.dropFirst(9).prefix(length)
      rest = rest.dropFirst(9 + length)
    }
    return result
  }

  @Test func `a stream that a server cancelled may have been carried out`() async throws {
    try await with([Self.script(Self.reset(8))], document: Bench.rename) { outcome, server in
      #expect(outcome.code == .connectionClosed, "\(outcome.message)")
      #expect(outcome.failure?.delivery == .unknown)
      #expect(outcome.message.contains("CANCEL"))
      #expect(await server.log.connections == 1)
    }
  }

  @Test func `fault 36: a stream that is reset in its body`() async throws {
    // A mutation may have been carried out, and is not sent again.
    let half = String(HTTPText.user.prefix(30))
    try await with(
      [Self.script(Self.head() + Self.data(half) + Self.reset(2))], document: Bench.rename
    ) { outcome, server in
      #expect(outcome.code == .truncatedResponse, "\(outcome.message)")
      #expect(outcome.failure?.delivery == .answered)
      #expect(await server.log.connections == 1)
    }
  }

  @Test(arguments: [10, 500])
  func `fault 37: a length that is not that of the body`(_ length: Int) async throws {
    let answer = Self.head(length: length) + Self.data(HTTPText.user, isLast: true)
    try await with([Self.script(answer)], document: Bench.rename) { outcome, server in
      #expect(outcome.results.isEmpty)
      #expect(
        outcome.code == .malformedResponse || outcome.code == .truncatedResponse,
        "\(outcome.message)")
      #expect(await server.log.connections == 1)
    }
  }

  // The stream still has the first frame when the second one fails it. The client has the head.
  @Test(arguments: [data("x", isLast: true), Array("this is not a frame at all".utf8)])
  func `a violation right behind a part of the body ends the request`(_ violation: [UInt8])
    async throws
  {
    let (passed, signal) = AsyncStream.makeStream(of: Void.self)
    let setup = Bench.Setup(
      change: {
        $0.entries.insert(.onHead { signal.yield() }, at: $0.entries.count - 3)
      })
    let script: [RawServer.Step] = [
      .request, .request, .send(Self.settings), .stream(1), .send(Self.head(length: 500)),
      .run { for await _ in passed { break } },
      .send(Self.data(String(HTTPText.user.prefix(30))) + violation), .untilClosed,
    ]
    try await with([script], document: Bench.rename, setup: setup) { outcome, server in
      #expect(outcome.results.isEmpty)
      #expect(
        outcome.code == .malformedResponse || outcome.code == .truncatedResponse,
        "\(outcome.message)")
      #expect(await server.log.connections == 1)
    }
  }

  private static let goodPart = head() + data(String(HTTPText.user.prefix(30)))

  /// What a server sends instead of frames, and what of the answer comes before it.
  static let brokenRules: [(name: String, bytes: [UInt8])] = [
    ("text instead of a head", Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)),
    ("a frame of 4 MiB instead of a head", [0x40, 0, 0, 0, 0, 0, 0, 0, 1]),
    ("a frame of 4 MiB in the body", goodPart + [0x40, 0, 0, 0, 0, 0, 0, 0, 1]),
    ("garbage in the body", goodPart + Array("this is not a frame at all".utf8)),
    ("a head that cannot be decompressed", frame(1, 4, 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])),
    ("data before the head on a stream that was never opened", frame(0, 0, 9, [1, 2, 3])),
  ]

  /// Nothing but the server's error ends these requests: the clock stands still.
  @Test(arguments: brokenRules.indices)
  func `a server that breaks the rules of HTTP/2 is given up at once`(_ index: Int) async throws {
    let fault = Self.brokenRules[index]
    try await with([Self.script(fault.bytes)], document: Bench.rename) { outcome, server in
      #expect(outcome.code == .malformedResponse, "\(fault.name): \(outcome.message)")
      #expect(outcome.message.contains("violated HTTP/2"), "\(outcome.message)")
      await server.log.closure()
      #expect(await server.log.connections == 1)
    }
  }

  // Until it acknowledges the settings of the client, a server need not know that there are no pushes.
  @Test func `a stream that a server pushes is an error`() async throws {
    // `:method GET`, `:scheme https`, `:path /`. https://www.rfc-editor.org/rfc/rfc7541#appendix-A
    let promise = Self.frame(5, 4, 1, [0, 0, 0, 2, 0x82, 0x87, 0x84])
    let reset = Self.frame(3, 0, 2, [0, 0, 0, 8])
    let script: [RawServer.Step] = [
      .request, .request, .send(Self.frame(4, 0, 0, [])), .stream(1),
      .send(promise + reset + Self.renamed), .untilClosed,
    ]
    try await with([script], document: Bench.rename) { outcome, server in
      #expect(outcome.code == .malformedResponse, "\(outcome.message)")
      #expect(outcome.message.contains("violated HTTP/2"), "\(outcome.message)")
      #expect(await server.log.connections == 1)
    }
  }

  // A head whose status is text, with the name of index 8. https://www.rfc-editor.org/rfc/rfc7541#section-6.2.2
  @Test(arguments: ["", "-5", "20", "099", "103", "+103", "0103"])
  func `a response over HTTP/2 without a final status is an error`(_ status: String) async throws {
    let head = [8, UInt8(status.utf8.count)] + Array(status.utf8)
    try await with([Self.script(Self.frame(1, 5, 1, head))], document: Bench.rename) {
      outcome, server in
      #expect(outcome.code == .malformedResponse, "\(outcome.message)")
      #expect(outcome.message.contains("violated HTTP/2: invalid status value"))
      #expect(outcome.failure?.delivery == .unknown)
      #expect(await server.log.connections == 1)
    }
  }

  // The HTTP/2 library takes these as informational, and the client as final.
  @Test(arguments: ["101", "1200"])
  func `a response over HTTP/2 with two final heads is an error`(_ status: String) async throws {
    let head = [8, UInt8(status.utf8.count)] + Array(status.utf8)
    let answer = Self.frame(1, 4, 1, head) + Self.renamed
    try await with([Self.script(answer)], document: Bench.rename) { outcome, server in
      #expect(outcome.code == .malformedResponse, "\(outcome.message)")
      #expect(outcome.message.contains("violated HTTP/2: invalid status value"))
      #expect(await server.log.connections == 1)
    }
  }

  /// Sends a request of which the server reads the beginning only: it does not widen the window of the stream.
  private func answerEarly(
    _ answer: [UInt8], to run: @escaping @Sendable (Bench) async throws -> Outcome
  ) async throws -> Outcome {
    let tls = try certificates.server(.good) { $0.applicationProtocols = ["h2"] }
    let chain = Bench.fetching("tls: { ca_file: \(certificates.path("ca.pem")) }")
    let script: [RawServer.Step] = [
      .request, .request, .send(Self.settings), .bytes(1_000), .send(answer), .untilClosed,
    ]
    return try await RawServer.withServer([script], tls: tls) { server in
      let url = "https://localhost:\(server.port)/graphql"
      return try await Bench.with(chain, url: url) { try await run($0) }
    }
  }

  private static func upload(_ bench: Bench) async throws -> Outcome {
    let document = #"query User($file: Upload!) { user(id: "1", file: $file) { id name } }"#
    let file = try Upload(bytes: [UInt8](repeating: 0, count: 1 << 20), fileName: "zeros.bin")
    let operation = try PreparedOperation(document: Document(parsing: document), uploads: ["file"])
    return await bench.outcome(of: GraphQLRequest(operation, uploads: ["file": file]))
  }

  @Test(arguments: [good, good + reset(0), good + goAway])
  func `an answer over HTTP/2 before the end of the upload is the result`(
    _ answer: [UInt8]
  ) async throws {
    let outcome = try await answerEarly(answer) { try await Self.upload($0) }
    #expect(outcome.texts == [Bench.answered], "\(outcome.message)")
  }

  @Test func `an answer over HTTP/2 that is cut before the end of the upload is an error`()
    async throws
  {
    let outcome = try await answerEarly(Self.goodPart + Self.reset(2)) {
      try await Self.upload($0)
    }
    #expect(outcome.code == .truncatedResponse, "\(outcome.message)")
  }

  @Test func `a stream whose document the server does not read is closed with its answer`()
    async throws
  {
    let outcome = try await answerEarly(Self.renamed) { bench in
      await bench.run(Bench.rename) {
        $0.extensions["text"] = .string(String(repeating: "x", count: 1 << 20))
      }
    }
    #expect(outcome.error == nil, "\(outcome.message)")
  }

  @Test func `the transport ends while a server has not sent the settings of HTTP/2`()
    async throws
  {
    let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let tls = try certificates.server(.good) { $0.applicationProtocols = ["h2"] }
    let chain = Bench.fetching("tls: { ca_file: \(certificates.path("ca.pem")) }")
    let script: [RawServer.Step] = [
      .request, .request, .run { arrival.yield() }, .run { for await _ in ends {} },
    ]
    try await RawServer.withServer([script], tls: tls) { server in
      let url = "https://localhost:\(server.port)/graphql"
      try await Bench.with(chain, url: url) { bench in
        let task = Task { await bench.run(policy: .networkOnly) }
        for await _ in arrivals { break }
        task.cancel()
        #expect(await task.value.error is CancellationError)
      }
      end.finish()
    }
  }

  @Test func `after a broken connection the next request uses a new one`() async throws {
    let tls = try certificates.server(.good) { $0.applicationProtocols = ["h2"] }
    let ca = certificates.path("ca.pem")
    let chain = Bench.fetching("tls: { ca_file: \(ca) }")
    let scripts = [Self.script(Array("no frames here".utf8)), Self.script(Self.good)]
    try await RawServer.withServer(scripts, tls: tls) { server in
      let url = "https://localhost:\(server.port)/graphql"
      try await Bench.with(chain, url: url) { bench in
        let first = await bench.run(policy: .networkOnly)
        #expect(first.code == .malformedResponse, "\(first.message)")
        let second = await bench.run(policy: .networkOnly)
        #expect(second.texts == [Bench.answered], "\(second.message)")
        #expect(await server.log.connections == 2)
      }
    }
  }

  @Test func `a server that falls silent after the head is given up after the idle timeout`()
    async throws
  {
    let clock = TestClock()
    let (passed, signal) = AsyncStream.makeStream(of: Void.self)
    let setup = Bench.Setup(
      networkClock: ServiceClock(clock),
      change: {
        $0.entries.insert(.onHead { signal.yield() }, at: $0.entries.count - 3)
      })
    let firstDue = Task {
      for await _ in passed { break }
      return await clock.nextWaking()
    }
    let mover = Task {
      _ = await firstDue.value
      while !Task.isCancelled {
        await clock.sleepers(1)
        clock.advance(by: .seconds(2))
      }
    }
    try await with(
      [Self.script(Self.head())], document: Bench.rename,
      fetch: "timeout: 24h, connect_timeout: 1h, idle_timeout: 2s, ", setup: setup
    ) { outcome, server in
      #expect(outcome.code == .timedOut, "\(outcome.message)")
      #expect(outcome.message.contains("no data arrived for 2s"), "\(outcome.message)")
    }
    mover.cancel()
    clock.advance(by: .zero)
    // Before the request is sent, connecting may take an hour, and then one more second.
    #expect(await firstDue.value == .seconds(2))
  }
}
