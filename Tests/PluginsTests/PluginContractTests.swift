import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTesting
import HTTPTypes
import Logging
import Testing

@Suite("The contract of plugins", .timeLimit(.minutes(10)))
struct PluginContractTests {
  static let builtIn: [PluginContract] = [
    PluginContract(AuditPlugin.self, context: ["user": "ada"]),
    PluginContract(CacheReadPlugin.self, entry: "cache-read: { policy: network-first }"),
    PluginContract(CacheWritePlugin.self),
    PluginContract(CookiesPlugin.self),
    PluginContract(CorrelationIDPlugin.self),
    PluginContract(DeduplicatePlugin.self, readsAhead: true),
    PluginContract(ErrorTapPlugin.self),
    PluginContract(
      ExecPlugin.self,
      entry: "exec: { command: [sh, ./pass.sh], events: [request, response], timeout: 1m }",
      files: [
        "pass.sh": #"""
        while read -r line; do
          id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\)}$/\1/p')
          [ -z "$id" ] || printf '{"id":%s,"action":"continue"}\n' "$id"
        done
        """#
      ]),
    PluginContract(FetchPlugin.self),
    PluginContract(HTTPBatchPlugin.self, entry: "http-batch: { window: 0s }"),
    PluginContract(HeadersPlugin.self),
    PluginContract(LoggingPlugin.self, entry: "logging: { headers: true, body: true }"),
    PluginContract(MaxRetryPlugin.self, entry: "max-retry: { backoff: { base: 0s } }"),
    PluginContract(ParsePlugin.self),
    PluginContract(
      PersistedQueriesPlugin.self,
      files: [
        "operations.json":
          #"{"format":"apollo-persisted-query-manifest","version":1,"operations":[]}"#
      ]),
    PluginContract(RateLimitPlugin.self, entry: "rate-limit: { requests: 1000000 }"),
    PluginContract(
      RecordReplayPlugin.self, entry: "record-replay: { file: r.ndjson, mode: record }",
      variables: ["RECORD": "record"]),
    PluginContract(RequireContextPlugin.self, context: ["user": "ada", "tenant": "acme"]),
    PluginContract(ResponseCodePlugin.self),
    PluginContract(TimeoutPlugin.self),
    PluginContract(
      TokenRefreshPlugin.self, entry: "token-refresh: { env: API_TOKEN }",
      variables: ["API_TOKEN": "t0ken", "CI_SECRET": "s3cret"]),
  ]

  @Test("is kept by every built-in plugin", arguments: builtIn)
  func kept(_ contract: PluginContract) async throws {
    try await contract.check()
  }

  @Test("is checked for every built-in plugin")
  func complete() {
    #expect(Self.builtIn.map(\.pluginName).sorted() == PluginRegistry.builtIn.names)
  }

  @Test("every built-in plugin says what it does with subscriptions")
  func subscriptions() {
    for description in PluginRegistry.builtIn.descriptions {
      #expect(
        description.documentation.subscriptions != PluginDocumentation.plainSubscriptions,
        "\(description.name)")
    }
  }

  @Test("finds what is broken")
  func broken() async throws {
    await expect("declarations are valid") { try PluginContract(Unsound.self).checkDeclarations() }
    await expect("an example loads") { try PluginContract(Fickle.self).checkExamples() }
    await expect("a written default has no effect") {
      try PluginContract(Forgetful.self).checkDefaults()
    }
    let breaking: [(Broken, String)] = [
      (.logsHeaders, "secrets do not show"), (.losesResults, "no request is lost"),
      (.hidesErrors, "errors pass unchanged"), (.detaches, "cancellation passes through"),
      (.collects, "streams pass lazily"), (.readsBody, "streams pass lazily"),
      (.losesEvents, "events pass one by one"), (.readsEvents, "events pass one by one"),
    ]
    for (kind, rule) in breaking {
      await expect(rule) {
        try await PluginContract(Breaking.self, entry: "breaking: { kind: \(kind.rawValue) }")
          .check()
      }
    }
    try await PluginContract(Breaking.self).check()
  }

  private func expect(_ rule: String, _ check: () async throws -> Void) async {
    do {
      try await check()
      Issue.record("the contract does not see that this is broken: \(rule)")
    } catch let failure as PluginContract.Failure {
      #expect(failure.rule == rule, "\(failure)")
    } catch {
      Issue.record("\(rule): \(error)")
    }
  }
}

private func prose(_ example: String) -> PluginDocumentation {
  PluginDocumentation(use: "Tests.", position: "Anywhere.", example: example, narration: "Tests.")
}

struct Unsound: Plugin {
  static let summary = "Ends with a full stop."
  static let documentation = prose("unsound")
  var placement: Placement { .wrap(.graphQL) }
  func parts(_ environment: PluginEnvironment) -> [ChainPart] { [] }
}

struct Fickle: Plugin {
  static let summary = "Has an example that no longer loads"
  static let documentation = prose("fickle: { colour: red }")
  @Option("The color") var color = "red"
  var placement: Placement { .wrap(.graphQL) }
  func parts(_ environment: PluginEnvironment) -> [ChainPart] { [] }
}

struct Forgetful: Plugin {
  static let summary = "Reads another value than it writes"
  static let documentation = prose("forgetful")
  struct Level: ExpressibleByOption {
    var number: Int
    static func optionType(in range: ClosedRange<Never>?) -> OptionType { .int() }
    static var unsetOption: Level { Level(number: 0) }
    var optionDefault: JSONValue? { number.optionDefault }
    init(number: Int) { self.number = number }
    init(option: GivenOption) throws(OptionError) { number = try Int(option: option) + 1 }
  }
  @Option("The level") var level = Level(number: 3)
  var placement: Placement { .wrap(.graphQL) }
  func parts(_ environment: PluginEnvironment) -> [ChainPart] { [] }
}

enum Broken: String, CaseIterable, ExpressibleByOption {
  case nothing, logsHeaders, losesResults, hidesErrors, detaches, collects, readsBody
  case losesEvents, readsEvents
}

struct Breaking: Plugin {
  static let summary = "Breaks one rule"
  static let documentation = prose("breaking")
  @Option("The rule") var kind = Broken.nothing
  private var readsBodies: Bool { kind == .readsBody || kind == .readsEvents }
  var placement: Placement { readsBodies ? .wrap(.http) : .wrap(.graphQL) }
  func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    readsBodies
      ? [.http(BodyReader(isForEvents: kind == .readsEvents))]
      : [.graphQL(BreakingInterceptor(kind: kind))]
  }
}

private struct BodyReader: HTTPInterceptor {
  /// Whether only the bodies of subscriptions are read.
  let isForEvents: Bool

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    var response = try await next(request)
    guard !isForEvents || context.operationType == .subscription else { return response }
    response.body = HTTPBody([try await response.body.prefix(.max)])
    return response
  }
}

private struct BreakingInterceptor: GraphQLInterceptor {
  let kind: Broken

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    switch kind {
    case .logsHeaders:
      context.services.logger.info("\(request.additionalHeaders[.authorization] ?? "none")")
      return await next(request)
    case .losesResults:
      let stream = await next(request)
      return ResponseStream(pull: {
        _ = try await stream.next()
        return nil
      })
    case .hidesErrors:
      return await next(request).mapErrors { _ in GraphQLResponse(source: .server) }
    case .detaches:
      // Work in a task of its own is not cancelled with the caller's.
      let task = Task { try await next(request).next() }
      return ResponseStream(try await task.value ?? GraphQLResponse(source: .server))
    case .collects:
      var results: [GraphQLResponse] = []
      for try await result in await next(request) { results.append(result) }
      let all = results
      let taken = Counter()
      return ResponseStream(pull: { await taken.next(of: all) })
    case .losesEvents:
      let stream = await next(request)
      guard request.operationType == .subscription else { return stream }
      return ResponseStream(try await stream.next() ?? GraphQLResponse(source: .server))
    case .nothing, .readsBody, .readsEvents: return await next(request)
    }
  }
}

private actor Counter {
  private var index = 0

  func next(of results: [GraphQLResponse]) -> GraphQLResponse? {
    defer { index += 1 }
    return index < results.count ? results[index] : nil
  }
}
