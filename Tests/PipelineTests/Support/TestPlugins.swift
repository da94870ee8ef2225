import GQLRunPipeline
import HTTPTypes

/// A plugin of a test, which needs no prose.
protocol TestPlugin: Plugin {}

extension TestPlugin {
  static var documentation: PluginDocumentation {
    PluginDocumentation(use: "Tests.", position: "Tests.", example: name, narration: "Tests.")
  }
}

/// Plugins with options like those of the built-in ones and no behaviour, for tests of pipeline files.
enum TestPlugins {
  /// Options that the built-in plugins do not have, or have with another type or default: each shows a type of
  /// option, a default or a bound that the tests need.
  static let ownOptions: Set<String> = [
    "logging.level", "max-retry.on", "max-retry.backoff.base", "max-retry.backoff.max",
    "max-retry.backoff.jitter", "max-retry.share", "token-refresh.token", "token-refresh.claims",
    "headers.set", "headers.default", "fetch.max_body", "fetch.proxy", "fetch.ca_file",
  ]

  static let registry = PluginRegistry([
    Logging.self, MaxRetry.self, CacheRead.self, TokenRefresh.self, APQ.self, Headers.self,
    Fetch.self, Replay.self, ResponseCode.self, Parse.self, CacheWrite.self, Picky.self,
  ])

  struct Logging: TestPlugin {
    static let summary = "Writes a line per request and result"
    static let documentation = PluginDocumentation(
      use: "Always.", position: "At the top.", example: "logging: { level: debug }",
      narration: "Two lines are written.", moreExamples: ["logging"])
    enum Level: String, CaseIterable, ExpressibleByOption { case debug, info, warning, error }
    @Option("The level of the lines") var level = Level.info
    @Option("Whether fields are shown") var headers = false
    var placement: Placement { .wrap(.graphQL, .http) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] {
      [.graphQL(PassGraphQL()), .http(PassHTTP())]
    }
  }

