import GQLRunPipeline
import Testing

@Suite(.timeLimit(.minutes(10))) struct FetchPluginTests {
  /// Keeps the limits it is given.
  private actor Listener: HTTPTransport {
    private(set) var limits: HTTPLimits?

    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      self.limits = limits
      throw ChainError(
        .transport, code: .connectionFailed, message: "no network", delivery: .notSent)
    }
  }

  @Test func `options reach the transport`() async throws {
    let listener = Listener()
    let options =
      "timeout: 1s, connect_timeout: 2s, idle_timeout: 3s, max_body: 4KiB, max_ratio: 5, "
      + "max_headers: 6KiB, min_throughput: 7KiB"
    let chain = Bench.fetching(options)
    var expected = HTTPLimits()
    expected.total = .seconds(1)
    expected.connect = .seconds(2)
    expected.idle = .seconds(3)
    expected.bodyBytes = .kibibytes(4)
    expected.decompressionRatio = 5
    expected.headerBytes = .kibibytes(6)
    expected.minimumThroughput = .kibibytes(7)
    try await Bench.with(chain, setup: .init(transport: listener)) { bench in
      _ = await bench.run()
    }
    #expect(await listener.limits == expected)
  }

  /// An option, a value that refuses the answer and one that accepts it.
  @Test(
    arguments: [
      (
        "max_headers", "900B", "2KiB",
        HTTPText.response(headers: ["X-Long: " + String(repeating: "a", count: 1_000)])
      ),
      (
        "max_ratio", "100", "2000",
        HTTPText.response(headers: ["Content-Encoding: gzip"], bytes: gzipBomb)
      ),
    ] as [(String, String, String, [UInt8])])
  func `what is larger, or grows more, than an option allows is refused`(
    _ option: String, _ refusing: String, _ accepting: String, _ answer: [UInt8]
  ) async throws {
    try await RawServer.withServer([.request, .send(answer)]) { server in
      for (limit, code) in [(refusing, ChainError.Code.limitExceeded), (accepting, nil)] {
        try await Bench.with(Bench.fetching("\(option): \(limit)"), url: server.url) { bench in
          let outcome = await bench.run()
          #expect(outcome.code == code, "\(outcome.message)")
          if code != nil { #expect(outcome.message.contains(option)) }
        }
      }
    }
  }

  @Test func `without a transport the error names it`() async throws {
    let setup = Bench.Setup(transport: FakeNetwork(.failure(.nameResolutionFailed, .notSent)))
    try await Bench.with(setup: setup) { bench in
      let request = try Bench.request()
      let runner = PipelineRunner(bench.runner.pipeline, services: Services())
      let outcome = await Bench(runner: runner, store: nil, log: bench.log).outcome(of: request)
      #expect(outcome.code == .connectionFailed)
      #expect(outcome.failure?.delivery == .notSent)
      #expect(outcome.failure?.entry == "fetch")
    }
  }
}
