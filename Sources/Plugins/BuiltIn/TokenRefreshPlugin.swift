import GQLRunLanguage
public import GQLRunPipeline
import HTTPTypes
import Logging

/// Sends a bearer token, and renews it before it ends or when the server refuses it.
public struct TokenRefreshPlugin: Plugin {
  public static let description = PluginDescription(
    name: "token-refresh",
    summary: "Sends a bearer token, renewed before it ends and when the server refuses it",
    kind: .wrap, stages: [.graphQL], roles: [.authenticates, .restarts],
    options: [
      OptionDescription(
        "credential", .string, default: "api",
        "What the token is called; entries of one name share it. Without a source, the variable "
          + "<CREDENTIAL>_TOKEN has it"),
      OptionDescription("env", .string, "The environment variable that has the token"),
      OptionDescription(
        "file", .path, "The file that has the token; read for every request"),
      OptionDescription(
        "command", .string,
        "A shell command that prints the token, or JSON with it, as kubectl's credential plugins do"
      ),
      OptionDescription("oauth2", .object(oauth2), "An OAuth 2 server that issues the token"),
      OptionDescription(
        "header", .string, default: "Authorization", "The field that carries the token"),
      OptionDescription(
        "scheme", .string, default: "Bearer", "The word before the token; may be empty"),
      OptionDescription(
        "statuses", .list(.int(in: 400...499)), default: "[401]",
        "The HTTP statuses that mean that the token was refused"),
      OptionDescription(
        "codes", .list(.string), default: "[UNAUTHENTICATED]",
        "The codes of GraphQL errors that mean it"),
      OptionDescription(
        "skew", .duration(in: .zero...(.seconds(3_600))), default: "60s",
        "How long before its end a token is renewed; half its life at most"),
      OptionDescription(
        "timeout", .duration(in: .milliseconds(1)...(.seconds(600))), default: "30s",
        "The longest time a renewal may take"),
    ],
    examples: [
      "token-refresh: { env: API_TOKEN }",
      "token-refresh: { command: \"gh auth token\" }",
      #"token-refresh: { oauth2: { token_url: "https://login.example.com/token", client_id: ci, "#
        + #"client_secret: "${env:CI_SECRET}" } }"#,
    ])

