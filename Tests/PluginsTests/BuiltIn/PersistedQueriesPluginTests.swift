import Foundation
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(10))) struct PersistedQueriesPluginTests {
  private static func chain(_ options: String, retries: Int = 3) -> String {
    """
    - max-retry: { max_retries: \(retries), backoff: { base: 0s } }
    - cache-read: { policy: network-only }
    - apq\(options.isEmpty ? "" : ": { \(options) }")
    \(Bench.bare)
    """
  }

  private static let notFound = #"{"errors":[{"message":"PersistedQueryNotFound"}]}"#
  private static let notSupported = #"{"errors":[{"message":"PersistedQueryNotSupported"}]}"#

  struct Run: Sendable {
    var outcomes: [Outcome]
    var requests: [HTTPRequestMessage]
    var store: String
    var log: String

    /// What each request carried: `GET hash`, `POST hash+query`, `POST query`.
    var forms: [String] {
      requests.map { request in
        let text = PersistedQueriesPluginTests.text(request)
        let parts = [
          text.contains("sha256Hash") ? "hash" : nil, text.contains("documentId") ? "id" : nil,
          text.contains("user(") ? "query" : nil, text.contains("rename(") ? "query" : nil,
        ]
        return "\(request.head.method.rawValue) "
          + parts.compactMap { $0 }.joined(separator: "+")
      }
    }
  }

  /// The URL's query, decoded, and the body.
  static func text(_ request: HTTPRequestMessage) -> String {
    (request.head.path?.removingPercentEncoding ?? "")
      + String(decoding: request.body ?? [], as: UTF8.self)
  }

  private func run(
    _ options: String, _ answers: FakeNetwork.Answer..., documents: [String] = [Bench.user],
    retries: Int = 3, manifest: String? = nil
  ) async throws -> Run {
    let network = FakeNetwork(answers)
    var setup = Bench.Setup(clock: ServiceClock(TestClock.jumping()), transport: network)
    let file = NSTemporaryDirectory() + "manifest-\(UUID().uuidString).json"
    defer { try? FileManager.default.removeItem(atPath: file) }
    if let manifest { try Data(manifest.utf8).write(to: URL(fileURLWithPath: file)) }
    setup.variables = ["MANIFEST": file]
    return try await Bench.with(Self.chain(options, retries: retries), setup: setup) { bench in
      var outcomes: [Outcome] = []
      for document in documents { outcomes.append(await bench.run(document)) }
      return Run(
        outcomes: outcomes, requests: await network.requests, store: await bench.dump(),
        log: bench.log.everything)
    }
  }

  @Test func `the hash is that of the exact text, in lower-case hexadecimal`() async throws {
    let run = try await run("", .ok)
    #expect(run.forms == ["POST hash"])
    let body = try JSONValue(parsing: run.requests[0].body ?? [])
    #expect(body["query"] == nil)
    #expect(body["operationName"] == "User")
    let request = try Bench.request()
    #expect(
      body["extensions"] == [
        "persistedQuery": [
          "version": 1, "sha256Hash": .string(DocumentHash.sha256(request.document)),
        ]
      ])
  }

  struct Detection: Sendable, CustomTestStringConvertible {
    var answer: FakeNetwork.Answer
    var forms: [String]

    init(_ status: Int, _ type: String, _ body: String, _ forms: [String]) {
      answer = .body(body, status: status, type: type)
      self.forms = forms
    }

    var testDescription: String { "\(answer) → \(forms)" }
  }

  static let json = "application/json"
  static let again = ["POST hash", "POST hash+query"]
  static let plain = ["POST hash", "POST query"]

  @Test(arguments: [
    Detection(200, json, notFound, again), Detection(400, json, notFound, again),
    Detection(500, json, notFound, again),
    Detection(400, "application/graphql-response+json", notFound, again),
    Detection(
      200, json,
      #"{"errors":[{"message":"no","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}"#, again),
    Detection(
      404, json,
      #"{"errors":[{"message":"PERSISTED_QUERY_NOT_FOUND"}]}"#, again),
    Detection(400, "text/plain", "PersistedQueryNotFound", again),
    Detection(
      400, json,
      #"{"errors":[{"message":"PersistedQueryNotFound"}],"x":""#
        + String(repeating: "a", count: 2_000) + #""}"#, again),
    Detection(200, json, notSupported, plain), Detection(400, json, notSupported, plain),
    Detection(
      400, json,
      #"{"errors":[{"message":"no","extensions":{"code":"PERSISTED_QUERY_NOT_SUPPORTED"}}]}"#, plain
    ),
    Detection(400, "text/plain; charset=utf-8", "No GraphQL query found in the request", plain),
    Detection(400, json, #"{"errors":[{"message":"The query must be a string."}]}"#, plain),
    Detection(400, json, badRequest, plain), Detection(422, json, badRequest, plain),
    Detection(200, "text/html", "<title>Explorer</title>", plain),
    Detection(
      400, json,
      #"{"errors":[{"message":"bad variables","locations":[{"line":1,"column":2}]}]}"#,
      ["POST hash"]),
    Detection(
      400, json, #"{"errors":[{"message":"no","extensions":{"code":"BAD_USER_INPUT"}}]}"#,
      ["POST hash"]),
    Detection(
      200, json, #"{"errors":[{"message":"PersistedQueryNotFound, they say"}]}"#, ["POST hash"]),
    Detection(503, "text/html", "<h1>busy</h1>", ["POST hash", "POST hash"]),
  ]) func `what the server says is recognised at any status`(_ it: Detection) async throws {
    let run = try await run("", it.answer, .ok)
    #expect(run.forms == it.forms)
    let isAnswered = it.forms.count == 2
    #expect(run.outcomes[0].texts.contains { $0.contains("Ada") } == isAnswered)
  }

  @Test func `a document the server still does not know is an error, after two requests`()
    async throws
  {
    let run = try await run("", .body(Self.notFound))
    #expect(run.forms == Self.again)
    #expect(run.outcomes[0].code == .persistedQueryRefused)
    #expect(run.outcomes[0].results.isEmpty)
    #expect(run.store == "")
  }

  @Test func `the server's not knowing does not use up the retries of max-retry`() async throws {
    let run = try await run(
      "", .response(503), .body(Self.notFound), .response(503), .ok, retries: 2)
    #expect(run.forms == ["POST hash", "POST hash", "POST hash+query", "POST hash+query"])
    #expect(run.outcomes[0].error == nil)
    let none = try await self.run("", .body(Self.notFound), .ok, retries: 0)
    #expect(none.outcomes[0].error == nil && none.forms == Self.again)
  }

  @Test func `an endpoint without the feature is not asked again`() async throws {
    let run = try await run(
      "", .body(Self.notSupported), .ok, .ok, documents: [Bench.user, Bench.user])
    #expect(run.forms == ["POST hash", "POST query", "POST query"])
  }

  @Test func `an unclear refusal is tried without the hash, and remembered only when that helps`()
    async throws
  {
    let unclear = FakeNetwork.Answer.body(
      #"{"errors":[{"message":"The query must be a string."}]}"#, status: 400)
    let helped = try await run("", unclear, .ok, documents: [Bench.user, Bench.user])
    #expect(helped.forms == ["POST hash", "POST query", "POST query"])
    let other = try await run("", unclear, unclear, .ok, documents: [Bench.user, Bench.user])
    #expect(other.forms == ["POST hash", "POST query", "POST hash"])
    #expect(other.outcomes[0].failure?.http?.status == 400)
  }

  @Test func `mutations are sent by their hash, too, always by POST, and once more at most`()
    async throws
  {
    let answer = #"{"data":{"rename":{"__typename":"User","id":"1","name":"Eva"}}}"#
    let run = try await run(
      "query_method: GET, retry_method: GET", .body(Self.notFound), .body(answer),
      documents: [Bench.rename])
    #expect(run.forms == Self.again)
    #expect(run.outcomes[0].error == nil)
  }

  @Test func `subscriptions are sent unchanged`() async throws {
    let run = try await run("", .ok, documents: ["subscription S { user { id name } }"])
    #expect(run.requests.allSatisfy { !Self.text($0).contains("sha256Hash") })
    #expect(run.requests.count == 1)
  }

  @Test(arguments: [
    ("query_method: GET", ["GET hash", "POST hash+query"]),
    ("query_method: GET, retry_method: GET", ["GET hash", "GET hash+query"]),
    ("retry_method: GET", ["POST hash", "GET hash+query"]),
  ]) func `GET for hashes and POST for documents, or as one likes`(
    _ options: String, _ forms: [String]
  ) async throws {
    let run = try await run(options, .body(Self.notFound), .ok)
    #expect(run.forms == forms)
    let preflight = HTTPField.Name("Apollo-Require-Preflight") ?? .accept
    for request in run.requests where request.head.method == .get {
      #expect(request.head.headerFields[preflight] == "true")
      #expect(request.head.headerFields[.contentType] == nil && request.body == nil)
    }
  }

  @Test func `a URL that would be too long becomes a POST`() async throws {
    let letters = String(repeating: "x", count: 9_000)
    let run = try await run(
      "query_method: GET, retry_method: GET", .body(Self.notFound), .ok,
      documents: ["query User { user(id: \"\(letters)\") { id name } }"])
    // The hash alone fits.
    #expect(run.forms == ["GET hash", "POST hash+query"])
  }

  // MARK: Manifests

  private static func manifest(_ id: String, _ document: String) throws -> String {
    let body = try Bench.request(document).document
    return OperationManifest(operations: [
      .init(id: id, body: body, name: "User", type: .query)
    ]).apolloJSON.jsonText()
  }

  @Test func `operations of a manifest are sent by its ids`() async throws {
    let manifest = try Self.manifest("id-of-user", Bench.user)
    let run = try await run(
      "manifest: \"${env:MANIFEST}\", persisted_only: true", .ok, manifest: manifest)
    #expect(Self.text(run.requests[0]).contains(#""sha256Hash":"id-of-user""#))
    let style = try await self.run(
      "manifest: \"${env:MANIFEST}\", persisted_only: true, protocol: document-id", .ok,
      manifest: manifest)
    #expect(style.forms == ["POST id"])
    #expect(Self.text(style.requests[0]).contains(#""documentId":"id-of-user""#))
  }

  @Test func `what is not in the manifest is not sent, and the error says why`() async throws {
    let manifest = try Self.manifest("id", Bench.user)
    let run = try await run(
      "manifest: \"${env:MANIFEST}\", persisted_only: true", .ok,
      documents: [Bench.rename, #"query User { user(id: "2") { name } }"#], manifest: manifest)
    #expect(run.requests.isEmpty)
    #expect(run.outcomes.map(\.code) == [.notPersisted, .notPersisted])
    #expect(run.outcomes[0].message.contains("is not in the operation manifest"))
    #expect(run.outcomes[1].message.contains("another text"))
  }

  @Test func `a document with other bytes is not in the manifest, even if it is equivalent`()
    async throws
  {
    let manifest = try Self.manifest("id", "query User { user(id: \"\u{E9}\") { name } }")
    let run = try await run(
      "manifest: \"${env:MANIFEST}\", persisted_only: true", .ok,
      documents: ["query User { user(id: \"e\u{301}\") { name } }"], manifest: manifest)
    #expect(run.requests.isEmpty)
    #expect(run.outcomes.map(\.code) == [.notPersisted])
  }

  @Test func `with persisted operations only, no document is ever sent`() async throws {
    let run = try await run("persisted_only: true", .body(Self.notFound))
    #expect(run.forms == ["POST hash"])
    #expect(run.outcomes[0].code == .persistedQueryRefused)
    #expect(run.outcomes[0].message.contains("register the operation manifest"))
  }

  // MARK: documentId

  @Test
  func `documentId has the prefix sha256 and the hash of the exact text, without the document`()
    async throws
  {
    let run = try await run("protocol: document-id", .ok)
    #expect(run.forms == ["POST id"])
    let body = try #require(try JSONValue(parsing: run.requests[0].body ?? []).objectValue)
    let hash = DocumentHash.sha256(try Bench.request().document)
    #expect(Array(body.keys) == ["documentId", "operationName"])
    #expect(body["documentId"] == .string("sha256:\(hash)"))
    #expect(hash.count == 64 && hash.allSatisfy { "0123456789abcdef".contains($0) })
  }

  static let graphQL = "application/graphql-response+json"
  private static let unknown = #"{"errors":[{"message":"what is that?"}]}"#
  /// The answer of Yoga and Apollo Server to a request without `query`.
  private static let badRequest =
    #"{"errors":[{"message":"must have a query","extensions":{"code":"BAD_REQUEST"}}]}"#

  /// The draft has a single error for an unknown document; servers have codes for it, too.
  @Test(arguments: [
    Detection(400, graphQL, unknown, ["POST id", "POST query", "POST query"]),
    Detection(404, graphQL, unknown, ["POST id", "POST query", "POST query"]),
    Detection(200, json, unknown, ["POST id", "POST query", "POST query"]),
    Detection(200, json, notFound, ["POST id", "POST query", "POST query"]),
    Detection(
      404, json,
      #"{"errors":[{"message":"no","extensions":{"code":"PERSISTED_DOCUMENT_NOT_FOUND"}}]}"#,
      ["POST id", "POST query", "POST query"]),
    Detection(
      400, graphQL, #"{"errors":[{"message":"no","extensions":{"code":"UNAUTHENTICATED"}}]}"#,
      ["POST id", "POST id"]),
    Detection(
      400, graphQL, #"{"errors":[{"message":"a"},{"message":"b"}]}"#, ["POST id", "POST id"]),
    Detection(
      422, graphQL, #"{"errors":[{"message":"no","locations":[{"line":1,"column":2}]}]}"#,
      ["POST id", "POST id"]),
    Detection(
      200, json, #"{"data":null,"errors":[{"message":"what is that?"}]}"#, ["POST id", "POST id"]),
    Detection(400, graphQL, badRequest, ["POST id", "POST query", "POST query"]),
    Detection(400, json, badRequest, ["POST id", "POST query", "POST query"]),
    Detection(200, json, badRequest, ["POST id", "POST query", "POST query"]),
    Detection(401, graphQL, unknown, ["POST id", "POST id"]),
    Detection(403, graphQL, unknown, ["POST id", "POST id"]),
    Detection(408, graphQL, unknown, ["POST id", "POST id"]),
    // `max-retry` sends it again.
    Detection(429, graphQL, unknown, ["POST id", "POST id", "POST id"]),
  ]) func `a document that the server does not know is sent by itself, and so from then on`(
    _ it: Detection
  ) async throws {
    let run = try await run(
      "protocol: document-id", it.answer, .ok, .ok, documents: [Bench.user, Bench.user])
    #expect(run.forms == it.forms)
    #expect(run.outcomes[1].texts == [Bench.answered], "\(run.outcomes[1].message)")
  }

  @Test(arguments: [
    Detection(400, graphQL, unknown, ["POST id", "POST query"]),
    Detection(200, json, notFound, ["POST id", "POST query"]),
    Detection(400, graphQL, badRequest, ["POST id", "POST query"]),
    Detection(200, json, unknown, ["POST id"]), Detection(500, graphQL, unknown, ["POST id"]),
    Detection(200, json, badRequest, ["POST id"]), Detection(401, graphQL, unknown, ["POST id"]),
    Detection(403, graphQL, unknown, ["POST id"]), Detection(408, graphQL, unknown, ["POST id"]),
    Detection(429, graphQL, unknown, ["POST id"]),
    Detection(
      200, json,
      #"{"data":{"rename":null},"errors":[{"message":"PersistedQueryNotFound","path":["rename"]}]}"#,
      ["POST id"]),
    Detection(
      200, json,
      #"{"data":null,"errors":[{"message":"PersistedQueryNotFound","path":["rename"]}]}"#,
      ["POST id"]),
    Detection(
      200, json, #"{"data":{"rename":null},"errors":[{"message":"PersistedQueryNotFound"}]}"#,
      ["POST id"]),
    Detection(200, "text/html", "<title>Done</title>", ["POST id"]),
    Detection(400, "text/html", "<title>Bad Request</title>", ["POST id", "POST query"]),
    Detection(
      400, json, #"{"data":{"rename":{"name":"Eva"}},"errors":[{"message":"no"}]}"#, ["POST id"]),
  ]) func `a mutation that may have been executed is not sent again with its document`(
    _ it: Detection
  ) async throws {
    let answer = #"{"data":{"rename":{"__typename":"User","id":"1","name":"Eva"}}}"#
    let run = try await run(
      "protocol: document-id", it.answer, .body(answer), documents: [Bench.rename])
    #expect(run.forms == it.forms)
  }

  @Test func `an error that the document does not change is no reason to send it from then on`()
    async throws
  {
    let run = try await run(
      "protocol: document-id", .body(Self.unknown), .body(Self.unknown), .ok,
      documents: [Bench.user, Bench.user])
    #expect(run.forms == ["POST id", "POST query", "POST id"])
  }

  @Test func `an unknown document says nothing about others`() async throws {
    let other = #"query User { user(id: "2") { id name } }"#
    let run = try await run(
      "protocol: document-id, query_method: QUERY, retry_method: GET", .body(Self.unknown), .ok,
      documents: [Bench.user, other, Bench.user])
    #expect(run.forms == ["QUERY id", "GET query", "QUERY id", "GET query"])
    let only = try await self.run(
      "protocol: document-id, persisted_only: true", .body(Self.unknown))
    #expect(only.forms == ["POST id"])
    #expect(only.outcomes[0].code == .persistedQueryRefused)
    #expect(
      only.outcomes[0].message.contains(
        #"with the server: the server answered "what is that?""#))
    #expect(only.outcomes[0].failure?.graphQLErrors.map(\.message) == ["what is that?"])
  }

  /// Why an id cannot be sent as `documentId`; `nil` if it can.
  private func problem(_ id: String) async throws -> String? {
    do {
      let run = try await run(
        "manifest: \"${env:MANIFEST}\", protocol: document-id", .ok,
        manifest: try Self.manifest(id, Bench.user))
      #expect(Self.text(run.requests[0]).contains(#""documentId":"\#(id)""#))
      return nil
    } catch let found as PipelineDiagnostics {
      return found.all.map(\.message).joined(separator: "\n")
    }
  }

  @Test func `ids of a manifest are sent as documentId if they are document identifiers`()
    async throws
  {
    let hash = DocumentHash.sha256(try Bench.request().document)
    for id in ["id-of-user", hash, "sha256:\(hash)", "x-acme:v1:7", "a.b_c~d"] {
      #expect(try await problem(id) == nil, "\(id)")
    }
    for (id, part) in [
      ("sha256:\(hash.uppercased())", "the hash of the document"), ("sha256:00", "the hash of"),
      ("md5:00", "is reserved"), ("X-acme:1", "is reserved"), ("a b", "letters, digits"),
      ("x-acme:", "letters, digits"), (":1", "letters, digits"), ("é", "letters, digits"),
    ] {
      #expect(try await problem(id)?.contains(part) == true, "\(id)")
    }
  }

  @Test func `a server that was given the documents gets identifiers only`() async throws {
    let query = #"query User { user(id: "U_1") { id login } }"#
    var configuration = DemoServer.Configuration()
    configuration.persistedDocuments = ["user": try Bench.request(query).document]
    try await DemoServer.withServer(configuration) { server in
      let chain = Self.chain("protocol: document-id, persisted_only: true, query_method: QUERY")
      try await Bench.with(chain, url: server.url) { bench in
        for _ in 0..<2 { #expect(await bench.run(query).error == nil) }
        #expect(server.log.requests.map(\.method) == ["QUERY", "QUERY"])
        #expect(server.log.requests.allSatisfy { !$0.bodyText.contains("login") })
        let other = await bench.run(#"query User { user(id: "U_2") { id login } }"#)
        #expect(other.code == .persistedQueryRefused, "\(other.message)")
      }
    }
  }

  // MARK: Over sockets

  @Test(arguments: ["query_method: POST", "query_method: GET"])
  func `a server learns a document once, and knows it from then on`(_ options: String) async throws
  {
    try await Bench.withDemoServer(Self.chain(options)) { bench, server in
      let query = #"query User { user(id: "U_1") { id login } }"#
      for _ in 0..<3 { #expect(await bench.run(query).error == nil) }
      #expect(server.requestCount == 4)
      let withText = server.log.requests.filter {
        ($0.bodyText + ($0.path.removingPercentEncoding ?? "")).contains("login")
      }
      #expect(withText.count == 1)
    }
  }
}
