import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

/// Requests tokens from an OAuth 2 server, with client credentials or a refresh token.
///
/// https://www.rfc-editor.org/rfc/rfc6749
struct OAuth2TokenSource: TokenSource {
  enum Grant: String, CaseIterable, ExpressibleByOption {
    case clientCredentials = "client-credentials"
    case refreshToken = "refresh-token"
  }

  enum ClientAuthentication: String, CaseIterable, ExpressibleByOption {
    case basic, post
  }

  /// The refresh token is the first one; the store may have a newer one.
  let options: TokenRefreshPlugin.OAuth2
  let endpoint: Endpoint
  let store: FileTokenStore?
  let skew: Duration
  let timeout: Duration
  private let state = Monitor(State())

  private struct State: Sendable {
    /// Renewed tokens that are not in the store yet; the old ones are no longer valid.
    var unsaved: StoredTokens?
    /// The number of calls of ``forget(_:)``.
    var signOuts = 0
  }

  var label: String { "the token endpoint \(endpoint.shownURL)" }

  var details: [String] {
    identity + [
      options.clientAuth.rawValue, store?.path ?? "", options.clientSecret?.reveal() ?? "",
      options.refreshToken?.reveal() ?? "",
    ]
  }

  /// What distinguishes the tokens that the server issues, without the secrets of the client.
  private var identity: [String] {
    [
      url, options.grant.rawValue, options.clientID, options.scope ?? "", options.audience ?? "",
    ]
  }

  private var url: String { "\(endpoint.scheme)://\(endpoint.authority)\(endpoint.path)" }

  /// The hashes in stored tokens: of ``identity``, for the access token, and of the server and client, for the refresh token.
  private var ids: (source: String, client: String) {
    // Lengths keep lists apart whose joined texts are equal.
    func hash(_ parts: [String]) -> String {
      DocumentHash.sha256(parts.map { "\($0.utf8.count):\($0)" }.joined())
    }
    return (hash(identity), hash([url, options.clientID]))
  }

  var isOwned: Bool { store != nil }

  /// The server may take a refresh token once only.
  var endsCredentials: Bool { options.grant == .refreshToken }

  func token(replacing refused: AccessToken?, _ services: Services) async throws -> AccessToken {
    let signOuts = state.withLock { $0.signOuts }
    let secrets = [options.clientSecret, options.refreshToken].compactMap { $0 }
    // Several machines share the tokens of a queue.
    if let shared = services[SharedTokensKey.self], !secrets.isEmpty {
      let slot = SharedTokenSlot(
        shared, identity: identity, secrets: secrets, local: store, services: services)
      return try await slot.whileLocked {
        try await token(in: slot, replacing: refused, signOuts: signOuts, services).token
      }
    }
    guard let store else { return try await request(StoredTokens(), services).token }
    return try await store.whileLocked(services.clock) {
      let renewed = try await token(in: store, replacing: refused, signOuts: signOuts, services)
      // After the write: a sign-out that comes later finds the file.
      if renewed.isNew, state.withLock({ $0.signOuts }) != signOuts { try store.remove() }
      return renewed.token
    }
  }

  /// The token of a store, or a new one, which is stored, and whether it is new.
  ///
  /// - Parameter signOuts: The number of sign-outs when the renewal began.
  private func token(
    in slot: any TokenSlot, replacing refused: AccessToken?, signOuts: Int, _ services: Services
  ) async throws -> (token: AccessToken, isNew: Bool) {
    if let waiting = state.withLock({ $0.unsaved }) {
      // Tokens that could not be saved before. They are only used after they are saved.
      try await keep(waiting, in: slot)
      state.withLock { $0.unsaved = nil }
    }
    let kept = try await slot.read()
    if let token = token(kept, services), token.value != refused?.value,
      token.isUsable(at: services.clock.now(), skew: skew)
    {
      // Another process has renewed it.
      return (token, isNew: false)
    }
    let answer = try await request(kept, services)
    state.withLock { if $0.signOuts == signOuts { $0.unsaved = answer.contents } }
    try await keep(answer.contents, in: slot)
    state.withLock { $0.unsaved = nil }
    return (answer.token, isNew: true)
  }

  func forget(_ services: Services) async throws {
    state.withLock { state in
      state.signOuts += 1
      state.unsaved = nil
    }
    try await store?.clear(services.clock)
  }

  private func keep(_ contents: StoredTokens, in slot: any TokenSlot) async throws {
    do {
      try await slot.write(contents)
    } catch {
      throw TokenFailure(
        message: "the tokens from \(endpoint.shownURL) are not used, because they cannot be "
          + "stored: \(error)")
    }
  }

  /// A stored token with its remaining lifetime; `nil` if it is of another source. Older versions stored no source.
  ///
  /// The clock may have been set meanwhile, so the remainder is at most the whole lifetime.
  private func token(_ kept: StoredTokens, _ services: Services) -> AccessToken? {
    guard let value = kept.accessToken, kept.source ?? ids.source == ids.source,
      origin(kept) != nil || options.grant == .clientCredentials
    else { return nil }
    guard let issuedAt = kept.issuedAt, let lifetime = kept.lifetime else {
      return AccessToken(value)
    }
    let age = max(services.secondsSince1970() - issuedAt, 0)
    let left = Duration.seconds(min(max(lifetime - age, 0), 1e9))
    return AccessToken(
      value, end: services.clock.now() + left, lifetime: .seconds(min(lifetime, 1e9)))
  }

  /// The hash of the configured refresh token, if the stored one descends from it and is of this server and client.
  private func origin(_ kept: StoredTokens) -> String? {
    guard kept.client ?? ids.client == ids.client else { return nil }
    guard let given = options.refreshToken else { return kept.origin ?? "" }
    let hash = DocumentHash.sha256(given.reveal())
    return kept.origin == hash ? hash : nil
  }
}