  private static let oauth2: [OptionDescription] = [
    OptionDescription(
      "token_url", .string, required: true, secrecy: .url, "The URL of the token endpoint"),
    OptionDescription(
      "grant", .choice(OAuth2TokenSource.Grant.allCases.map(\.rawValue)),
      default: "client-credentials", "What the token is issued for"),
    OptionDescription("client_id", .string, required: true, "The id of this client"),
    OptionDescription("client_secret", .string, secrecy: .secret, "The secret of this client"),
    OptionDescription(
      "client_auth", .choice(OAuth2TokenSource.ClientAuthentication.allCases.map(\.rawValue)),
      default: "basic", "How the secret is sent: as a header field, or in the body"),
    OptionDescription("scope", .string, "The scopes to ask for, separated by spaces"),
    OptionDescription("audience", .string, "The service the token is for"),
    OptionDescription(
      "refresh_token", .string, secrecy: .secret, "The refresh token to begin with"),
    OptionDescription(
      "store", .path, "The file that keeps the tokens; required for grant refresh-token"),
  ]

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    let header = options.string("header")
    guard let name = HTTPField.Name(header) else {
      throw PluginOptionError(
        option: "header", "`\(header)` is not the name of an HTTP field",
        remedy: "use letters, digits and hyphens")
    }
    let origin = try source(options)
    var instance = PluginInstance.graphQL(
      TokenInterceptor(
        credential: options.string("credential"), source: origin,
        skew: options.duration("skew"), timeout: options.duration("timeout"), header: name,
        scheme: options.string("scheme"), statuses: Set(options.ints("statuses")),
        codes: Set(options.strings("codes"))))
    instance.programs = options.string(ifGiven: "command").map { [$0] } ?? []
    return instance
  }

  private static func source(
    _ options: PluginOptions
  ) throws(PluginOptionError) -> any TokenSource {
    let given = ["env", "file", "command", "oauth2"].filter { options[$0] != nil }
    if given.count > 1 {
      throw PluginOptionError(
        option: given[1], "a token has one source, and `\(given[0])` is one already",
        remedy: "remove one of them")
    }
    if let path = options.string(ifGiven: "file") { return FileTokenSource(path: path) }
    if let command = options.string(ifGiven: "command") {
      return CommandTokenSource(command: command)
    }
    if let oauth2 = options.object(ifGiven: "oauth2") {
      return try source(oauth2, options)
    }
    return EnvironmentTokenSource(
      name: options.string(ifGiven: "env") ?? variable(of: options.string("credential")))
  }

  /// `api` → `API_TOKEN`
  private static func variable(of credential: String) -> String {
    credential.uppercased().map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined()
      + "_TOKEN"
  }

  private static func source(
    _ oauth2: PluginOptions, _ options: PluginOptions
  ) throws(PluginOptionError) -> OAuth2TokenSource {
    let endpoint: Endpoint
    do throws(Endpoint.InvalidURL) {
      endpoint = try Endpoint(url: oauth2.string("token_url"))
    } catch {
      throw PluginOptionError(
        option: "oauth2.token_url", "this is not the URL of a server: \(error.reason)")
    }
    guard endpoint.scheme == "https" || isLocal(endpoint.authority) else {
      throw PluginOptionError(
        option: "oauth2.token_url", "secrets would be sent in the clear", remedy: "use https")
    }
    let grant: OAuth2TokenSource.Grant = oauth2.choice("grant")
    let store = oauth2.string(ifGiven: "store")
    if grant == .refreshToken, store == nil {
      throw PluginOptionError(
        option: "oauth2.grant",
        "the server may put another refresh token in the place of the one it was sent, and that "
          + "would be lost", remedy: "name a file that keeps it: `store: token.json`")
    }
    return OAuth2TokenSource(
      endpoint: endpoint, grant: grant, clientID: oauth2.string("client_id"),
      clientSecret: oauth2.secret(ifGiven: "client_secret"),
      authentication: oauth2.choice("client_auth"), scope: oauth2.string(ifGiven: "scope"),
      audience: oauth2.string(ifGiven: "audience"),
      refreshToken: oauth2.secret(ifGiven: "refresh_token"),
      store: store.map { TokenStore(path: $0) }, skew: options.duration("skew"),
      timeout: options.duration("timeout"))
  }

  private static func isLocal(_ authority: String) -> Bool {
    let host = authority.hasPrefix("[") ? authority : String(authority.prefix { $0 != ":" })
    return host == "localhost" || host.hasPrefix("127.") || host.hasPrefix("[::1]")
  }
}

private struct TokenInterceptor: GraphQLInterceptor, KeepsCredentials {
  let credential: String
  let source: any TokenSource
  let skew: Duration
  let timeout: Duration
  let header: HTTPField.Name
  let scheme: String
  let statuses: Set<Int>
  let codes: Set<String>

