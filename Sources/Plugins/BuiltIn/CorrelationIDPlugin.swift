import Foundation
import GQLRunLanguage
public import GQLRunPipeline
import HTTPTypes

/// The correlation id of the current operation, for code that the operation calls.
public enum CorrelationID {
  /// The id of the operations that the current task starts; `nil` if it is not set.
  ///
  /// Set it around a call to choose the id of its operations. `correlation-id` sets it for the rest
  /// of the chain.
  @TaskLocal public static var current: String?

  /// The name of the context value with the id: `${context:correlation_id}`.
  public static let contextName = "correlation_id"

  /// The header fields that carry the id of a request.
  enum FieldNames: RequestContextKey {
    typealias Value = Set<HTTPField.Name>
  }

  /// A random UUID of version 4. https://www.rfc-editor.org/rfc/rfc9562#section-5.4
  static func make(_ random: @Sendable () -> Double) -> String {
    // 32 bits from each number: every call is a system call.
    let words = (0..<4).map { _ in UInt32(min(random() * 0x1p32, 0x1p32 - 1)) }
    let bytes = (words[0], words[1] & ~0xf000 | 0x4000, words[2] & ~(3 << 30) | 1 << 31, words[3])
    return withUnsafeBytes(
      of: (bytes.0.bigEndian, bytes.1.bigEndian, bytes.2.bigEndian, bytes.3.bigEndian)
    ) { UUID(uuid: $0.load(as: uuid_t.self)).uuidString.lowercased() }
  }
}

/// Gives each operation an id: in its requests, its log lines and its results.
public struct CorrelationIDPlugin: Plugin {
  /// What `correlation-id` does, in one sentence.
  public static let summary =
    "Gives each operation an id that is in its requests, log lines and results"
  /// When to use `correlation-id`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use:
      "Use it to find one operation in the logs of client and server, or to let a server recognize "
      + "a mutation that is sent again.",
    position:
      "Put it above `logging`, whose lines then carry the id, and above `max-retry`, so that all "
      + "attempts have the same one.",
    example: "correlation-id: { header: X-Request-ID, idempotency_key: true }",
    narration:
      "Every attempt of an operation carries one random id in X-Request-ID, and a mutation carries "
      + "it as Idempotency-Key too. An id that the caller gives as the context value "
      + "correlation_id is used instead.",
    subscriptions:
      "Sends the id with each connection. The events of a connection have one id; a "
      + "connection that is opened after an event has a new one, unless the caller gave one.",
    moreExamples: ["correlation-id"])

  /// An entry that sends idempotency keys, for remedies of other plugins.
  static let entryWithKeys = "correlation-id: { idempotency_key: true }"

  @Option("HTTP field that carries the id; empty sends none") var header = "X-Correlation-ID"
  @Option("Whether mutations carry the id as Idempotency-Key too, the same in every attempt")
  var idempotencyKey = false

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Adds the id to requests; sends idempotency keys if the option `idempotency_key` is set.
  public var traits: PluginTraits {
    if idempotencyKey { return [.changesRequests, .sendsIdempotencyKeys] }
    return header.isEmpty ? [] : .changesRequests
  }

  /// Surrounds operations; with `idempotency_key`, above what sends a mutation again.
  public var placement: Placement {
    .wrap(
      .graphQL,
      rules: idempotencyKey
        ? [
          .above(
            .repeatsMutations, code: .retriedMutations,
            reason: "so every attempt of a mutation would have another key")
        ] : [])
  }

  /// Creates the interceptor that sets the id.
  ///
  /// - Throws: `OptionError` if `header` is not the name of an HTTP field.
  public func parts(_ environment: PluginEnvironment) throws(OptionError) -> [ChainPart] {
    let name = header.isEmpty ? nil : try HTTPField.Name(option: header, named: $header.name)
    return [.graphQL(CorrelationIDInterceptor(header: name, sendsKeys: idempotencyKey))]
  }
}

private struct CorrelationIDInterceptor: GraphQLInterceptor {
  let header: HTTPField.Name?
  let sendsKeys: Bool

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    var request = request
    let id =
      request.context.named[CorrelationID.contextName] ?? CorrelationID.current
      ?? CorrelationID.make(context.services.random)
    guard HTTPField.isValidValue(id), !id.isEmpty else {
      throw ChainError(
        notSent: .invalidRequest,
        "the correlation id of \(request.label) is empty or has characters that HTTP forbids",
        entry: context.entryID)
    }
    request.context.named[CorrelationID.contextName] = id
    request.context.logged[CorrelationID.contextName] = id
    var names: Set<HTTPField.Name> = []
    if let header { names.insert(header) }
    if sendsKeys, request.operationType == .mutation, let key = HTTPField.Name("Idempotency-Key") {
      names.insert(key)
    }
    for name in names { request.additionalHeaders[name] = id }
    request.context[CorrelationID.FieldNames.self] = names
    let sent = request
    return await CorrelationID.$current.withValue(id) { await next(sent) }
      .binding(CorrelationID.$current, to: id)
      .map { response in
        var response = response
        response.context.named[CorrelationID.contextName] = id
        return response
      }
  }
}