// MARK: The token request

extension OAuth2TokenSource {
  private func request(
    _ kept: StoredTokens, _ services: Services
  ) async throws -> (token: AccessToken, contents: StoredTokens) {
    guard let transport = services.transport else {
      throw TokenFailure(message: "the client has no transport to request a token from \(label)")
    }
    services.secrets.insert(
      contentsOf: [
        options.clientSecret, options.refreshToken, kept.accessToken, kept.refreshToken,
      ].compactMap { $0 })
    let used = (origin(kept) != nil ? kept.refreshToken : nil) ?? options.refreshToken
    if options.grant == .refreshToken, used == nil {
      throw TokenFailure(
        message: "there is no refresh token: set the option refresh_token", isMissing: true)
    }
    var limits = HTTPLimits()
    limits.total = timeout
    limits.bodyBytes = .mebibytes(1)
    let response = try await transport.send(message(used), limits: limits)
    let body = try await response.body.prefix(1 << 20)
    let value = try? JSONValue(parsing: body, options: .init(allowsDuplicateKeys: true))
    guard (200..<300).contains(response.head.status.code) else {
      throw refusal(response.head, value: value, hiding: services.secrets.hiding)
    }
    guard let text = value?["access_token"]?.stringValue, !text.isEmpty else {
      // GitHub refuses with a status of success.
      if value?["error"]?.stringValue != nil {
        throw refusal(response.head, value: value, hiding: services.secrets.hiding)
      }
      throw TokenFailure(message: "\(label) answered without an access_token")
    }
    // Otherwise it would be stored, and refused by each run until it expires.
    guard HTTPField.isValidValue("Bearer \(text)") else {
      throw TokenFailure(
        message: "\(label) issued a token with characters that HTTP forbids, such as line ends")
    }
    if let type = value?["token_type"]?.stringValue, type.lowercased() != "bearer" {
      throw TokenFailure(
        message: "\(label) issued a token of type \(type.prefix(40)); only Bearer is supported")
    }
    let lifetime = AccessToken.lifetime(value?["expires_in"])
    let token = AccessToken(
      SecretString(text), end: lifetime.map { services.clock.now() + .seconds($0) },
      lifetime: lifetime.map { .seconds($0) })
    // A response without a refresh token, or with an empty one, means that the old one remains valid.
    let next = StoredTokens.refreshToken(value?["refresh_token"]) ?? used
    services.secrets.insert(contentsOf: [token.value, next].compactMap { $0 })
    var contents = StoredTokens()
    contents.accessToken = token.value
    contents.issuedAt = services.secondsSince1970()
    contents.lifetime = lifetime
    contents.refreshToken = options.grant == .refreshToken ? next : nil
    contents.origin = options.refreshToken.map { DocumentHash.sha256($0.reveal()) }
    (contents.source, contents.client) = ids
    return (token, contents)
  }

  /// https://www.rfc-editor.org/rfc/rfc6749#section-5.2
  private func refusal(
    _ head: HTTPResponse, value: JSONValue?, hiding: SecretHiding
  ) -> any Error {
    let code = value?["error"]?.stringValue
    let words = [code, value?["error_description"]?.stringValue].compactMap { $0?.prefix(300) }
    let reason = hiding.text(words.isEmpty ? "" : ": " + words.joined(separator: ", "))
    var message = "\(label) answered \(head.status.shown)\(reason)"
    switch code {
    case "invalid_grant", "bad_refresh_token":
      message += "; sign in again, and set a new refresh token"
    case "invalid_client", "incorrect_client_credentials":
      message += "; check client_id, client_secret and client_auth"
    default: break
    }
    let status = head.status.code
    guard status == 429 || status >= 500 else { return TokenFailure(message: message) }
    return ChainError(
      .transport, code: .tokenRenewalFailed, message: message,
      http: .init(status: status, headers: head.headerFields), delivery: .notSent)
  }

  private func message(_ refreshToken: SecretString?) -> HTTPRequestMessage {
    var form: [(String, String)] = []
    switch options.grant {
    case .clientCredentials: form.append(("grant_type", "client_credentials"))
    case .refreshToken:
      form.append(("grant_type", "refresh_token"))
      form.append(("refresh_token", refreshToken?.reveal() ?? ""))
    }
    if let scope = options.scope { form.append(("scope", scope)) }
    if let audience = options.audience { form.append(("audience", audience)) }
    var fields = HTTPFields()
    fields[.accept] = "application/json"
    fields[.contentType] = "application/x-www-form-urlencoded"
    if let clientSecret = options.clientSecret, options.clientAuth == .basic {
      // https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1
      let pair = Self.encoded(options.clientID) + ":" + Self.encoded(clientSecret.reveal())
      fields[.authorization] = "Basic " + Data(pair.utf8).base64EncodedString()
    } else {
      form.append(("client_id", options.clientID))
      if let secret = options.clientSecret { form.append(("client_secret", secret.reveal())) }
    }
    let body = form.map { "\($0)=\(Self.encoded($1))" }.joined(separator: "&")
    return HTTPRequestMessage(
      head: HTTPRequest(
        method: .post, scheme: endpoint.scheme, authority: endpoint.authority, path: endpoint.path,
        headerFields: fields), body: Array(body.utf8))
  }

  /// https://url.spec.whatwg.org/#application/x-www-form-urlencoded
  private static func encoded(_ text: String) -> String {
    let open = CharacterSet(
      charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._*")
    return text.addingPercentEncoding(withAllowedCharacters: open) ?? ""
  }
}
