public import GQLRunPipeline
import HTTPTypes

/// Refuses operations that do not say for whom they are.
public struct RequireContextPlugin: Plugin {
  public static let description = PluginDescription(
    name: "require-context",
    summary: "Fails before the network when a value of the request's context is missing",
    kind: .wrap, stages: [.graphQL],
    options: [
      OptionDescription("values", .list(.string), "The names of the values that must be there"),
      OptionDescription(
        "headers", .map(.string),
        "Fields to send, each with the name of the value it carries; these must be there, too"),
    ],
    examples: [
      "require-context: { values: [user] }",
      "require-context: { headers: { X-User-ID: user, X-Tenant-ID: tenant } }",
    ])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    var fields: [RequireContextInterceptor.Field] = []
    for (name, value) in options.stringMap("headers") {
      guard let field = HTTPField.Name(name) else {
        throw PluginOptionError(
          option: "headers", "`\(name)` is not the name of an HTTP field",
          remedy: "use letters, digits and hyphens")
      }
      fields.append(.init(name: field, value: value))
    }
    let values = options.strings("values")
    guard !(values + fields.map(\.value)).isEmpty else {
      throw PluginOptionError(
        option: "values", "no value is required", remedy: "name one: `values: [user]`")
    }
    return .graphQL(RequireContextInterceptor(values: values, fields: fields))
  }
}

private struct RequireContextInterceptor: GraphQLInterceptor {
  struct Field: Sendable {
    var name: HTTPField.Name
    /// The name of a context value.
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
        .request, .invalidRequest,
        "\(request.label) was not sent: its context has no \(names); give "
          + "\(missing.map { "--context \($0)=…" }.joined(separator: " ")), or set it in code",
        place: context.entryID)
    }
    for field in fields {
      guard let value = given[field.value], HTTPField.isValidValue(value) else {
        throw ChainError(
          .request, .invalidRequest,
          "the context value `\(field.value)` has characters that HTTP forbids, such as line ends",
          place: context.entryID)
      }
      request.additionalHeaders[field.name] = value
    }
    return await next(request)
  }
}