  /// The credentials that were renewed for this operation.
  private enum Renewed: RequestContextKey {
    typealias Value = Set<String>
  }

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    let services = context.services
    let keeper = keeper(services)
    let failures = await keeper.failures
    let token = try await keeper.token(services) { failure($0, request, context) }
    let value = (scheme.isEmpty ? "" : scheme + " ") + token.value.reveal()
    guard HTTPField.isValidValue(value) else {
      throw ChainError(
        .request, .missingToken,
        "\(source.label) holds characters that HTTP forbids in a token, such as line ends",
        place: context.entryID)
    }
    var sent = request
    sent.additionalHeaders[header] = value
    let secrets = services.secrets
    // The next interceptors know it before it is sent.
    secrets.insert(token.value)
    return await next(sent)
      .map { response in
        if isRefusal(response.errors, of: request) {
          _ = try await renewed(token, failures, request, keeper, context, cause: nil)
        } else if response.source == .server {
          await keeper.noteAccepted(token.value)
        }
        return secrets.hiding.response(response)
      }
      .mapErrors { error in
        guard var failure = secrets.hiding.error(error) as? ChainError else { throw error }
        if isRefusal(failure) {
          failure.message += try await renewed(
            token, failures, request, keeper, context, cause: failure)
        }
        throw failure
      }
  }

  private func keeper(_ services: Services) -> TokenKeeper {
    let source: any TokenSource = services[TokenScript.self] ?? source
    return services.shared.value(
      TokenKeeper.self, named: "\(credential) \(source.label)",
      make: { TokenKeeper(source: source, skew: skew, timeout: timeout) })
  }

  func forgetCredentials(_ services: Services) async throws -> String {
    try await keeper(services).forget(services)
    return source.isOurs
      ? "the tokens of \(credential)"
      : "nothing of \(credential), as \(source.label) is not for gqlrun to remove"
  }

  /// Starts the chain again with another token, or says why that is of no use.
  private func renewed(
    _ token: Token, _ failures: Int, _ request: GraphQLRequest, _ keeper: TokenKeeper,
    _ context: ChainContext, cause: ChainError?
  ) async throws -> String {
    guard request.context[Renewed.self]?.contains(credential) != true else {
      return "; the token was renewed once already"
    }
    let other = try await keeper.token(
      after: token.value, failures: failures, context.services
    ) {
      failure($0, request, context)
    }
    guard other != nil else {
      return "; \(source.label) has no other token than the one that was refused"
    }
    context.services.logger.info("↻ \(request.label): again with another token")
    var retry = request.withOwnRetry()
    retry.context[Renewed.self, default: []].insert(credential)
    throw ChainRetry(retry, cause: cause)
  }

  private func isRefusal(_ error: ChainError) -> Bool {
    guard let http = error.http, error.code != .tokenRenewalFailed else { return false }
    return statuses.contains(http.status)
      || error.refusedErrors.contains { codes.contains($0.code ?? "") }
  }

  private func isRefusal(_ errors: [GraphQLError], of request: GraphQLRequest) -> Bool {
    guard errors.contains(where: { codes.contains($0.code ?? "") }) else { return false }
    // An error with a path comes from a field: other fields of a mutation may have been carried out.
    return request.operationType != .mutation || errors.allSatisfy { $0.path == nil }
  }

  private func failure(
    _ error: any Error, _ request: GraphQLRequest, _ context: ChainContext
  ) -> ChainError {
    switch error {
    case let error as TokenFailure where error.isMissing:
      return ChainError(
        .request, .missingToken,
        "\(request.label) was not sent, as there is no token: \(error.message)",
        place: context.entryID, delivery: .notSent)
    case let error as TokenFailure:
      return ChainError(
        .request, .tokenRenewalFailed, "there is no token for \(request.label): \(error.message)",
        place: context.entryID, delivery: .notSent)
    case var error as ChainError:
      error.message = "the token of \(request.label) could not be renewed: \(error.message)"
      error.place = context.entryID
      error.delivery = .notSent
      return error
    default:
      return ChainError(
        .request, .tokenRenewalFailed, "there is no token for \(request.label)",
        place: context.entryID, cause: error, delivery: .notSent)
    }
  }
}

extension RequestContext {
  fileprivate subscript<Key: RequestContextKey>(
    key: Key.Type, default value: Key.Value
  ) -> Key.Value {
    get { self[key] ?? value }
    set { self[key] = newValue }
  }
}

extension ChainError.Code {
  /// A token that nobody gave.
  public static let missingToken = Self(rawValue: "missing_token")
  /// A token that could not be renewed.
  public static let tokenRenewalFailed = Self(rawValue: "token_renewal_failed")
}
