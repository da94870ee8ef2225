import GQLRun

/// Sends the tenant of a request in a field, and refuses requests that have none.
///
/// One file with one conforming type: its description is all that parsing, errors, `check` and
/// documentation need.
struct TenantPlugin: Plugin {
  static let description = PluginDescription(
    name: "tenant",
    summary: "Sends the tenant of a request in a field, and refuses requests without one",
    kind: .wrap, stages: [.graphQL],
    options: [
      OptionDescription("field", .string, default: "X-Tenant", "The field that carries it"),
      OptionDescription(
        "allowed", .list(.string), required: true, "The tenants that may be asked for"),
    ],
    examples: ["tenant: { allowed: [acme, globex] }"])

  static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    guard let field = HTTPField.Name(options.string("field")) else {
      throw PluginOptionError(
        option: "field", "this is not the name of an HTTP field",
        remedy: "use letters, digits and hyphens")
    }
    return .graphQL(
      TenantInterceptor(field: field, allowed: Set(options.strings("allowed"))))
  }
}

private struct TenantInterceptor: GraphQLInterceptor {
  let field: HTTPField.Name
  let allowed: Set<String>

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    guard let tenant = request.context.named["tenant"], allowed.contains(tenant) else {
      throw ChainError(
        .request, .invalidRequest,
        "\(request.label) needs one of the tenants \(allowed.sorted().joined(separator: ", "))",
        place: context.entryID, delivery: .notSent)
    }
    var request = request
    request.additionalHeaders[field] = tenant
    return await next(request)
  }
}
