public import GQLRunPipeline
import HTTPTypes

/// Rejects operations whose context lacks a required value.
public struct RequireContextPlugin: Plugin {
  /// What `require-context` does, in one sentence.
  public static let summary =
    "Rejects a request whose context lacks a required value, before it is sent"
  /// When to use `require-context`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it where every request must name, for example, its user or tenant.",
    position: "Put it near the top: a request without the values then reaches no other plugin.",
    example: "require-context: { headers: { X-User-ID: user, X-Tenant-ID: tenant } }",
    narration:
      "A request whose context has the values user and tenant is sent with both header fields. "
      + "One without them fails, and nothing is sent; `--context user=ada` sets one.",
    subscriptions:
      "Checks the values before each connection, and sends the fields with it.",
    moreExamples: ["require-context: { values: [user] }"])

  @Option("Names of the values that are required") var values: [String] = []
  @Option("HTTP fields to send, each with the name of its context value, which is required too")
  var headers = OptionMap<String>()

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Surrounds operations, anywhere in the GraphQL stage.
  public var placement: Placement { .wrap(.graphQL) }

  /// Checks that at least one context value is required.
  ///
  /// - Throws: `OptionError` if neither `values` nor `headers` names one.
  public func validate() throws(OptionError) {
    guard values.isEmpty, headers.entries.isEmpty else { return }
    throw $values.error("no value is required", remedy: "name one: `values: [user]`")
  }

  /// Creates the interceptor that checks context values and sends them as header fields.
  ///
  /// - Throws: `OptionError` for a name that HTTP does not allow.
  public func parts(_ environment: PluginEnvironment) throws(OptionError) -> [ChainPart] {
    let fields = try headers.entries.map { entry throws(OptionError) in
      RequireContextInterceptor.Field(
        name: try HTTPField.Name(option: entry.name, named: $headers.name), value: entry.value)
    }
    return [.graphQL(RequireContextInterceptor(values: values, fields: fields))]
  }
}

private struct RequireContextInterceptor: GraphQLInterceptor {
  struct Field: Sendable {
    var name: HTTPField.Name
    /// The name of the context value.
    var value: String
  }

  let values: [String]
  let fields: [Field]

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    var request = request
    let given = request.context.named
    var missing: [String] = []
    for name in values + fields.map(\.value)
    where (given[name] ?? "").isEmpty && !missing.contains(name) {
      missing.append(name)
    }
    guard missing.isEmpty else {
      let names = missing.map { "`\($0)`" }.joined(separator: ", ")
      throw ChainError(
        notSent: .invalidRequest,
        "\(request.label) was not sent: its context has no \(names); give "
          + "\(missing.map { "--context \($0)=…" }.joined(separator: " ")), or set it in code",
        entry: context.entryID)
    }
    for field in fields {
      guard let value = given[field.value], HTTPField.isValidValue(value) else {
        throw ChainError(
          notSent: .invalidRequest,
          "the context value `\(field.value)` has characters that HTTP forbids, such as line ends",
          entry: context.entryID)
      }
      request.additionalHeaders[field.name] = value
    }
    return await next(request)
  }
}
