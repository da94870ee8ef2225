import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import HTTPTypes

/// What happened, in order.
actor Journal {
  private(set) var events: [String] = []

  func note(_ event: String) {
    events.append(event)
  }

  func count(_ event: String) -> Int {
    events.count { $0 == event }
  }
}

/// Notes what passes it.
struct Tracer: GraphQLInterceptor {
  let name: String
  let journal: Journal

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    await journal.note("↓\(name)")
    return await next(request)
      .map { response in
        await journal.note("↑\(name)")
        return response
      }
      .mapErrors { error in
        await journal.note("✗\(name)")
        throw error
      }
  }
}

/// A GraphQL interceptor made of a closure.
struct Interceptor: GraphQLInterceptor {
  typealias Body =
    @Sendable (GraphQLRequest, ChainContext, NextGraphQL) async throws -> ResponseStream
  let body: Body

  init(_ body: @escaping Body) {
    self.body = body
  }

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    try await body(request, context, next)
  }
}

/// An HTTP interceptor made of a closure.
struct HTTPWrap: HTTPInterceptor {
  typealias Body =
    @Sendable (HTTPRequestMessage, ChainContext, NextHTTP) async throws -> HTTPResponseMessage
  let body: Body

  init(_ body: @escaping Body) {
    self.body = body
  }

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    try await body(request, context, next)
  }
}

/// What a server does.
enum Answer: Sendable, Equatable {
  /// 200 with these results.
  case results([String])
  case status(Int)
  /// A status with a GraphQL error of the request, which is a result.
  case refusal(Int)
  /// No connection.
  case offline
  /// 200 with a body that breaks off.
  case truncated

  static let ok = Answer.results(["server"])
  static let graphQLError = Answer.results(["error"])

  func respond() throws -> HTTPResponseMessage {
    switch self {
    case .results(let results):
      HTTPResponseMessage(
        head: HTTPResponse(status: .ok), body: HTTPBody(results.map { Array($0.utf8) }))
    case .status(let code):
      HTTPResponseMessage(head: HTTPResponse(status: .init(code: code)), body: HTTPBody([]))
    case .refusal(let code):
      HTTPResponseMessage(
        head: HTTPResponse(
          status: .init(code: code),
          headerFields: [.contentType: "application/graphql-response+json"]),
        body: HTTPBody([Array("refused".utf8)]))
    case .offline:
      throw ChainError(
        .transport, code: .connectionFailed, message: "no connection to the server",
        delivery: .notSent)
    case .truncated:
      HTTPResponseMessage(
        head: HTTPResponse(status: .ok), body: HTTPBody([Array("truncated".utf8)]))
    }
  }
}

/// Answers in the order given; the last answer repeats.
actor Server {
  private var answers: [Answer]
  private(set) var requests: [HTTPRequestMessage] = []

  init(_ answers: Answer...) {
    self.answers = answers
  }

  init(answers: [Answer]) {
    self.answers = answers
  }

  func respond(to request: HTTPRequestMessage) throws -> HTTPResponseMessage {
    requests.append(request)
    return try (answers.count > 1 ? answers.removeFirst() : answers[0]).respond()
  }

  var count: Int { requests.count }
}

struct FakeFetch: HTTPInterceptor {
  let server: Server
  var journal: Journal?

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    await journal?.note("fetch")
    return try await server.respond(to: request)
  }
}

struct FakeStatusCheck: HTTPInterceptor {
  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let response = try await next(request)
    let isResult = response.head.headerFields[.contentType] == "application/graphql-response+json"
    guard isResult || response.head.status.kind == .successful else {
      throw ChainError(
        .transport, code: .httpStatus, message: "the server answered \(response.head.status.code)",
        http: .init(status: response.head.status.code), delivery: .answered)
    }
    return response
  }
}

/// A store of results by label.
actor FakeStore {
  private(set) var records: [String: String]
  private(set) var reads = 0
  private(set) var commits = 0
  private(set) var rollbacks = 0
  private let failsToRead: Bool

  init(_ records: [String: String] = [:], failsToRead: Bool = false) {
    self.records = records
    self.failsToRead = failsToRead
  }

  struct Damaged: Error {}

  func read(_ key: String) throws -> String? {
    reads += 1
    if failsToRead { throw Damaged() }
    return records[key]
  }

  func commit(_ key: String, _ value: String) {
    commits += 1
    records[key] = value
  }

  func rollBack() {
    rollbacks += 1
  }
}

struct FakeWrite: PendingCacheWrite {
  let store: FakeStore
  let key: String
  let value: String
  var journal: Journal?

  func commit() async throws -> WriteSummary {
    await journal?.note("commit")
    if value == "unwritable" { throw FakeStore.Damaged() }
    await store.commit(key, value)
    var summary = WriteSummary()
    summary.newRecords = 1
    return summary
  }

  func rollback() async {
    await journal?.note("rollback")
    await store.rollBack()
  }
}

/// Called at a stage of a chain with its name and the attempt; what it throws is thrown there.
typealias StageHook = @Sendable (_ stage: String, GraphQLRequest, _ attempt: Int) throws -> Void

