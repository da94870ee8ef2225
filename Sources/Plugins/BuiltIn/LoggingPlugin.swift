public import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging

/// Logs one line when an operation is sent and one for each result.
public struct LoggingPlugin: Plugin {
  /// What `logging` does, in one sentence.
  public static let summary =
    "Logs operations on their path to the server and back, and HTTP exchanges on request"
  /// When to use `logging`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it in every pipeline: one line for each operation and one for each result.",
    position:
      "Put it at the top to see operations as the caller does. To see requests as they are sent, "
      + "put a second one directly above `fetch`: the headers that it shows are those at its "
      + "position.",
    example: "logging: { level: debug, headers: true }",
    narration:
      "A query produces the line `→ User`, then the HTTP request with its header fields, the "
      + "response with its own, and `← User [server] 12 ms`. Tokens and cookies are shown as •••.",
    subscriptions:
      "Logs a line for each connection and for each event. With `body`, the beginning of "
      + "the stream is logged when the connection ends.",
    uploads:
      "Logs the name, media type and size of each file, never its contents.",
    moreExamples: ["logging", "logging: { body: true, max_body: 1KiB, redact: [email] }"])

  @Option("Level of the lines; errors are always logged as errors") var level = Logger.Level.info
  @Option("Whether the header fields of requests and responses are logged, with secrets hidden")
  var headers = false
  @Option("Whether the bodies of requests and responses are logged, with secrets hidden")
  var body = false
  @Option(ByteSize(bytes: 1)...(.mebibytes(16)), "How much of a body is logged")
  var maxBody = ByteSize.kibibytes(4)
  @Option("Names of further members of JSON objects whose values are not logged")
  var redact: [String] = []

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Shows header fields if the option `headers` is set.
  public var traits: PluginTraits { headers ? .showsHeaders : [] }

  /// Surrounds operations and HTTP exchanges; warns if it shows header fields that a plugin below
  /// it changes.
  public var placement: Placement {
    .wrap(
      .graphQL, .http,
      rules: headers
        ? [
          .belowAll(
            .changesHeaders, code: .loggingPosition,
            reason: "which changes the headers that it shows",
            remedy: "add another {self} below {other}")
        ] : [])
  }

  /// Creates the interceptor that logs operations and, if requested, the one that logs HTTP
  /// exchanges.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    let operations = ChainPart.graphQL(OperationLog(level: level))
    guard headers || body else { return [operations] }
    let bodies = body ? BodyView(limit: maxBody.bytes, redacted: redact) : nil
    return [
      operations, .http(ExchangeLog(level: level, showsHeaders: headers, bodies: bodies)),
    ]
  }
}

/// Logs operations: `→ op`, `← op [cache|server] 12 ms`, `✗ op error`.
private struct OperationLog: GraphQLInterceptor {
  let level: Logger.Level

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    let lines = OperationLines(
      level: level, logger: context.services.logger, clock: context.services.clock,
      label: request.label)
    lines.sent(attempt: context.attempt)
    let stream = await next(request)
    return ResponseStream(pull: {
      do {
        guard let response = try await stream.next() else { return nil }
        lines.received(response)
        return response
      } catch let retry as ChainRetry {
        throw retry
      } catch {
        lines.failed(error)
        throw error
      }
    })
  }
}

/// The lines about one operation.
///
/// They are not inlined, because every subscription would have their frame.
private final class OperationLines: Sendable {
  private let level: Logger.Level
  private let logger: Logger
  private let clock: ServiceClock
  private let label: String
  private let start: Duration

  init(level: Logger.Level, logger: Logger, clock: ServiceClock, label: String) {
    (self.level, self.logger, self.clock, self.label) = (level, logger, clock, label)
    start = clock.now()
  }

  func sent(attempt: Int) {
    logger.log(level: level, "→ \(label)\(attempt > 1 ? " (attempt \(attempt))" : "")")
  }

  @inline(never)
  func received(_ response: GraphQLResponse) {
    let count = response.errors.count
    let errors = count == 0 ? "" : ", \(Quantity.count(count, "GraphQL error"))"
    logger.log(
      level: level,
      "← \(label) [\(response.origin)] \((clock.now() - start).shown)\(errors)")
  }

  @inline(never)
  func failed(_ error: any Error) {
    // The caller ended the operation, so nothing failed.
    let isCancelled = error is CancellationError
    logger.log(
      level: isCancelled ? .debug : .error,
      "✗ \(label) \(isCancelled ? "cancelled" : "\(error)")")
  }
}

/// Logs HTTP exchanges: their header fields and bodies, with secrets hidden.
private struct ExchangeLog: HTTPInterceptor {
  let level: Logger.Level
  let showsHeaders: Bool
  /// How bodies are shown; `nil` shows none.
  let bodies: BodyView?

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let logger = context.services.logger
    let path = request.head.path.map { Substring($0.unicodeScalars.prefix { $0 != "?" }) } ?? "/"
    logger.log(level: level, "> \(request.head.method) \(request.head.origin)\(path)")
    let hiding = context.services.secrets.hiding(with: request.secrets)
    if showsHeaders { log(request.head.headerFields, sign: ">", hiding: hiding, logger: logger) }
    for file in request.multipart?.files ?? [] { logger.log(level: level, "> file \(file)") }
    if let bodies, let body = request.body ?? request.multipart?.operations {
      let seen = ObservedBytes(
        bytes: Array(body.prefix(bodies.limit)), count: body.count, isWhole: true)
      logger.log(
        level: level, "> \(bodies.text(seen, fields: request.head.headerFields, hiding: hiding))")
    }
    let response: HTTPResponseMessage
    do {
      response = try await next(request)
    } catch {
      if bodies != nil { logger.log(level: level, "< the response was not yet received") }
      throw error
    }
    logger.log(level: level, "< \(response.head.status.shown)")
    if showsHeaders { log(response.head.headerFields, sign: "<", hiding: hiding, logger: logger) }
    guard let bodies else { return response }
    let (level, fields) = (level, response.head.headerFields)
    return response.observed(keeping: bodies.limit) { seen in
      logger.log(level: level, "< \(bodies.text(seen, fields: fields, hiding: hiding))")
    }
  }

  private func log(
    _ fields: HTTPFields, sign: String, hiding: SecretHiding, logger: Logger
  ) {
    for field in fields {
      let name = field.name.rawName
      logger.log(
        level: level, "\(sign) \(name): \(hiding.value(field.value, ofField: name))")
    }
  }
}

/// How bodies are shown: their beginning, without secrets.
private struct BodyView: Sendable {
  let limit: Int
  /// Names of further members that are not shown.
  let redacted: [String]

  func text(_ seen: ObservedBytes, fields: HTTPFields, hiding: SecretHiding) -> String {
    let redactor = BodyRedactor(fields, names: redacted)
    guard seen.count > 0 else {
      return seen.isWhole ? "an empty body" : "the body was not yet received"
    }
    var note = ""
    if seen.bytes.count < seen.count {
      note = " … (\(seen.bytes.count) of \(seen.isWhole ? "" : "at least ")\(seen.count) bytes)"
    } else if !seen.isWhole {
      note = " … (the rest was not yet received)"
    }
    // The limit may be inside a character.
    let text = (0...3).lazy.compactMap {
      String(validating: redactor.redact(seen.bytes.dropLast($0)), as: UTF8.self)
    }.first
    guard let text, !note.isEmpty || String(validating: seen.bytes, as: UTF8.self) != nil else {
      return "a body of \(seen.count) bytes that are not UTF-8 text"
    }
    return hiding.text(text) + note
  }
}
