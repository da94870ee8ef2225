import GQLRunPipeline
import HTTPTypes

/// Plugins with parts of the tables of the built-in ones and no behaviour, for tests of pipeline files.
///
/// ``TestPluginsTests`` compares the tables.
enum TestPlugins {
  /// Options that the built-in plugins do not have, or have with another type or default: each shows a type of
  /// option, a default or a bound that the tests need.
  static let ownOptions: Set<String> = [
    "logging.level", "max-retry.on", "max-retry.backoff.base", "max-retry.backoff.max",
    "max-retry.backoff.jitter", "max-retry.share", "token-refresh.token", "token-refresh.claims",
    "headers.set", "headers.default", "fetch.max_body", "fetch.proxy", "fetch.ca_file",
  ]

  static let registry = PluginRegistry([
    Logging.self, MaxRetry.self, CacheRead.self, TokenRefresh.self, PersistedQueries.self,
    Headers.self, Fetch.self, Replay.self, ResponseCode.self, Parse.self, CacheWrite.self,
    Picky.self,
  ])

  enum Logging: Plugin {
    static let description = PluginDescription(
      name: "logging", summary: "Writes a line per request and result", kind: .wrap,
      stages: [.graphQL, .http], roles: [.logsHeaders],
      options: [
        OptionDescription(
          "level", .choice(["debug", "info", "warning", "error"]), default: "info",
          "The level of the lines"),
        OptionDescription("headers", .bool, default: "false", "Whether fields are shown"),
      ], examples: ["logging: { level: debug }"])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      PluginInstance([.graphQL(PassGraphQL()), .http(PassHTTP())])
    }
  }

  enum MaxRetry: Plugin {
    static let description = PluginDescription(
      name: "max-retry", summary: "Bounds and triggers retries", kind: .wrap, stages: [.graphQL],
      roles: [.boundsRestarts],
      options: [
        OptionDescription("max_retries", .int(in: 0...24), default: "3", "How often at most"),
        OptionDescription(
          "on", .list(.string), default: "[transport, 429]", "What is retried"),
        OptionDescription(
          "backoff",
          .object([
            OptionDescription("base", .duration(), default: "300ms", "The first delay"),
            OptionDescription("factor", .double(in: 1...10), default: "2", "The growth"),
            OptionDescription(
              "max", .duration(in: .milliseconds(1)...(.seconds(3600))), default: "20s",
              "The longest delay"),
            OptionDescription(
              "jitter", .choice(["none", "equal", "full"]), default: "equal", "The spread"),
          ]), default: "{}", "The delays"),
        OptionDescription(
          "respect_retry_after", .bool, default: "true", "Whether the server may ask for more"),
        OptionDescription("share", .percentage, "How many requests may be retries"),
        OptionDescription(
          "mutations", .choice(["unsent", "always"]), default: "unsent", "Whether all mutations"),
      ])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      .graphQL(PassGraphQL())
    }
  }

  enum CacheRead: Plugin {
    static let description = PluginDescription(
      name: "cache-read", summary: "Answers from the cache", kind: .step, stages: [.cache],
      roles: [.cacheRead],
      options: [
        OptionDescription(
          "policy", .choice(CachePolicy.names), default: "cache-first", "How the cache is used")
      ])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      .cacheRead(PassCache())
    }
  }

  enum TokenRefresh: Plugin {
    static let description = PluginDescription(
      name: "token-refresh", summary: "Sends and renews a token", kind: .wrap, stages: [.graphQL],
      roles: [.authenticates, .restarts],
      options: [
        OptionDescription("token", .string, secrecy: .secret, "The token"),
        OptionDescription(
          "claims", .map(.template), default: "{}", "Values expanded per request"),
      ])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      .graphQL(PassGraphQL())
    }
  }

  enum PersistedQueries: Plugin {
    static let description = PluginDescription(
      name: "apq", summary: "Sends hashes instead of documents", kind: .wrap, stages: [.graphQL],
      roles: [.persistedQueries, .restarts],
      options: [
        OptionDescription("query_method", .choice(["GET", "POST"]), default: "POST", "The method")
      ])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      .graphQL(PassGraphQL())
    }
  }

  enum Headers: Plugin {
    static let description = PluginDescription(
      name: "headers", summary: "Changes HTTP fields", kind: .wrap, stages: [.http],
      roles: [.changesHeaders],
      options: [
        OptionDescription("set", .map(.string), secrecy: .secretHeaders, "Fields to set"),
        OptionDescription("default", .map(.template), "Fields to set where there is none"),
        OptionDescription("remove", .list(.string), "Fields to remove"),
      ])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      .http(PassHTTP())
    }
  }

  enum Fetch: Plugin {
    static let description = PluginDescription(
      name: "fetch", summary: "Sends the request", kind: .step, stages: [.http], roles: [.fetch],
      options: [
        OptionDescription(
          "timeout", .duration(in: .milliseconds(1)...(.seconds(86400))), default: "5m",
          "The time for the exchange"),
        OptionDescription("max_body", .size(), default: "1GiB", "The largest body"),
        OptionDescription("http2", .bool, default: "true", "Whether HTTP/2 is spoken"),
        OptionDescription("proxy", .string, "The proxy"),
        OptionDescription("ca_file", .path, "Certificates"),
      ])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      .fetch(PassHTTP())
    }
  }

  enum Replay: Plugin {
    static let description = PluginDescription(
      name: "record-replay", summary: "Answers from files", kind: .wrap, stages: [.http],
      roles: [.replay],
      options: [
        OptionDescription(
          "mode", .choice(["replay", "record", "auto"]), default: "replay", "Which way")
      ])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      .http(PassHTTP())
    }
  }

  enum ResponseCode: Plugin {
    static let description = PluginDescription(
      name: "response-code", summary: "Checks the status", kind: .step, stages: [.http],
      roles: [.responseCode])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      .http(PassHTTP())
    }
  }

  enum Parse: Plugin {
    static let description = PluginDescription(
      name: "parse", summary: "Parses results", kind: .step, stages: [.parsing], roles: [.parse])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      .parsing(PassParsing())
    }
  }

  enum CacheWrite: Plugin {
    static let description = PluginDescription(
      name: "cache-write", summary: "Keeps results", kind: .step, stages: [.cache],
      roles: [.cacheWrite],
      options: [
        OptionDescription(
          "on_errors", .choice(["skip-errored", "discard", "keep"]), default: "skip-errored",
          "What becomes of results with errors")
      ])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      .cacheWrite(PassCache())
    }
  }

  /// Refuses options that are each fine.
  enum Picky: Plugin {
    static let description = PluginDescription(
      name: "picky", summary: "Wants low below high", kind: .wrap, stages: [.graphQL, .http],
      options: [
        OptionDescription(
          "range",
          .object([
            OptionDescription("low", .int(), required: true, "The lower end"),
            OptionDescription("high", .int(), required: true, "The upper end"),
          ]), default: nil, "A range"),
        OptionDescription("stage", .choice(["graphql", "http"]), default: "http", "Where"),
      ])

    static func make(
      options: PluginOptions, environment: PluginEnvironment
    ) throws(PluginOptionError) -> PluginInstance {
      if let range = options.object(ifGiven: "range"), range.int("low") > range.int("high") {
        throw PluginOptionError(
          option: "range.high", "`high` is below `low`", remedy: "swap them")
      }
      return options.string("stage") == "http" ? .http(PassHTTP()) : .graphQL(PassGraphQL())
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