  struct MaxRetry: TestPlugin {
    static let summary = "Bounds and triggers retries"
    struct Delays: OptionSection {
      @Option("The first delay") var base = Duration.milliseconds(300)
      @Option(1...10, "The growth") var factor = 2.0
      @Option(.milliseconds(1) ... .seconds(3600), "The longest delay")
      var max = Duration.seconds(20)
      enum Jitter: String, CaseIterable, ExpressibleByOption { case none, equal, full }
      @Option("The spread") var jitter = Jitter.equal
    }
    @Option(0...24, "How often at most") var maxRetries = 3
    @Option("What is retried") var on = ["transport", "429"]
    @Option("The delays") var backoff = Delays()
    @Option("Whether the server may ask for more") var respectRetryAfter = true
    @Option("How many requests may be retries") var share: Percentage?
    enum Mutations: String, CaseIterable, ExpressibleByOption { case unsent, always }
    @Option("Whether all mutations") var mutations = Mutations.unsent
    var traits: PluginTraits { .boundsRestarts }
    var placement: Placement { .wrap(.graphQL) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.graphQL(PassGraphQL())] }
  }

  struct CacheRead: TestPlugin {
    static let summary = "Answers from the cache"
    @Option("How the cache is used") var policy = CachePolicy.cacheFirst
    var traits: PluginTraits {
      policy == .cacheOnly ? [.readsCache, .cacheOnly] : .readsCache
    }
    var placement: Placement {
      .step(
        .cache,
        rules: [
          .requires(
            .writesCache, with: .memoryStore, code: .cacheRead,
            message: "no plugin fills the store that {self} reads",
            remedy: "add `- cache-write` below the parser", severity: .warning)
        ])
    }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.cacheRead(PassCache())] }
  }

  struct TokenRefresh: TestPlugin {
    static let summary = "Sends and renews a token"
    @Option("The token") var token: SecretString?
    @Option("Values expanded per request") var claims = OptionMap<Template>()
    var traits: PluginTraits { [.changesRequests, .restarts, .takesTestTokens] }
    var placement: Placement { .wrap(.graphQL) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.graphQL(PassGraphQL())] }
  }

  struct APQ: TestPlugin {
    static let summary = "Sends hashes instead of documents"
    @Option("The method") var queryMethod = Endpoint.Method.post
    var traits: PluginTraits { [.restarts, .passesSubscriptions, .passesUploads] }
    var placement: Placement { .wrap(.graphQL) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.graphQL(PassGraphQL())] }
  }

  struct Headers: TestPlugin {
    static let summary = "Changes HTTP fields"
    @Option("Fields to set", secrecy: .secretHeaders) var set = OptionMap<String>()
    @Option("Fields to set where there is none") var `default` = OptionMap<Template>()
    @Option("Fields to remove") var remove: [String] = []
    var traits: PluginTraits { .changesHeaders }
    var placement: Placement { .wrap(.http) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.http(PassHTTP())] }
  }

  struct Fetch: TestPlugin {
    static let summary = "Sends the request"
    @Option(.milliseconds(1) ... .seconds(86400), "The time for the exchange")
    var timeout = Duration.seconds(300)
    @Option("The largest body") var maxBody = ByteSize.gibibytes(1)
    @Option("Whether HTTP/2 is spoken") var http2 = true
    @Option("The proxy") var proxy: String?
    @Option("Certificates") var caFile: OptionPath?
    var traits: PluginTraits { .fetches }
    var placement: Placement {
      .step(
        .http,
        rules: [
          .once(.fetches, code: .fetch, verb: "fetches"),
          .requires(
            .parses, atChain: true, code: .parse, message: "nothing parses the responses of {self}",
            remedy: "add `- parse` below {self}"),
          .requires(
            .endpoint, code: .wrongValue, message: "{self} needs the key `endpoint`",
            remedy: "add `endpoint: { url: … }` to the file"),
        ])
    }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.fetch(PassHTTP())] }
  }

  struct Replay: TestPlugin {
    static let name = "record-replay"
    static let summary = "Answers from files"
    enum Mode: String, CaseIterable, ExpressibleByOption { case replay, record, auto }
    @Option("Which way") var mode = Mode.replay
    var traits: PluginTraits { mode == .replay ? .answers : [] }
    var placement: Placement { .wrap(.http) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.http(PassHTTP())] }
  }

  struct ResponseCode: TestPlugin {
    static let summary = "Checks the status"
    var traits: PluginTraits { .checksStatus }
    var placement: Placement { .step(.http) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.http(PassHTTP())] }
  }

  struct Parse: TestPlugin {
    static let summary = "Parses results"
    var traits: PluginTraits { .parses }
    var placement: Placement {
      .step(
        .parsing,
        rules: [
          .once(.parses, code: .parse, verb: "parses"),
          .below(.fetches, code: .parse, reason: "too early"),
        ])
    }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.parsing(PassParsing())] }
  }

  struct CacheWrite: TestPlugin {
    static let summary = "Keeps results"
    enum OnErrors: String, CaseIterable, ExpressibleByOption {
      case skipErrored = "skip-errored"
      case discard, keep
    }
    @Option("What becomes of results with errors") var onErrors = OnErrors.skipErrored
    var traits: PluginTraits { .writesCache }
    var placement: Placement {
      .step(
        .cache,
        rules: [
          .requires(
            .store, code: .cacheWrite, message: "{self} has no store to write to",
            remedy: "add `store: { kind: memory }` to the file"),
          .below(.parses, code: .cacheWrite, reason: "before there is anything to write"),
        ])
    }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] { [.cacheWrite(PassCache())] }
  }

  /// Refuses options that are each fine.
  struct Picky: TestPlugin {
    static let summary = "Wants low below high"
    struct Range: OptionSection {
      @Option("The lower end") var low: Int
      @Option("The upper end") var high: Int

      func validate() throws(OptionError) {
        guard low > high else { return }
        throw $high.error("`high` is below `low`", remedy: "swap them")
      }
    }
    enum Stage: String, CaseIterable, ExpressibleByOption { case graphql, http }
    @Option("A range") var range: Range?
    @Option("More ranges") var more: [Range] = []
    @Option("Ranges with their locations, by name") var named = OptionMap<Located<Range>>()
    @Option("Where") var stage = Stage.http
    var placement: Placement { .wrap(.graphQL, .http) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] {
      [stage == .http ? .http(PassHTTP()) : .graphQL(PassGraphQL())]
    }
  }
}

struct PassGraphQL: GraphQLInterceptor {
  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    await next(request)
  }
}

struct PassHTTP: HTTPInterceptor {
  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    try await next(request)
  }
}

struct PassCache: CacheInterceptor {}

struct PassParsing: ResponseParsingInterceptor {
  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest,
    target: CacheWriteTarget?, context: ChainContext
  ) async throws -> ResponseStream {
    ResponseStream(GraphQLResponse(source: .server))
  }
}
