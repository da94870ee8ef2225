import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes
import Testing

/// Requests with files, over real sockets and through the chain.
@Suite(.timeLimit(.minutes(10))) struct UploadTests {
  private static let mutation = "mutation Attach($file: Upload!) { attach(file: $file) { id } }"
  private static let query = "query Search($file: Upload!) { search(file: $file) { id name } }"
  private static let found = #"{"data":{"search":{"__typename":"User","id":"1","name":"Ada"}}}"#

  private static func request(
    _ document: String, _ upload: Upload, policy: CachePolicy? = nil
  ) throws -> GraphQLRequest {
    GraphQLRequest(
      try PreparedOperation(document: Document(parsing: document), uploads: ["file"]),
      cachePolicy: policy, uploads: ["file": upload])
  }

  private static func small() throws -> Upload {
    try Upload(bytes: Array("contents".utf8), fileName: "c.txt")
  }

  /// A file without contents that fills the buffers of a connection many times.
  private static func large(in bench: Bench) throws -> Upload {
    let path = "\(bench.folder)/large.bin"
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    #expect(truncate(path, 256 << 20) == 0)
    return try Upload(path: path)
  }

  @Test func `an answer before the end of the upload is read`() async throws {
    let refusal = HTTPText.response(
      "413 Content Too Large", type: "text/plain", body: "at most 1 MiB")
    try await Bench.withServer([.bytes(1), .send(refusal), .untilClosed]) { bench, _ in
      let outcome = await bench.outcome(
        of: try Self.request(Self.mutation, Self.large(in: bench)))
      #expect(outcome.failure?.http?.status == 413, "\(outcome)")
      #expect(outcome.message.contains("at most 1 MiB"))
    }
  }

  /// Responses whose end the client receives alone, since nothing precedes it.
  private static let early: [[RawServer.Step]] = [
    [.send(HTTPText.response("503 Service Unavailable", type: nil, body: ""))],
    [
      .send(
        HTTPText.response("503 Service Unavailable", headers: ["Connection: close"], body: "busy")),
      .end,
    ],
    [
      .send(
        HTTPText.response(
          "503 Service Unavailable", type: nil,
          headers: ["Connection: close", "Transfer-Encoding: chunked"], body: "")),
      .send("0\r\n\r\n"),
    ],
    [
      .send(
        HTTPText.response(
          "413 Content Too Large", headers: ["Content-Length: 4", "Connection: close"], body: "")),
      .send("much"),
    ],
  ]

  private func expectEnd(
    after answer: [RawServer.Step],
    of run: @escaping @Sendable (Bench) async throws -> Outcome
  ) async throws {
    // The server reads the rest only after the outcome: the client cannot have sent all of it.
    let (outcomes, end) = AsyncStream.makeStream(of: Void.self)
    // The clock of the transport does not advance: no time limit ends the exchange.
    try await Bench.withServer(
      [.bytes(1_000)] + answer + [.run { for await _ in outcomes {} }, .untilClosed]
    ) { bench, server in
      let outcome = try await run(bench)
      #expect([413, 503].contains(outcome.failure?.http?.status), "\(outcome.message)")
      end.finish()
      await server.log.closure()
    }
  }

  @Test(arguments: early)
  func `an early final response ends the sending at once`(_ answer: [RawServer.Step]) async throws {
    try await expectEnd(after: answer) { bench in
      await bench.outcome(of: try Self.request(Self.mutation, Self.large(in: bench)))
    }
  }

  @Test func `an early final response ends the sending of a long document, too`() async throws {
    let document = "# " + String(repeating: "x", count: 24 << 20)
    try await expectEnd(after: Self.early[0]) { bench in
      await bench.run(Bench.rename) { $0.extensions["text"] = .string(document) }
    }
  }

  @Test func `an early result ends the sending, and the connection`() async throws {
    let answer = HTTPText.response(body: #"{"errors":[{"message":"too large"}]}"#)
    let (outcomes, end) = AsyncStream.makeStream(of: Void.self)
    try await Bench.withServer([
      .bytes(1_000), .send(answer), .run { for await _ in outcomes {} }, .untilClosed,
    ]) { bench, server in
      let outcome = await bench.outcome(
        of: try Self.request(Self.mutation, Self.large(in: bench)))
      #expect(outcome.results.first?.errors.first?.message == "too large", "\(outcome.message)")
      end.finish()
      await server.log.closure()
    }
  }

  @Test func `an answer of GraphQL errors before the end of the upload is the result`() async throws
  {
    let refusal = HTTPText.response(
      "400 Bad Request", type: "application/graphql-response+json",
      body: #"{"errors":[{"message":"too large"}]}"#)
    try await Bench.withServer([.bytes(1), .send(refusal), .untilClosed]) { bench, _ in
      let outcome = await bench.outcome(
        of: try Self.request(Self.mutation, Self.large(in: bench)))
      #expect(outcome.results.first?.errors.first?.message == "too large", "\(outcome)")
    }
  }

  @Test func `a retry reads the file again`() async throws {
    let busy = HTTPText.response(
      "503 Service Unavailable", headers: ["Connection: close"], body: "busy")
    try await Bench.withServer(
      [.request, .send(busy)],
      [.request, .send(HTTPText.response(body: Self.found)), .untilClosed], chain: Bench.retrying
    ) { bench, server in
      try bench.write("contents of a file", to: "f.txt")
      let outcome = await bench.outcome(
        of: try Self.request(Self.query, Upload(path: "\(bench.folder)/f.txt")))
      #expect(outcome.sources == [.server], "\(outcome)")
      let requests = await server.log.requests
      #expect(requests.count == 2)
      for request in requests {
        #expect(request.contains("\r\n\r\ncontents of a file\r\n--"))
        #expect(request.lowercased().contains("\r\ncontent-length: "))
      }
    }
  }

  @Test func `a mutation that was lost is not sent again`() async throws {
    try await Bench.withServer([.bytes(1), .reset], chain: Bench.retrying) { bench, server in
      let outcome = await bench.outcome(
        of: try Self.request(Self.mutation, Self.large(in: bench)))
      #expect(outcome.code == .connectionClosed, "\(outcome)")
      #expect(outcome.failure?.delivery == .unknown)
      #expect(await server.log.connections == 1)
    }
  }

  @Test func `a file that changed is not sent, and a mutation with it is certainly not executed`()
    async throws
  {
    try await Bench.withServer([.request, .send(HTTPText.response())]) { bench, server in
      try bench.write("first", to: "f.txt")
      let request = try Self.request(Self.mutation, Upload(path: "\(bench.folder)/f.txt"))
      try bench.write("second", to: "f.txt")
      let outcome = await bench.outcome(of: request)
      #expect(outcome.code == .uploadFailed)
      #expect(outcome.failure?.delivery == .notSent)
      #expect(await server.log.connections == 0)
    }
  }

  @Test func `a cancelled upload closes its connection`() async throws {
    let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
    let (outcomes, end) = AsyncStream.makeStream(of: Void.self)
    try await Bench.withServer([
      .bytes(1), .run { arrival.yield() }, .run { for await _ in outcomes {} }, .untilClosed,
    ]) { bench, server in
      let request = try Self.request(Self.mutation, Self.large(in: bench))
      let task = Task { await bench.outcome(of: request) }
      for await _ in arrivals { break }
      task.cancel()
      #expect(await task.value.error is CancellationError)
      end.finish()
      await server.log.closure()
    }
  }

  @Test func `plugins that share or hash documents are skipped, and GET is POST`() async throws {
    let network = FakeNetwork(.body(Self.found))
    let setup = Bench.Setup(transport: network, change: { $0.endpoint?.method = .get })
    let chain = """
      - max-retry
      - deduplicate
      - cache-read
      - apq: { query_method: GET }
      \(Bench.bare)
      """
    try await Bench.with(chain, url: "http://127.0.0.1:1/graphql", setup: setup) { bench in
      let request = try Self.request(Self.query, Self.small(), policy: .cacheFirst)
      for _ in 0..<2 { #expect(await bench.outcome(of: request).sources == [.server]) }
      // A query with another file is another query.
      #expect(await bench.dump().contains("search") == false)
      for sent in await network.requests {
        #expect(sent.head.method == .post)
        let fields = sent.head.headerFields
        #expect(fields[.contentType]?.hasPrefix("multipart/form-data; boundary=") == true)
        for name in ["Apollo-Require-Preflight", "GraphQL-Preflight", "GraphQL-Require-Preflight"] {
          #expect(HTTPField.Name(name).flatMap { fields[$0] } == "1")
        }
        let operations = try JSONValue(parsing: try #require(sent.multipart).operations)
        #expect(operations["query"]?.stringValue?.contains("search") == true)
        #expect(operations["extensions"] == nil)
      }
      #expect(await network.count == 2)
    }
  }

  @Test func `only persisted operations and files exclude each other`() async throws {
    let network = FakeNetwork(.body(Self.found))
    let chain = "- apq: { persisted_only: true }\n- fetch\n- response-code\n- parse"
    try await Bench.with(chain, url: "http://127.0.0.1:1/graphql", setup: .init(transport: network))
    { bench in
      let outcome = await bench.outcome(of: try Self.request(Self.query, Self.small()))
      #expect(outcome.message.contains("only persisted operations are sent"))
      #expect(await network.count == 0)
    }
  }

  @Test func `a subscription, and an upload without a place in the variables, are refused`()
    async throws
  {
    let network = FakeNetwork(.ok)
    try await Bench.with(url: "http://127.0.0.1:1/graphql", setup: .init(transport: network)) {
      bench in
      let subscription = "subscription S($file: Upload) { s(file: $file) }"
      let refused = await bench.outcome(of: try Self.request(subscription, Self.small()))
      #expect(refused.message.contains("S cannot send files: it is a subscription"))
      let misplaced = GraphQLRequest(
        try PreparedOperation(
          document: Document(parsing: "query Q($a: Int) { q(a: $a) }"), variables: ["a": 1]),
        uploads: ["a": try Self.small()])
      #expect(await bench.outcome(of: misplaced).message.contains("has no place in its variables"))
      #expect(await network.count == 0)
    }
  }

  @Test func `a recording knows a request by the names and sizes of its files`() async throws {
    let network = FakeNetwork(.body(Self.found))
    let setup = Bench.Setup(variables: ["GQL_RECORD": "auto"], transport: network)
    let chain = """
      - record-replay: { file: "${env:DIR}/r.jsonl", mode: auto }
      - fetch
      - response-code
      - parse
      """
    try await Bench.with(chain, url: "http://127.0.0.1:1/graphql", setup: setup) { bench in
      let same = try Self.request(Self.query, Self.small())
      #expect(await bench.outcome(of: same).error == nil)
      #expect(await bench.outcome(of: same).error == nil)
      #expect(await network.count == 1)
      let other = try Self.request(Self.query, Upload(bytes: [1], fileName: "other.txt"))
      #expect(await bench.outcome(of: other).error == nil)
      #expect(await network.count == 2)
    }
  }

  @Test func `a curl command and an archive name the files`() async throws {
    let network = FakeNetwork(.body(Self.found))
    var setup = Bench.Setup()
    let recorder = ExchangeRecorder()
    setup.transport = RecordingTransport(network, recorder: recorder)
    try await Bench.with(url: "http://127.0.0.1:1/graphql", setup: setup) { bench in
      let request = try Self.request(Self.query, Self.small())
      #expect(await bench.outcome(of: request).error == nil)
      let curl = try #require(await network.requests.first).curlCommand
      #expect(curl.contains("--form-string 'operations={"), "\(curl)")
      #expect(curl.contains(#"-F '0=@"c.txt";type=text/plain;filename="c.txt"'"#), "\(curl)")
      #expect(!curl.lowercased().contains("content-type: multipart"))
      let entry = await recorder.archive(creator: "t", version: "1")["log"]?["entries"]?[0]
      let params = try #require(entry?["request"]?["postData"]?["params"]?.arrayValue)
      #expect(params.map { $0["name"]?.stringValue } == ["operations", "map", "0"])
      #expect(params.last?["fileName"]?.stringValue == "c.txt")
    }
  }
}
