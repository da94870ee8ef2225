import Foundation
import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
import GQLRunSupport
import Logging

/// Writes an audit log: lines of JSON for every operation, for mutations before and after they are sent.
public struct AuditPlugin: Plugin {
  /// What `audit` does, in one sentence.
  public static let summary =
    "Writes lines of JSON for every operation: what, who, when and with which outcome"
  /// When to use `audit`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use:
      "Use it where every change must be traceable to a user. The members of a line are `time`, `operation`, `type`, "
      + "`user`, `tenant`, `source` (`cache`, `server`, or null without a result), those of `values`, `id` and "
      + "`outcome`, and, unless the outcome is `sent` or `done`, `error`, without known secrets.\n\n"
      + "A mutation has a line with the outcome `sent` before each attempt, which is on the disk before anything is "
      + "sent, and a line with the same `id` afterwards: `done` if it was answered without errors; `failed` if it was "
      + "not sent, or the server answered with errors, although fields that the errors do not name may have been "
      + "executed; `unknown` if the server may have executed it, as after a timeout. If the last line of an `id` is "
      + "`sent`, the program ended before the answer, and the outcome is unknown as well. A query has one line, `done` "
      + "or `failed`.",
    position: "Put it above the cache read, so that answers from the cache are recorded too.",
    example: "audit: { file: audit.ndjson }",
    narration:
      "A query appends one line with its name, type, user, tenant, source, time and outcome to audit.ndjson when it "
      + "ends; a mutation appends one before it is sent, too. When the log cannot be opened, or this line cannot be "
      + "written, the operation is not sent at all. A query whose line cannot be written fails after it was answered.",
    subscriptions:
      "Writes one line: `done` for the first event without errors, or `failed` when the subscription ends before one. "
      + "A log that cannot be opened prevents the subscription from being sent.",
    moreExamples: ["audit: { values: [correlation_id] }"])

  @Option("File that lines are appended to; standard error by default") var file: WrittenPath?
  @Option("Context value that names the user") var user = "user"
  @Option("Context value that names the tenant") var tenant = "tenant"
  @Option("Names of further context values to write") var values: [String] = []
  @Option("Whether an operation fails when its line cannot be written") var required = true

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Checks that no context value has the name of a member of the lines.
  ///
  /// - Throws: `OptionError` for the name of a member that has another value.
  public func validate() throws(OptionError) {
    var members = ["time", "operation", "type", "source", "id", "outcome", "error"]
    if user != "user" { members.append("user") }
    if tenant != "tenant" { members.append("tenant") }
    if let name = values.first(where: { members.contains($0) }) {
      throw $values.error(
        "`\(name)` is a member of each line", remedy: "give the context value another name")
    }
  }

  /// Surrounds operations, anywhere in the GraphQL stage.
  public var placement: Placement { .wrap(.graphQL) }

  /// Creates the interceptor that appends the lines.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.graphQL(AuditInterceptor(options: self))]
  }
}

/// The destination of the lines. Writes one line at a time, each with one system call.
private actor AuditLog {
  private let file: String?

  init(file: String?) { self.file = file }

  /// Checks that lines can be written, before an operation that requires one is sent.
  func check() throws {
    guard let file else { return }
    try PrivateFile.makeFolder(of: file)
    try PrivateFile.append([], to: file)
  }

  /// - Parameter syncs: Whether the line is on the disk when this returns.
  func write(_ line: [UInt8], syncs: Bool) throws {
    if let file {
      if syncs { try PrivateFile.makeFolder(of: file) }
      return try PrivateFile.append(line, to: file, syncs: syncs)
    }
    let code = SystemIO.writeAll(line, to: STDERR_FILENO)
    guard code == 0 else { throw SystemError("write to", path: "standard error", code: code) }
  }
}

private struct AuditInterceptor: GraphQLInterceptor {
  let options: AuditPlugin

