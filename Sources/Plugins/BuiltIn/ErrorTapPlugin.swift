import GQLRunJSON
public import GQLRunPipeline
import Logging

/// Handles every error before the caller receives it: logs it, and maps it by rules.
public struct ErrorTapPlugin: Plugin {
  /// What `error-tap` does, in one sentence.
  public static let summary =
    "Logs every error just before the caller receives it, and replaces it by rules"
  /// When to use `error-tap`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use:
      "Use it to log errors of every origin in one place, and to turn expected failures into "
      + "results.",
    position:
      "Put it at the top: it sees the error that the caller would receive, after all retries.",
    example: "error-tap: { rules: [{ statuses: [404], then: recover, data: '{\"user\": null}' }] }",
    narration:
      "A response with status 404 becomes a result with a null user. Every other error is logged "
      + "and reaches the caller unchanged.",
    subscriptions:
      "Handles the error that ends the subscription, and logs the errors in each event. A "
      + "lost connection that `max-retry` opens again is no error.",
    moreExamples: [
      "error-tap",
      "error-tap: { rules: [{ codes: [cache_miss], then: replace, message: not there yet }] }",
    ])

  @Option("Whether errors are logged: those that end an operation, and those in its results")
  var log = true
  @Option("Level of the lines") var level = Logger.Level.error
  @Option("The first rule that applies decides") var rules: [Rule] = []

  struct Rule: OptionSection {
    @Option("Codes that it applies to, such as cache_miss; any by default") var codes: [String]?
    @Option("Layers that it applies to; any by default") var layers: [ChainError.Layer]?
    @Option(100...599, "HTTP statuses that it applies to; any by default") var statuses: [Int]?
    @Option("Operations that it applies to; any by default") var operations: [String]?
    @Option("What happens to the error") var then: Action
    @Option("Message of the error that replaces it") var message: String?
    @Option("Code of the error that replaces it") var code: String?
    @Option("Data, as JSON, of the result that replaces it; null by default") var data: String?

    enum Action: String, CaseIterable, ExpressibleByOption {
      case rethrow, replace, recover, suppress
    }

    func validate() throws(OptionError) {
      if then == .replace, message == nil {
        throw $then.error(
          "a rule that replaces errors needs a `message`",
          remedy: "write `then: replace, message: …`")
      }
      if then != .replace, message != nil || code != nil {
        throw $then.error(
          "only a rule that replaces errors has a `message` and a `code`",
          remedy: "write `then: replace`")
      }
      guard then == .recover || data == nil else {
        throw $then.error(
          "only a rule that recovers has `data`", remedy: "write `then: recover`")
      }
      let value: JSONValue
      do {
        value = try JSONValue(parsing: data ?? "null")
      } catch {
        throw $data.error(
          "the `data` of a rule is not JSON: \(error.message)",
          remedy: "write it in single quotes: data: '{\"user\": null}'")
      }
      guard !value.isNull, value.objectValue == nil else { return }
      throw $data.error("the `data` of a rule is not an object: it is JSON of type \(value.kind)")
    }

    fileprivate func applies(to error: any Error, _ request: GraphQLRequest) -> Bool {
      let failure = error as? ChainError
      if let codes, !(failure.map { codes.contains($0.code.rawValue) } ?? false) { return false }
      if let layers, !(failure.map { layers.contains($0.layer) } ?? false) { return false }
      if let statuses, !(failure?.http.map { statuses.contains($0.status) } ?? false) {
        return false
      }
      return operations.map { request.operationName.map($0.contains) ?? false } ?? true
    }
  }

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Surrounds operations, anywhere in the GraphQL stage.
  public var placement: Placement { .wrap(.graphQL) }

  /// Creates the error tap and, if errors are logged, the interceptor that logs those in results.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    let level = log ? level : nil
    let tap = ChainPart.errorTap(RuledErrorTap(level: level, rules: rules))
    return level.map { [.graphQL(ErrorLog(level: $0)), tap] } ?? [tap]
  }
}

private struct RuledErrorTap: ErrorTap {
  /// The level of log messages; `nil` logs nothing.
  let level: Logger.Level?
  let rules: [ErrorTapPlugin.Rule]

  func tap(
    _ error: any Error, request: GraphQLRequest, context: ChainContext
  ) async -> ErrorOutcome {
    // The caller cancelled the operation itself.
    guard !(error is CancellationError) else { return .error(error) }
    if let level { log(error, request: request, logger: context.services.logger, level: level) }
    guard let rule = rules.first(where: { $0.applies(to: error, request) }) else {
      return .error(error)
    }
    switch rule.then {
    case .rethrow: return .error(error)
    case .suppress: return .suppressed
    case .recover:
      let data = try? JSONValue(parsing: rule.data ?? "null").jsonBytes()
      return .result(GraphQLResponse(source: .cache, data: data))
    case .replace:
      let failure = error as? ChainError
      return .error(
        ChainError(
          failure?.layer ?? .chain,
          code: rule.code.map { .init(rawValue: $0) } ?? failure?.code ?? .noResult,
          message: rule.message ?? "", entry: context.entryID, cause: error, http: failure?.http,
          graphQLErrors: failure?.graphQLErrors ?? [], delivery: failure?.delivery))
    }
  }

  private func log(
    _ error: any Error, request: GraphQLRequest, logger: Logger, level: Logger.Level
  ) {
    let failure = error as? ChainError
    let errors = failure?.graphQLErrors ?? []
    if errors.isEmpty {
      let line = ErrorLog.line(
        failure?.layer.rawValue ?? "chain", request, code: failure?.code.rawValue, path: nil,
        message: "\(error)")
      logger.log(level: level, "\(line)")
    }
    for error in errors { logger.log(level: level, "\(ErrorLog.line(request, error))") }
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
      "\(layer.lowercased())_error operation=\(request.operationName ?? "anonymous") "
      + "code=\(code ?? "UNKNOWN") path=\(path ?? "—") message=\(text)"
  }
}
