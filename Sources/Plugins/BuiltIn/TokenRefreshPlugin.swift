import GQLRunLanguage
public import GQLRunPipeline
import HTTPTypes
import Logging

/// Sends a bearer token, and renews it before it expires or when the server rejects it.
public struct TokenRefreshPlugin: Plugin {
  /// What `token-refresh` does, in one sentence.
  public static let summary =
    "Sends a bearer token, renewed before it expires and when the server rejects it"
  /// When to use `token-refresh`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it for servers that require a token, above all one that expires.",
    position:
      "It belongs below `max-retry`, which would count its retry, and above the HTTP stage, where "
      + "a 401 reaches it.",
    example: "token-refresh: { command: \"gh auth token\" }",
    narration:
      "The first request runs the command and sends its output as Authorization: Bearer …. When "
      + "the server answers 401, the command runs again, once for all requests in flight, and "
      + "each of them is retried with the new token.",
    subscriptions:
      "Sends the current token with each connection. An event with one of the `codes` "
      + "renews the token, and opens another connection.",
    uploads:
      "Renews a token before the upload if it would expire meanwhile, at 1 MiB per second.",
    moreExamples: [
      "token-refresh: { env: API_TOKEN }",
      #"token-refresh: { oauth2: { token_url: "https://login.example.com/token", client_id: ci, "#
        + #"client_secret: "${env:CI_SECRET}" } }"#,
    ])

  @Option(
    "Name of the token; entries with equal names and sources share it. Without a source, it is in the variable "
      + "<CREDENTIAL>_TOKEN")
  var credential = "api"
  @Option("Environment variable that holds the token") var env: String?
  @Option("File that holds the token; read for every request") var file: OptionPath?
  @Option(
    "Shell command that prints the token, or JSON with it, as kubectl's credential plugins do")
  var command: String?
  @Option("OAuth 2 server that issues the token") var oauth2: OAuth2?
  @Option("HTTP field that carries the token") var header = HTTPField.Name.authorization
  @Option("Word before the token; may be empty") var scheme = "Bearer"
  @Option(400...499, "HTTP statuses of responses that reject the token") var statuses = [401]
  @Option("Codes of GraphQL errors that reject the token")
  var codes = ["UNAUTHENTICATED"]
  @Option(
    .zero ... .seconds(3_600),
    "How long before it expires a token is renewed; half its life at most")
  var skew = Duration.seconds(60)
  @Option(.milliseconds(1) ... .seconds(600), "Longest duration of a renewal")
  var timeout = Duration.seconds(30)

  struct OAuth2: OptionSection {
    @Option("URL of the token endpoint", secrecy: .url) var tokenURL: String
    @Option("OAuth 2 grant") var grant = OAuth2TokenSource.Grant.clientCredentials
    @Option("Id of this client") var clientID: String
    @Option("Secret of this client") var clientSecret: SecretString?
    @Option("How the secret is sent: in a header field, or in the body")
    var clientAuth = OAuth2TokenSource.ClientAuthentication.basic
    @Option("Scopes to request, separated by spaces") var scope: String?
    @Option("Service that the token is for") var audience: String?
    @Option("First refresh token") var refreshToken: SecretString?
    @Option("File that stores the tokens; required for the grant refresh-token")
    var store: WrittenPath?

    func validate() throws(OptionError) {
      _ = try endpoint()
      guard grant == .refreshToken, store == nil else { return }
      throw $grant.error(
        "the server may replace the refresh token, and the new one would be lost",
        remedy: "name a file that stores it: `store: token.json`")
    }

    func endpoint() throws(OptionError) -> Endpoint {
      let endpoint: Endpoint
      do throws(Endpoint.InvalidURL) {
        endpoint = try Endpoint(url: tokenURL)
      } catch {
        throw $tokenURL.error(
          "this is not an http or https URL: \(error.reason)",
          remedy: "only http and https are possible here")
      }
      guard !endpoint.isWebSocket else {
        throw $tokenURL.error("this is not an http or https URL", remedy: "use https")
      }
      guard endpoint.scheme == "https" || Authority(endpoint.authority).isLoopback else {
        throw $tokenURL.error("secrets would be sent without encryption", remedy: "use https")
      }
      return endpoint
    }
  }

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Takes the token from an environment variable, instead of any other source.
  package mutating func takeToken(fromVariable name: String) {
    env = name
    (file, command, oauth2) = (nil, nil, nil)
  }

  /// Adds the token to requests. May restart the chain, once per operation; in tests, takes the tokens of the test.
  public var traits: PluginTraits { [.changesRequests, .restarts, .takesTestTokens] }

  /// Surrounds the network: below `max-retry`, above the status check and the fetch.
  public var placement: Placement {
    var placement = Placement.wrap(
      .graphQL,
      rules: [
        .below(
          .boundsRestarts, code: .credentials,
          reason: "so its retry would be counted as one of the bounded ones"),
        .above(
          .checksStatus, moving: .fetches, code: .credentials,
          reason: "where a 401 would never reach it"),
        .above(.fetches, code: .credentials, reason: "too late to send anything"),
      ])
    placement.stageCode = .credentials
    return placement
  }

  /// The option `command`, if it is set.
  public var programs: [String] { command.map { [$0] } ?? [] }

  /// Checks that at most one source of the token is configured.
  ///
  /// - Throws: `OptionError` for a second source.
  public func validate() throws(OptionError) {
    let given = [
      (env != nil, $env.error, "env"), (file != nil, $file.error, "file"),
      (command != nil, $command.error, "command"), (oauth2 != nil, $oauth2.error, "oauth2"),
    ].filter(\.0)
    guard given.count > 1 else { return }
    throw given[1].1(
      "a token has one source, and `\(given[0].2)` already is one", "remove one of them")
  }

  /// Creates the interceptor that sends the token. No token is requested before the first
  /// operation.
  ///
  /// - Throws: `OptionError` for an OAuth 2 endpoint that is not a URL, or that is not encrypted.
  public func parts(_ environment: PluginEnvironment) throws(OptionError) -> [ChainPart] {
    [.graphQL(TokenInterceptor(self, source: try source()))]
  }

  private func source() throws(OptionError) -> any TokenSource {
    if let file { return FileTokenSource(path: file.path) }
    if let command { return CommandTokenSource(command: command) }
    guard let oauth2 else {
      return EnvironmentTokenSource(name: env ?? Self.variable(of: credential))
    }
    return OAuth2TokenSource(
      options: oauth2, endpoint: try oauth2.endpoint(),
      store: oauth2.store.map { FileTokenStore(path: $0.path) }, skew: skew, timeout: timeout)
  }

  /// `api` → `API_TOKEN`
  private static func variable(of credential: String) -> String {
    credential.uppercased().map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined()
      + "_TOKEN"
  }
}

