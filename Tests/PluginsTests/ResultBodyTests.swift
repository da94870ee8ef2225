import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import GQLRunTestSupport
import Testing

/// Results of a shared connection as the body of a response: what interceptors, recordings and archives see.
@Suite(.timeLimit(.minutes(10))) struct ResultBodyTests {
  private static let chain = "- fetch\n- response-code\n- parse"
  private static let payloads = [SocketTests.payload("Ada"), SocketTests.payload("Bo")]
  private static let whole = RawServer.Step.greeted(
    .message(SocketTests.next("Ada")), .message(SocketTests.next("Bo")),
    .message(SocketTests.complete()))

  private func outcome(
    _ chain: String, setup: Bench.Setup
  ) async throws -> Outcome {
    try await RawServer.withServer(Self.whole) { server in
      try await Bench.with(chain, url: server.socketURL, setup: setup) {
        await $0.run(SocketTests.document)
      }
    }
  }

  @Test(arguments: [false, true])
  func `an interceptor sees a chunk for each result, and may replace it`(
    _ createsResponse: Bool
  ) async throws {
    let replacement = ChunkReplacement(createsResponse: createsResponse)
    let setup = Bench.Setup(change: { pipeline in
      pipeline.entries.insert(PipelineEntry(id: "chunks", .http(replacement)), at: 0)
    })
    let outcome = try await outcome(Self.chain, setup: setup)
    #expect(replacement.chunks == Self.payloads)
    #expect(
      outcome.texts == [SocketTests.payload("ADA"), SocketTests.payload("Bo")],
      "\(outcome.message)")
    #expect(outcome.results.allSatisfy { $0.status == (createsResponse ? 200 : nil) })
  }

  // MARK: Recordings and archives

  private func replay(_ path: String) async throws -> Outcome {
    let chain = "- record-replay: { file: \"${env:FILE}\", mode: replay }\n- response-code\n- parse"
    return try await Bench.with(
      chain, url: "ws://127.0.0.1:1/", setup: .init(variables: ["FILE": path])
    ) {
      await $0.run(SocketTests.document)
    }
  }

  @Test func `results are recorded as a JSON text sequence, and replayed one by one`()
    async throws
  {
    let path = NSTemporaryDirectory() + "results-\(UUID().uuidString).ndjson"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let recorded = try await outcome(
      "- record-replay: { file: \"${env:FILE}\", mode: record }\n" + Self.chain,
      setup: .init(variables: ["FILE": path]))
    #expect(recorded.texts == Self.payloads, "\(recorded.message)")

    let text = try String(contentsOfFile: path, encoding: .utf8)
    let line = try #require(text.split(separator: "\n").last)
    let response = try #require(try JSONValue(parsing: Array(line.utf8))["response"])
    #expect(response["status"]?.intValue == 200)
    #expect(response["headers"]?["Content-Type"]?.stringValue == "application/json-seq")
    #expect(response["text"]?.stringValue == Self.payloads.map { $0 + "\u{1E}" }.joined())

    let replayed = try await replay(path)
    #expect(replayed.texts == Self.payloads, "\(replayed.message)")
    #expect(replayed.results.map(\.status) == recorded.results.map(\.status))

    // Separators before the texts, and white space: as others write such sequences.
    let separated = Self.payloads.map { "\u{1E}" + $0 + "\n" }.joined()
    try replace(separated, in: text, path)
    #expect(try await replay(path).texts == Self.payloads)

    try replace("", in: text, path)
    let empty = try await replay(path)
    #expect(empty.texts == [] && empty.error == nil, "\(empty.message)")

    try replace(String(Self.payloads.joined(separator: "\u{1E}").dropLast(3)), in: text, path)
    let cut = try await replay(path)
    #expect(cut.texts == [Self.payloads[0]])
    #expect(cut.code == .malformedResponse)
    #expect(cut.message.contains("its JSON text ends too early"), "\(cut.message)")
  }

  /// Replaces the recorded sequence of results.
  private func replace(_ sequence: String, in recording: String, _ path: String) throws {
    func json(_ text: String) -> String { JSONValue.string(text).canonicalText }
    let recorded = json(Self.payloads.map { $0 + "\u{1E}" }.joined())
    let changed = recording.replacing(recorded, with: json(sequence))
    #expect(changed != recording)
    try Data(changed.utf8).write(to: URL(fileURLWithPath: path))
  }

  @Test(arguments: [1 << 20, 10]) func `an archive has results as a JSON text sequence`(
    _ keptBytes: Int
  ) async throws {
    let recorder = ExchangeRecorder(keptBytes: keptBytes)
    let transport = AsyncHTTPTransport(clock: ServiceClock(TestClock()))
    let setup = Bench.Setup(transport: RecordingTransport(transport, recorder: recorder))
    let outcome = try await RawServer.withServer(Self.whole) { [setup] server in
      let url = server.socketURL
      let outcome = try await Bench.with(Self.chain, url: url, setup: setup) {
        await $0.run(SocketTests.document)
      }
      await transport.shutdown()
      return outcome
    }
    #expect(outcome.texts == Self.payloads, "\(outcome.message)")
    let archive = await recorder.archive(creator: "gqlrun", version: "1")
    let response = archive["log"]?["entries"]?.arrayValue?.first?["response"]
    let sequence = Self.payloads.map { $0 + "\u{1E}" }.joined()
    #expect(response?["httpVersion"]?.stringValue == "WebSocket")
    #expect(response?["status"]?.intValue == 0)
    #expect(response?["content"]?["size"]?.intValue == sequence.utf8.count)
    #expect(response?["content"]?["text"]?.stringValue == String(sequence.prefix(keptBytes)))
  }
}

/// Notes the chunks of bodies, and changes one.
private final class ChunkReplacement: HTTPInterceptor {
  /// Whether the response is a new one, with the head of the one that it replaces.
  private let createsResponse: Bool
  private let seen = Locked<[String]>([])

  init(createsResponse: Bool) { self.createsResponse = createsResponse }

  var chunks: [String] { seen.withLock { $0 } }

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let response = try await next(request).mapChunks { [self] chunk in
      let text = chunk.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      seen.withLock { $0.append(text) }
      return Array(text.replacing("Ada", with: "ADA").utf8)
    }
    return createsResponse
      ? HTTPResponseMessage(head: response.head, body: response.body) : response
  }
}
