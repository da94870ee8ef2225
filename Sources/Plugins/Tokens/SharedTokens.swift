import GQLRunCrypto
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// A store in which processes on several machines keep their tokens, such as the database of a queue.
///
/// It receives sealed bytes only, which the holders of the credential can open.
package protocol SharedTokens: Sendable {
  /// Calls `work` while no other process uses the bytes of a name.
  func whileLocked<Value: Sendable>(
    _ name: String, _ work: @Sendable () async throws -> Value
  ) async throws -> Value
  /// The bytes of the locked name, with the time since they were written; `nil` if there are none.
  func read(_ name: String) async throws -> (bytes: [UInt8], age: Duration)?
  /// Stores the bytes of the locked name durably.
  func write(_ bytes: [UInt8], of name: String) async throws
}

/// The store in which this process shares its tokens, in ``Services``.
package enum SharedTokensKey: ServiceKey {
  package typealias Value = any SharedTokens
}

/// The tokens of one credential in ``SharedTokens``.
///
/// They are sealed with a key that is derived from the secret of the client and the first refresh token, which all
/// processes with this credential have, and others who can read the store do not.
struct SharedTokenSlot: TokenSlot {
  private let shared: any SharedTokens
  private let name: String
  private let key: SealingKey
  /// The tokens that this machine stored earlier; read if the shared store has none.
  private let local: FileTokenStore?
  private let services: Services

  /// - Parameters:
  ///   - identity: What distinguishes the credential from others: the token endpoint, the client, the scope.
  ///   - secrets: The secrets of the credential; not empty.
  init(
    _ shared: any SharedTokens, identity: [String], secrets: [SecretString],
    local: FileTokenStore?, services: Services
  ) {
    self.shared = shared
    self.local = local
    self.services = services
    // Lengths keep lists apart whose joined texts are equal.
    let parts = (secrets.map { $0.reveal() } + identity).map { "\($0.utf8.count):\($0)" }
    key = SealingKey(derivedFrom: parts.joined(), purpose: "gqlrun token key")
    name = SealingKey(derivedFrom: parts.joined(), purpose: "gqlrun token name").base64Encoded
  }

  func whileLocked<Value: Sendable>(
    _ work: @Sendable () async throws -> Value
  ) async throws -> Value {
    try await shared.whileLocked(name, work)
  }

  func read() async throws -> StoredTokens {
    guard let (bytes, age) = try await shared.read(name) else {
      return try local?.read() ?? StoredTokens()
    }
    guard let text = key.open(bytes), var tokens = StoredTokens(parsing: text) else {
      throw TokenFailure(
        message: "the shared tokens are damaged; delete the rows of the table gq_token")
    }
    // The clocks of machines differ; the age is that of the store's clock.
    tokens.issuedAt = services.secondsSince1970() - age.seconds
    return tokens
  }

  func write(_ tokens: StoredTokens) async throws {
    guard let bytes = try? key.seal(tokens.json.jsonBytes()) else {
      throw TokenFailure(message: "the tokens cannot be sealed")
    }
    try await shared.write(bytes, of: name)
  }
}
