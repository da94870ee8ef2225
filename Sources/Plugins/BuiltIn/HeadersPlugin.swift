public import GQLRunPipeline
import HTTPTypes

/// Sets, adds, defaults and removes the fields of HTTP requests.
public struct HeadersPlugin: Plugin {
  /// What `headers` does, in one sentence.
  public static let summary = "Sets, adds, defaults and removes the fields of HTTP requests"
  /// When to use `headers`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use:
      "Use it for fields that depend on the request's context, and to remove fields. Fields that "
      + "are the same for every request belong in `headers` of `endpoint`.",
    position:
      "It belongs between the cache read and the fetch. A `logging` that shows headers belongs "
      + "below it.",
    example: #"headers: { default: { X-Tenant: "${context:tenant:-none}" } }"#,
    narration:
      "A request that has no field X-Tenant gets one with the context value tenant, or `none` "
      + "when the request's context has no such value.",
    subscriptions:
      "Changes the request of each connection.",
    moreExamples: [#"headers: { set: { X-Client: "gqlrun" }, remove: [Accept-Language] }"#])

  @Option("Fields that replace those of the same name", secrecy: .secretHeaders)
  var set = OptionMap<Template>()
  @Option("Fields that are added to those of the same name", secrecy: .secretHeaders)
  var add = OptionMap<Template>()
  @Option("Fields that are added if the request has none of the same name", secrecy: .secretHeaders)
  var `default` = OptionMap<Template>()
  @Option("Names of fields that are removed") var remove: [HTTPField.Name] = []

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Changes header fields; sends idempotency keys if it sets `Idempotency-Key` to a value that
  /// differs between requests.
  public var traits: PluginTraits {
    // A constant is the same for all mutations, so it identifies none.
    let sendsKeys = [set, add, `default`].contains {
      $0.entries.contains { $0.name.lowercased() == "idempotency-key" && !$0.value.isConstant }
    }
    return sendsKeys ? [.changesHeaders, .sendsIdempotencyKeys] : .changesHeaders
  }

  /// Surrounds HTTP exchanges, anywhere in the HTTP stage.
  public var placement: Placement { .wrap(.http) }

  /// Creates the interceptor that changes the fields.
  ///
  /// - Throws: `OptionError` for a name that HTTP does not allow, and for too many fields.
  public func parts(_ environment: PluginEnvironment) throws(OptionError) -> [ChainPart] {
    [
      .http(
        HeadersInterceptor(
          removed: remove, set: try fields($set), added: try fields($add),
          defaults: try fields($default)))
    ]
  }

  private func fields(
    _ option: Option<OptionMap<Template>>
  ) throws(OptionError) -> [HeadersInterceptor.Field] {
    guard option.wrappedValue.entries.count <= HTTPFields.maxCount else {
      throw option.error(
        "`\(option.name)` has more than \(HTTPFields.maxCount) header fields",
        remedy: "leave some out")
    }
    return try option.wrappedValue.entries.map { entry throws(OptionError) in
      .init(
        name: try HTTPField.Name(option: entry.name, named: "\(option.name).\(entry.name)"),
        value: entry.value)
    }
  }
}

private struct HeadersInterceptor: HTTPInterceptor {
  struct Field: Sendable {
    var name: HTTPField.Name
    var value: Template
  }

  let removed: [HTTPField.Name]
  let set: [Field]
  let added: [Field]
  let defaults: [Field]

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    var request = request
    for name in removed { request.head.headerFields[fields: name] = [] }
    for field in set { request.head.headerFields[field.name] = try text(field, context) }
    for field in added {
      request.head.headerFields.append(
        HTTPField(name: field.name, value: try text(field, context)))
    }
    for field in defaults where !request.head.headerFields.contains(field.name) {
      request.head.headerFields[field.name] = try text(field, context)
    }
    return try await next(request)
  }

  private func text(_ field: Field, _ context: ChainContext) throws -> String {
    let value: String
    do {
      value = try field.value.text { context.values.named[$0] }
    } catch {
      throw ChainError(
        notSent: .invalidRequest, "the field \(field.name) has no value: \(error)",
        entry: context.entryID)
    }
    guard HTTPField.isValidValue(value) else {
      throw ChainError(
        notSent: .invalidRequest,
        "the value of the field \(field.name) has characters that HTTP forbids, such as line ends",
        entry: context.entryID)
    }
    return value
  }
}
