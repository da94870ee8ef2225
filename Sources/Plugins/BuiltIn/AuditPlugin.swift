import Foundation
import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
import GQLRunSupport
import Logging

/// Writes an audit log: one line of JSON for every operation that succeeds.
public struct AuditPlugin: Plugin {
  /// What `audit` does, in one sentence.
  public static let summary =
    "Writes a line of JSON for every operation that succeeds: what, who and when"
  /// When to use `audit`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it where every change must be traceable to a user.",
    position: "Put it above the cache read, so that answers from the cache are recorded too.",
    example: "audit: { file: audit.ndjson }",
    narration:
      "An operation that succeeds appends one line with its name, type, user, tenant, source and "
      + "time to audit.ndjson. When the line cannot be written, the operation is not sent at all.",
    subscriptions:
      "Writes one line, for the first event without errors. A log that cannot be written "
      + "prevents the subscription from being sent.",
    moreExamples: ["audit: { values: [correlation_id] }"])

  @Option("File that lines are appended to; standard error by default") var file: OptionPath?
  @Option("Context value that names the user") var user = "user"
  @Option("Context value that names the tenant") var tenant = "tenant"
  @Option("Names of further context values to write") var values: [String] = []
  @Option("Whether an operation fails when its line cannot be written") var required = true

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Surrounds operations, anywhere in the GraphQL stage.
  public var placement: Placement { .wrap(.graphQL) }

  /// Creates the interceptor that appends the lines.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [
      .graphQL(
        AuditInterceptor(
          file: file?.path, user: user, tenant: tenant, values: values, isRequired: required))
    ]
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

  func write(_ line: [UInt8]) throws {
    if let file { return try PrivateFile.append(line, to: file) }
    let code = SystemIO.writeAll(line, to: STDERR_FILENO)
    guard code == 0 else { throw SystemError("write to", "standard error", code) }
  }
}

private struct AuditInterceptor: GraphQLInterceptor {
  let file: String?
  let user: String
  let tenant: String
  let values: [String]
  let isRequired: Bool

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    let log = context.services.shared.value(AuditLog.self, named: file ?? "") {
      AuditLog(file: file)
    }
    if isRequired {
      do {
        try await log.check()
      } catch {
        throw failure("\(request.label) was not sent: its line of the audit log", error, context)
      }
    }
    let firstResult = FirstCall()
    return await next(request).map { response in
      guard response.errors.isEmpty, response.data != nil, await firstResult.claim() else {
        return response
      }
      do {
        try await log.write(line(request, response, context))
      } catch {
        let failure = failure(
          "\(request.label) was executed, but its line of the audit log", error, context)
        guard isRequired else {
          context.services.logger.error("\(failure)")
          return response
        }
        throw failure
      }
      return response
    }
  }

  private func failure(
    _ subject: String, _ error: any Error, _ context: ChainContext
  ) -> ChainError {
    ChainError(
      .chain, .auditFailed, "\(subject) cannot be written", entry: context.entryID, cause: error)
  }

  private func line(
    _ request: GraphQLRequest, _ response: GraphQLResponse, _ context: ChainContext
  ) -> [UInt8] {
    let named = request.context.named.merging(response.context.named) { $1 }
    func value(_ name: String) -> JSONValue { named[name].map { .string($0) } ?? .null }
    var object = JSONObject()
    object["time"] = .string(Self.time(context.services.secondsSince1970()))
    object["operation"] = .string(request.label)
    object["type"] = .string(request.operationType.rawValue)
    object["user"] = value(user)
    object["tenant"] = value(tenant)
    object["source"] = .string(response.source.rawValue)
    for name in values { object[name] = value(name) }
    return JSONValue.object(object).jsonBytes() + [UInt8(ascii: "\n")]
  }

  /// `2026-01-31T12:00:00.000Z`
  private static func time(_ seconds: Double) -> String {
    Date(timeIntervalSince1970: seconds).formatted(
      Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}

/// Distinguishes the first call from later ones.
private actor FirstCall {
  private var isClaimed = false

  /// Returns `true` for the first call only.
  func claim() -> Bool {
    defer { isClaimed = true }
    return !isClaimed
  }
}

extension ChainError.Code {
  /// A line of the audit log could not be written.
  public static let auditFailed = Self(rawValue: "audit_failed")
}