private final class TokenInterceptor: GraphQLInterceptor, CredentialHolder {
  private let options: TokenRefreshPlugin
  private let source: any TokenSource
  /// The hash of what distinguishes the source from others.
  private let sourceID: String
  private var credential: String { options.credential }

  init(_ options: TokenRefreshPlugin, source: any TokenSource) {
    self.options = options
    self.source = source
    sourceID = DocumentHash.sha256("\([source.label] + source.details)")
  }

  /// The caches whose token was already renewed for this operation.
  private enum Renewed: RequestContextKey {
    typealias Value = Set<ObjectIdentifier>
  }

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    let services = context.services
    let cache = cache(services)
    let skew = skew(for: request)
    let failures = await cache.failures
    let token: AccessToken
    do {
      token = try await cache.token(services, skew: skew)
    } catch {
      throw failure(error, request: request, context: context)
    }
    let scheme = options.scheme
    let value = (scheme.isEmpty ? "" : scheme + " ") + token.value.reveal()
    guard HTTPField.isValidValue(value) else {
      throw ChainError(
        notSent: .missingToken,
        "\(source.label) contains characters that HTTP forbids in a token, such as line ends",
        entry: context.entryID)
    }
    var sent = request
    sent.additionalHeaders[options.header] = value
    if context.endpoint?.subscriptions?.connectionParameters != nil {
      sent.context.named["\(credential)_token"] = token.value.reveal()
    }
    let secrets = services.secrets
    // Before the request is passed on, so that no interceptor logs the token.
    secrets.insert(token.value)
    return await next(sent)
      .map { [self] response in
        // A stored error is not the answer to this token.
        if response.source != .cache, isRefusal(response, of: request) {
          _ = try await renewed(
            token, failures: failures, request: request, cache: cache, context: context, cause: nil)
        } else if response.source == .server {
          await cache.confirm(token.value)
        }
        return secrets.hiding.response(response)
      }
      .mapErrors { [self] error in
        guard var failure = secrets.hiding.error(error) as? ChainError else { throw error }
        if isRefusal(failure, of: request) {
          failure.message += try await renewed(
            token, failures: failures, request: request, cache: cache, context: context,
            cause: failure)
        }
        throw failure
      }
  }

  /// A token must not expire while files are sent: their time is that at 1 MiB per second.
  private func skew(for request: GraphQLRequest) -> Duration {
    request.uploads.values.reduce(options.skew) { $0 + .seconds($1.count >> 20) }
  }

  private func cache(_ services: Services) -> TokenCache {
    let script = services[TokenScript.self]
    let source: any TokenSource = script ?? source
    return services.shared.value(
      TokenCache.self, named: "\(credential) \(script?.label ?? sourceID)",
      make: { TokenCache(source: source, timeout: options.timeout) })
  }

  func forgetCredentials(_ services: Services) async throws -> String {
    try await cache(services).forget(services)
    return source.isOwned
      ? "the tokens of \(credential)"
      : "nothing of \(credential), because gqlrun does not own \(source.label)"
  }

  /// Restarts the chain with another token, or returns the reason why there is none, for the
  /// message.
  private func renewed(
    _ token: AccessToken, failures: Int, request: GraphQLRequest, cache: TokenCache,
    context: ChainContext, cause: ChainError?
  ) async throws -> String {
    let id = ObjectIdentifier(cache)
    guard request.context[Renewed.self]?.contains(id) != true else {
      return "; the token was renewed once already"
    }
    do {
      guard try await cache.token(after: token.value, failures: failures, context.services) != nil
      else { return "; \(source.label) has no other token than the rejected one" }
    } catch {
      throw failure(error, request: request, context: context)
    }
    context.services.logger.info("↻ \(request.label): retry with a new token")
    var retry = request.withOwnRetry()
    retry.context[Renewed.self] = (request.context[Renewed.self] ?? []).union([id])
    throw ChainRetry(retry, cause: cause)
  }

  private func isRefusal(_ error: ChainError, of request: GraphQLRequest) -> Bool {
    if error.code == .connectionRejected { return true }
    guard let http = error.http, error.code != .tokenRenewalFailed else { return false }
    guard request.operationType != .mutation || !error.showsExecution else { return false }
    return options.statuses.contains(http.status)
      || error.refusedErrors.contains { options.codes.contains($0.code ?? "") }
  }

  private func isRefusal(_ response: GraphQLResponse, of request: GraphQLRequest) -> Bool {
    let errors = response.errors
    // A body of GraphQL's own type is a response with any status.
    let isRefused = response.http.map { options.statuses.contains($0.status.code) } ?? false
    guard
      isRefused && !errors.isEmpty
        || errors.contains(where: { options.codes.contains($0.code ?? "") })
    else { return false }
    return request.operationType != .mutation || !response.showsExecution
  }

  private func failure(
    _ error: any Error, request: GraphQLRequest, context: ChainContext
  ) -> any Error {
    switch error {
    case is CancellationError: return error
    case let error as TokenFailure where error.isMissing:
      return ChainError(
        notSent: .missingToken,
        "\(request.label) was not sent, because there is no token: \(error.message)",
        entry: context.entryID)
    case let error as TokenFailure:
      return ChainError(
        notSent: .tokenRenewalFailed, "there is no token for \(request.label): \(error.message)",
        entry: context.entryID)
    case var error as ChainError:
      error.message = "the token of \(request.label) could not be renewed: \(error.message)"
      error.entry = context.entryID
      error.delivery = .notSent
      return error
    default:
      return ChainError(
        .request, code: .tokenRenewalFailed, message: "there is no token for \(request.label)",
        entry: context.entryID, cause: error, delivery: .notSent)
    }
  }
}

extension ChainError.Code {
  /// No token is configured.
  public static let missingToken = Self(rawValue: "missing_token")
  /// The token could not be renewed.
  public static let tokenRenewalFailed = Self(rawValue: "token_renewal_failed")
}
