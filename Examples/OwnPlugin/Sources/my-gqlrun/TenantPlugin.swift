import GQLRun

/// Sends the tenant of a request in a field, and refuses requests that have none.
///
/// One file with one conforming type: the declarations of its options are all that parsing,
/// diagnostics and documentation need.
struct TenantPlugin: Plugin {
  static let summary = "Sends the tenant of a request in a field, and refuses requests without one"
  static let documentation = PluginDocumentation(
    use: "Use it for a server that keeps the data of several tenants apart.",
    position: "Put it near the top: a request without a tenant then reaches no other plugin.",
    example: "tenant: { allowed: [acme, globex] }",
    narration:
      "A request whose context names the tenant acme is sent with the field X-Tenant: acme. One "
      + "that names another tenant, or none, fails before anything is sent.",
    subscriptions: "The field is sent with each connection.")

  @Option("HTTP field that carries the tenant") var field = TenantPlugin.defaultField
  @Option("Tenants that a request may name") var allowed: [String]

  static let defaultField = HTTPField.Name("X-Tenant") ?? .from

  var placement: Placement { .wrap(.graphQL) }

  func validate() throws(OptionError) {
    guard allowed.isEmpty else { return }
    throw $allowed.error("no tenant is allowed", remedy: "name one: `allowed: [acme]`")
  }

  func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.graphQL(TenantInterceptor(field: field, allowed: Set(allowed)))]
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
        .request, code: .invalidRequest,
        message:
          "\(request.label) needs one of the tenants \(allowed.sorted().joined(separator: ", "))",
        entry: context.entryID, delivery: .notSent)
    }
    var request = request
    request.additionalHeaders[field] = tenant
    return await next(request)
  }
}
