import GQLRunJSON
public import GQLRunPipeline
import Logging

/// Sees every error just before the caller does: logs it, and maps it by rules.
public struct ErrorTapPlugin: Plugin {
  public static let description = PluginDescription(
    name: "error-tap",
    summary: "Logs every error of whatever origin just before the caller sees it, and maps it",
    kind: .wrap, stages: [.graphQL],
    options: [
      OptionDescription(
        "log", .bool, default: "true",
        "Whether errors are logged: those that end an operation, and those in its results"),
      OptionDescription(
        "level", .choice(Logger.Level.allCases.map(\.rawValue)), default: "error",
        "The level of the lines"),
      OptionDescription("rules", .list(.object(rule)), "The first one that fits decides"),
    ],
    examples: [
      "error-tap",
      "error-tap: { rules: [{ statuses: [404], then: recover, data: '{\"user\": null}' }] }",
      "error-tap: { rules: [{ codes: [cache_miss], then: replace, message: not there yet }] }",
    ])

  private static let rule: [OptionDescription] = [
    OptionDescription(
      "codes", .list(.string), "The codes it is for, such as cache_miss; any when not given"),
    OptionDescription(
      "layers",
      .list(.choice(["request", "transport", "graphQL", "cache", "chain"])),
      "The layers it is for; any when not given"),
    OptionDescription(
      "statuses", .list(.int(in: 100...599)), "The HTTP statuses it is for; any when not given"),
    OptionDescription(
      "operations", .list(.string), "The operations it is for; any when not given"),
    OptionDescription(
      "then", .choice(["rethrow", "replace", "recover", "suppress"]), required: true,
      "What becomes of the error"),
    OptionDescription("message", .string, "What the error says that replaces it"),
    OptionDescription("code", .string, "The code of the error that replaces it"),
    OptionDescription(
      "data", .string, "The data, as JSON, of the result that recovers from it; null by default"),
  ]

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    var rules: [ErrorRule] = []
    for options in options.objects("rules") { rules.append(try ErrorRule(options)) }
    let level =
      options.bool("log") ? Logger.Level(rawValue: options.string("level")) ?? .error : nil
    let tap = RuledErrorTap(level: level, rules: rules)
    guard let level else { return .errorTap(tap) }
    return PluginInstance([.graphQL(ErrorLog(level: level)), .errorTap(tap)])
  }
}

/// What a file says about some errors.
private struct ErrorRule: Sendable {
  enum Outcome {
    case rethrow
    case replace(message: String, code: String?)
    case recover([UInt8])
    case suppress
  }

  let codes: Set<String>?
  let layers: Set<String>?
  let statuses: Set<Int>?
  let operations: Set<String>?
  let outcome: Outcome

  init(_ options: PluginOptions) throws(PluginOptionError) {
    codes = options["codes"].map { _ in Set(options.strings("codes")) }
    layers = options["layers"].map { _ in Set(options.strings("layers")) }
    statuses = options["statuses"].map { _ in Set(options.ints("statuses")) }
    operations = options["operations"].map { _ in Set(options.strings("operations")) }
    switch options.string("then") {
    case "replace":
      guard let message = options.string(ifGiven: "message") else {
        throw PluginOptionError(
          option: "rules", "a rule that replaces errors needs a `message`",
          remedy: "write `then: replace, message: …`")
      }
      outcome = .replace(message: message, code: options.string(ifGiven: "code"))
    case "recover":
      do {
        let data = try JSONValue(parsing: options.string(ifGiven: "data") ?? "null")
        outcome = .recover(data.jsonBytes())
      } catch {
        throw PluginOptionError(
          option: "rules", "the `data` of a rule is not JSON: \(error.message)",
          remedy: "write it in single quotes: data: '{\"user\": null}'")
      }
    case "suppress": outcome = .suppress
    default: outcome = .rethrow
    }
  }

  func fits(_ error: any Error, _ request: GraphQLRequest) -> Bool {
    let failure = error as? ChainError
    if let codes, !(failure.map { codes.contains($0.code.rawValue) } ?? false) { return false }
    if let layers, !(failure.map { layers.contains($0.layer.rawValue) } ?? false) { return false }
    if let statuses, !(failure?.http.map { statuses.contains($0.status) } ?? false) { return false }
    if let operations, !(request.operationName.map(operations.contains) ?? false) { return false }
    return true
  }
}

private struct RuledErrorTap: ErrorTap {
  /// `nil` does not log.
  let level: Logger.Level?
  let rules: [ErrorRule]

  func tap(
    _ error: any Error, request: GraphQLRequest, context: ChainContext
  ) async -> ErrorOutcome {
    // Who cancels knows why.
    guard !(error is CancellationError) else { return .error(error) }
    if let level { log(error, request, context.services.logger, level) }
    guard let rule = rules.first(where: { $0.fits(error, request) }) else { return .error(error) }
    switch rule.outcome {
    case .rethrow: return .error(error)
    case .suppress: return .suppressed
    case .recover(let data): return .result(GraphQLResponse(source: .cache, data: data))
    case .replace(let message, let code):
      let failure = error as? ChainError
      return .error(
        ChainError(
          failure?.layer ?? .chain, code.map { .init(rawValue: $0) } ?? failure?.code ?? .noResult,
          message, place: context.entryID, cause: error, http: failure?.http,
          graphQLErrors: failure?.graphQLErrors ?? [], delivery: failure?.delivery))
    }
  }

  private func log(
    _ error: any Error, _ request: GraphQLRequest, _ logger: Logger, _ level: Logger.Level
  ) {
    guard let failure = error as? ChainError else {
      return logger.log(
        level: level,
        "\(ErrorLog.line("chain", request, code: nil, path: nil, message: "\(error)"))")
    }
    if failure.graphQLErrors.isEmpty {
      logger.log(
        level: level,
        "\(ErrorLog.line(failure.layer.rawValue, request, code: failure.code.rawValue, path: nil, message: "\(failure)"))"
      )
    }
    for error in failure.graphQLErrors {
      logger.log(level: level, "\(ErrorLog.line(request, error))")
    }
  }
}

/// Logs the errors of results.
private struct ErrorLog: GraphQLInterceptor {
  let level: Logger.Level

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    let logger = context.services.logger
    return await next(request).map { response in
      for error in response.errors {
        logger.log(level: level, "\(Self.line(request, error))")
      }
      return response
    }
  }

  static func line(_ request: GraphQLRequest, _ error: GraphQLError) -> String {
    line(
      "graphql", request, code: error.code,
      path: error.path.map { $0.map(\.description).joined(separator: ".") },
      message: error.message)
  }

  /// `graphql_error operation=Feed code=FORBIDDEN path=viewer.repos.0 message="not allowed"`
  static func line(
    _ layer: String, _ request: GraphQLRequest, code: String?, path: String?, message: String
  ) -> String {
    let text = JSONValue.string(message).jsonText()
    return
      "\(layer.lowercased())_error operation=\(request.operationName ?? "anonymous") code=\(code ?? "UNKNOWN") "
      + "path=\(path ?? "—") message=\(text)"
  }
}