struct FakeCache: CacheInterceptor {
  let store: FakeStore
  var defaultPolicy: CachePolicy?
  var vetoes = false
  var hook: StageHook = { _, _, _ in }

  func read(
    _ request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheReadOutcome {
    try hook("cache", request, context.attempt)
    guard let value = try await store.read(request.label) else {
      return .miss(missing: "viewer.login")
    }
    return .hit(GraphQLResponse(source: .cache, data: Array(value.utf8)))
  }

  func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget? {
    CacheWriteTarget(store: .memory())
  }

  func write(
    _ response: GraphQLResponse, for request: GraphQLRequest, context: ChainContext
  ) async throws {
    try hook("write", request, context.attempt)
    if !vetoes { _ = try await response.pendingWrite?.commit() }
  }
}

/// Every chunk is a result; `error` is one with a GraphQL error, `truncated` breaks off.
struct FakeParser: ResponseParsingInterceptor {
  var store = FakeStore()
  var journal: Journal?
  var hook: StageHook = { _, _, _ in }

  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest,
    target: CacheWriteTarget?, context: ChainContext
  ) async throws -> ResponseStream {
    try hook("parsing", request, context.attempt)
    let pull = Puller(response.body)
    return ResponseStream(pull: {
      guard let text = try await pull.next() else { return nil }
      await journal?.note("parse \(text)")
      let write = target.map { _ in
        FakeWrite(store: store, key: request.label, value: text, journal: journal)
      }
      if text == "truncated" {
        await write?.rollback()
        throw ChainError(.transport, code: .truncatedResponse, message: "the body broke off")
      }
      if text == "refused" {
        await write?.rollback()
        return GraphQLResponse(source: .server, errors: [GraphQLError(message: "busy")])
      }
      return GraphQLResponse(
        source: .server, data: Array(text.utf8),
        errors: text == "error"
          ? [GraphQLError(message: "no", extensions: ["code": "FORBIDDEN"])] : [],
        pendingWrite: write)
    })
  }

  private actor Puller {
    private let body: HTTPBody

    init(_ body: HTTPBody) {
      self.body = body
    }

    func next() async throws -> String? {
      var iterator = body.makeAsyncIterator()
      return try await iterator.next().map { chunk in
        chunk.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      }
    }
  }
}

/// A chain with a server and a store behind it.
struct Bench: Sendable {
  var journal = Journal()
  var server = Server(.ok)
  var store = FakeStore()
  var cache: FakeCache?
  var taps: [any ErrorTap] = []
  /// Above and below the cache read, and around the fetch.
  var top: [any GraphQLInterceptor] = []
  var bottom: [any GraphQLInterceptor] = []
  var http: [any HTTPInterceptor] = []
  var services = Services()
  /// Of the cache and the parser.
  var hook: StageHook = { _, _, _ in }

  var pipeline: Pipeline {
    let cache = cache ?? FakeCache(store: store, hook: hook)
    var entries = taps.enumerated().map { PipelineEntry(id: "tap\($0)", .errorTap($1)) }
    entries += top.enumerated().map { PipelineEntry(id: "top\($0)", .graphQL($1)) }
    entries.append(PipelineEntry(id: "cache-read", .cacheRead(cache)))
    entries += bottom.enumerated().map { PipelineEntry(id: "bottom\($0)", .graphQL($1)) }
    entries += http.enumerated().map { PipelineEntry(id: "http\($0)", .http($1)) }
    entries += [
      PipelineEntry(id: "fetch", .fetch(FakeFetch(server: server, journal: journal))),
      PipelineEntry(id: "response-code", .http(FakeStatusCheck())),
      PipelineEntry(id: "parse", .parsing(FakeParser(store: store, journal: journal, hook: hook))),
      PipelineEntry(id: "cache-write", .cacheWrite(cache)),
    ]
    return Pipeline(endpoint: testEndpoint, entries: entries)
  }

  func run(
    _ request: GraphQLRequest = .test()
  ) async -> (results: [String], error: (any Error)?) {
    await outcome(of: PipelineRunner(pipeline, services: services).execute(request))
  }
}

/// All results of a stream as "source:body", and the error that ended it.
func outcome(of stream: ResponseStream) async -> (results: [String], error: (any Error)?) {
  var results: [String] = []
  do {
    for try await response in stream { results.append(response.text) }
    return (results, nil)
  } catch {
    return (results, error)
  }
}

extension GraphQLResponse {
  var text: String {
    let bytes = (try? data?.bytes()) ?? []
    return "\(source):\(String(decoding: bytes, as: UTF8.self))"
  }
}

extension GraphQLRequest {
  static func test(
    _ name: String = "Q", _ type: OperationType = .query, policy: CachePolicy? = .networkOnly
  ) -> GraphQLRequest {
    GraphQLRequest(
      document: "query \(name) { viewer { login } }", operationName: name, operationType: type,
      cachePolicy: policy)
  }
}

let testEndpoint: Endpoint = {
  do {
    return try Endpoint(url: "https://api.example.com/graphql")
  } catch {
    preconditionFailure("the test endpoint is a URL")
  }
}()

struct Refused: Error, Equatable {
  var by: String
}