  /// What the lines of an operation have in common, also in a retry.
  private enum Identifier: RequestContextKey {
    typealias Value = String
  }

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    let file = options.file?.path
    let log = context.services.shared.value(AuditLog.self, named: file ?? "") {
      AuditLog(file: file)
    }
    var request = request
    let id = request.context[Identifier.self] ?? CorrelationID.make(context.services.random)
    request.context[Identifier.self] = id
    let sent = request
    try await begin(sent, log: log, context: context)
    let stream = await next(sent)
    let state = Locked(AuditState())
    return ResponseStream(pull: {
      let response: GraphQLResponse?
      do {
        response = try await stream.next()
      } catch {
        // The next attempt has its own line.
        if error is ChainRetry { throw error }
        if state.withLock({ $0.end() }) {
          // The caller gets the error of the operation, not one of the log.
          try await report(
            "\(sent.label): its line of the audit log", isRequired: false, context: context
          ) {
            try await log.write(
              line(outcome(of: error, sent), request: sent, context: context), syncs: false)
          }
        }
        throw error
      }
      guard let outcome = state.withLock({ $0.outcome(response, of: sent) }) else {
        return response
      }
      try await report(
        "\(sent.label) was executed, but its line of the audit log", isRequired: options.required,
        context: context
      ) {
        try await log.write(line(outcome, request: sent, context: context), syncs: false)
      }
      return response
    })
  }

  /// Writes the line of a mutation that is about to be sent, or checks that lines can be written.
  private func begin(
    _ request: GraphQLRequest, log: AuditLog, context: ChainContext
  ) async throws {
    let subject = options.required ? "\(request.label) was not sent" : request.label
    try await report(
      "\(subject): its line of the audit log", isRequired: options.required, context: context
    ) {
      if request.operationType == .mutation {
        try await log.write(
          line(AuditOutcome(name: .sent), request: request, context: context), syncs: true)
      } else if options.required {
        try await log.check()
      }
    }
  }

  /// What became of an operation that failed with an error.
  private func outcome(of error: any Error, _ request: GraphQLRequest) -> AuditOutcome {
    let isUnknown = (error as? ChainError)?.leavesOutcomeUnknown ?? true
    return AuditOutcome(
      name: request.operationType == .mutation && isUnknown ? .unknown : .failed,
      error: error is CancellationError ? "it was cancelled" : "\(error)")
  }

  /// Writes a line, or else throws an error if lines are required, and logs it if they are not.
  private func report(
    _ subject: String, isRequired: Bool, context: ChainContext, _ write: () async throws -> Void
  ) async throws {
    do {
      try await write()
    } catch {
      let failure = ChainError(
        .chain, code: .auditFailed, message: "\(subject) cannot be written",
        entry: context.entryID, cause: error)
      guard !isRequired else { throw failure }
      context.services.logger.error("\(failure)")
    }
  }

  private func line(
    _ outcome: AuditOutcome, request: GraphQLRequest, context: ChainContext
  ) -> [UInt8] {
    let named = request.context.named.merging(outcome.response?.context.named ?? [:]) { $1 }
    func value(_ name: String) -> JSONValue { named[name].map { .string($0) } ?? .null }
    var object = JSONObject()
    object["time"] = .string(Quantity.timestamp(context.services.secondsSince1970()))
    object["operation"] = .string(
      request.operationName ?? "anonymous \(request.operationType.rawValue)")
    object["type"] = .string(request.operationType.rawValue)
    object["user"] = value(options.user)
    object["tenant"] = value(options.tenant)
    object["source"] = outcome.response.map { .string($0.source.rawValue) } ?? .null
    for name in options.values { object[name] = value(name) }
    object["id"] = .string(request.context[Identifier.self] ?? "")
    object["outcome"] = .string(outcome.name.rawValue)
    if let error = outcome.error {
      // Hidden before it is cut, so that no half of a secret remains.
      let text = Printable.line(context.services.secrets.hide(in: error))
      object["error"] = .string(String(text.prefix(Self.maxErrorLength)))
    }
    return JSONValue.object(object).jsonBytes() + [UInt8(ascii: "\n")]
  }

  /// The most characters of an error in a line.
  private static let maxErrorLength = 1_000
}

/// What a line says about an operation.
private struct AuditOutcome: Sendable {
  enum Name: String { case sent, done, failed, unknown }

  var name: Name
  /// The result; `nil` without one.
  var response: GraphQLResponse?
  var error: String?
}

/// Whether an operation has its last line.
private struct AuditState: Sendable {
  private var hasEnded = false
  /// The first event with errors of a subscription that has had no other yet.
  private var refusal: GraphQLResponse?

  /// Returns `true` for the first call only.
  mutating func end() -> Bool {
    defer { hasEnded = true }
    return !hasEnded
  }

  /// The outcome that a result, or the end without one, decides; `nil` if there is no line to write.
  mutating func outcome(
    _ response: GraphQLResponse?, of request: GraphQLRequest
  ) -> AuditOutcome? {
    guard !hasEnded else { return nil }
    guard let response else {
      if let refusal { return failed(refusal) }
      guard request.operationType == .mutation, end() else { return nil }
      return AuditOutcome(name: .unknown, error: "it ended without a result")
    }
    if response.errors.isEmpty {
      guard response.data.unlessNull != nil, end() else { return nil }
      return AuditOutcome(name: .done, response: response)
    }
    guard request.operationType == .subscription else { return failed(response) }
    if refusal == nil { refusal = response }
    return nil
  }

  private mutating func failed(_ response: GraphQLResponse) -> AuditOutcome? {
    guard end() else { return nil }
    let errors = response.errors.prefix(3).map(\.description)
    return AuditOutcome(
      name: .failed, response: response, error: errors.joined(separator: "; "))
  }
}

extension ChainError.Code {
  /// A line of the audit log could not be written.
  public static let auditFailed = Self(rawValue: "audit_failed")
}
