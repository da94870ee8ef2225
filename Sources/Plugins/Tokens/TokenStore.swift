import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// The stored tokens of one credential while no other process reads or writes them: one of several processes renews
/// them, and the others read what it stored.
protocol TokenSlot: Sendable {
  /// The stored tokens; empty if there are none.
  func read() async throws -> StoredTokens
  /// Stores tokens durably.
  func write(_ tokens: StoredTokens) async throws
}

/// The tokens of one credential, as they are stored.
struct StoredTokens: Sendable, Hashable {
  var accessToken: SecretString?
  /// In seconds since 1970, by the writer's clock.
  var issuedAt: Double?
  /// In seconds.
  var lifetime: Double?
  var refreshToken: SecretString?
  /// The hash of the configured refresh token that this one descends from.
  var origin: String?
  /// The hash of the source of the access token; `nil` in files of older versions.
  var source: String?
  /// The hash of the server and client of the refresh token; `nil` in files of older versions.
  var client: String?

  init() {}

  /// - Returns: `nil` if the text is not that of stored tokens.
  init?(parsing bytes: [UInt8]) {
    guard let object = (try? JSONValue(parsing: bytes))?.objectValue,
      object["version"]?.intValue == 1
    else { return nil }
    accessToken = object["access_token"]?.stringValue.map { SecretString($0) }
    issuedAt = object["issued_at"]?.doubleValue
    lifetime = object["lifetime"]?.doubleValue.map { min(max($0, 0), 1e9) }
    refreshToken = Self.refreshToken(object["refresh_token"])
    origin = object["origin"]?.stringValue
    source = object["source"]?.stringValue
    client = object["client"]?.stringValue
  }

  /// The refresh token in a member; `nil` for an empty text, which some servers send if they issue none.
  static func refreshToken(_ member: JSONValue?) -> SecretString? {
    guard let text = member?.stringValue, !text.isEmpty else { return nil }
    return SecretString(text)
  }

  /// The text, with the secrets.
  var json: JSONValue {
    var object = JSONObject()
    object["version"] = 1
    object["access_token"] = accessToken.map { .string($0.reveal()) }
    object["issued_at"] = issuedAt.flatMap { JSONNumber($0) }.map { .number($0) }
    object["lifetime"] = lifetime.flatMap { JSONNumber($0) }.map { .number($0) }
    object["refresh_token"] = refreshToken.map { .string($0.reveal()) }
    object["origin"] = origin.map { .string($0) }
    object["source"] = source.map { .string($0) }
    object["client"] = client.map { .string($0) }
    return .object(object)
  }
}

/// The file that stores the tokens of one credential between runs.
///
/// Only its owner can read it, and it is replaced atomically. A renewal holds the lock file next to
/// it, so that one of several processes renews and the others read its tokens.
struct FileTokenStore: TokenSlot {
  let path: String

  /// - Parameter path: The path of the file, or of a symbolic link to it, which remains.
  init(path: String) { self.path = FilePath.behindLink(path) }

  func whileLocked<Value: Sendable>(
    _ clock: ServiceClock, _ work: @Sendable () async throws -> Value
  ) async throws -> Value {
    let lockPath = path + ".lock"
    try PrivateFile.makeFolder(of: lockPath)
    let lock = try FileLock(lockPath)
    try await lock.lock { try await clock.sleep(for: FileLock.interval) }
    defer { lock.release() }
    return try await work()
  }

  /// The stored tokens; empty if there is no file.
  func read() throws -> StoredTokens {
    // Opening a pipe would wait for its writer.
    let bytes: [UInt8]? =
      FilePath.isPipe(path) ? [] : try SystemIO.readExistingFile(path, limit: 1 << 20)
    guard let bytes else { return StoredTokens() }
    guard let tokens = StoredTokens(parsing: bytes) else {
      throw TokenFailure(message: "\(path) is not a token file; remove it to sign in again")
    }
    return tokens
  }

  func write(_ tokens: StoredTokens) throws {
    try PrivateFile.write(tokens.json.jsonBytes(pretty: true), to: path)
  }

  /// Removes the tokens while no other process renews them. The lock file stays, because another
  /// process may wait for it.
  func clear(_ clock: ServiceClock) async throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    try await whileLocked(clock) { try remove() }
  }

  /// Removes the tokens; the caller holds the lock.
  func remove() throws {
    guard unlink(path) == 0 || errno == ENOENT else { throw SystemError("remove", path: path) }
  }
}
