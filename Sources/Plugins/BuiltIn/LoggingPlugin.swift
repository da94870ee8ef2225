import HTTPTypes
import Logging
public import Pipeline

/// One line when an operation goes out, one when it comes back.
public struct LoggingPlugin: Plugin {
  public static let description = PluginDescription(
    name: "logging",
    summary: "Logs operations on their way out and back, and HTTP exchanges where asked to",
    kind: .wrap, stages: [.graphQL, .http], roles: [.logsHeaders],
    options: [
      OptionDescription(
        "level", .choice(Logger.Level.allCases.map(\.rawValue)), default: "info",
        "The level of the lines; errors are logged as errors whatever it is"),
      OptionDescription(
        "headers", .bool, default: "false",
        "Whether the fields of requests and responses are logged, with their secrets hidden"),
    ],
    examples: ["logging", "logging: { level: debug, headers: true }"])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    let level = Logger.Level(rawValue: options.string("level")) ?? .info
    var parts: [PluginInstance.Part] = [.graphQL(OperationLog(level: level))]
    if options.bool("headers") { parts.append(.http(HeaderLog(level: level))) }
    return PluginInstance(parts)
  }
}

/// `→ op`, `← op [cache|server] 12 ms`, `✗ op error`.
private struct OperationLog: GraphQLInterceptor {
  let level: Logger.Level

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    let (logger, clock, label) = (context.services.logger, context.services.clock, request.label)
    let start = clock.now()
    let attempt = context.attempt > 1 ? " (attempt \(context.attempt))" : ""
    logger.log(level: level, "→ \(label)\(attempt)")
    return await next(request)
      .map { response in
        let count = response.errors.count
        let errors = count == 0 ? "" : ", \(count) GraphQL \(count == 1 ? "error" : "errors")"
        logger.log(
          level: level,
          "← \(label) [\(response.source.rawValue)] \((clock.now() - start).milliseconds)\(errors)")
        return response
      }
      .mapErrors { error in
        logger.error("✗ \(label) \(error)")
        throw error
      }
  }
}

/// The fields of HTTP exchanges, with the secret ones hidden.
private struct HeaderLog: HTTPInterceptor {
  let level: Logger.Level

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let logger = context.services.logger
    let path = request.head.path.map { $0.prefix { $0 != "?" } } ?? "/"
    logger.log(
      level: level,
      "> \(request.head.method) \(request.head.scheme ?? "http")://\(request.head.authority ?? "")\(path)"
    )
    for field in request.head.headerFields {
      logger.log(level: level, "> \(Redaction.line(field))")
    }
    let response = try await next(request)
    logger.log(level: level, "< \(ResponseCheck.describe(response.head))")
    for field in response.head.headerFields {
      logger.log(level: level, "< \(Redaction.line(field))")
    }
    return response
  }
}

/// Hides what must not be seen in HTTP fields.
enum Redaction {
  private static let openNames: Set<String> = [
    "accept", "accept-encoding", "accept-language", "age", "allow", "apollo-require-preflight",
    "cache-control", "connection", "content-encoding", "content-length", "content-type", "date",
    "etag", "expires", "host", "last-modified", "retry-after", "server", "transfer-encoding",
    "user-agent", "vary", "via", "x-request-id",
  ]

  /// `name: value`, with the value hidden unless the name is known to be harmless.
  static func line(_ field: HTTPField) -> String {
    let isOpen = openNames.contains(field.name.canonicalName)
    return "\(field.name.rawName): \(isOpen ? field.value : SecretString.redacted)"
  }
}

extension Duration {
  /// `12 ms`, `1.3 ms` below ten.
  var milliseconds: String {
    let value =
      Double(components.seconds) * 1e3 + Double(components.attoseconds) / 1e15
    if value >= 10 { return "\(Int(value.rounded())) ms" }
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) ms"
  }
}
