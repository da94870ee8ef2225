import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// The file that stores the tokens of one credential between runs.
///
/// Only its owner can read it, and it is replaced atomically. A renewal holds the lock file next to
/// it, so that one of several processes renews and the others read its tokens.
struct TokenStore: Sendable {
  struct Contents: Sendable, Hashable {
    var accessToken: SecretString?
    /// In seconds since 1970, by the writer's clock.
    var issuedAt: Double?
    /// In seconds.
    var lifetime: Double?
    var refreshToken: SecretString?
    /// The hash of the configured refresh token that this one descends from.
    var origin: String?
  }

  let path: String

  /// The interval between tries to acquire the lock.
  static let lockInterval = Duration.milliseconds(20)

  func whileLocked<Value: Sendable>(
    _ clock: ServiceClock, _ work: @Sendable () async throws -> Value
  ) async throws -> Value {
    let lockPath = path + ".lock"
    try PrivateFile.makeFolder(of: lockPath)
    let lock = try FileLock(lockPath)
    try await lock.lock { try await clock.sleep(for: Self.lockInterval) }
    defer { lock.release() }
    return try await work()
  }

  /// The stored tokens; empty if there is no file.
  func read() throws -> Contents {
    guard let bytes = try PrivateFile.read(path, limit: 1 << 20) else { return Contents() }
    guard let object = (try? JSONValue(parsing: bytes))?.objectValue,
      object["version"]?.intValue == 1
    else {
      throw TokenFailure(message: "\(path) is not a token file; remove it to sign in again")
    }
    return Contents(
      accessToken: object["access_token"]?.stringValue.map { SecretString($0) },
      issuedAt: object["issued_at"]?.doubleValue, lifetime: object["lifetime"]?.doubleValue,
      refreshToken: object["refresh_token"]?.stringValue.map { SecretString($0) },
      origin: object["origin"]?.stringValue)
  }

  func write(_ contents: Contents) throws {
    var object = JSONObject()
    object["version"] = 1
    object["access_token"] = contents.accessToken.map { .string($0.reveal()) }
    object["issued_at"] = contents.issuedAt.flatMap { JSONNumber($0) }.map { .number($0) }
    object["lifetime"] = contents.lifetime.flatMap { JSONNumber($0) }.map { .number($0) }
    object["refresh_token"] = contents.refreshToken.map { .string($0.reveal()) }
    object["origin"] = contents.origin.map { .string($0) }
    try PrivateFile.write(JSONValue.object(object).jsonBytes(pretty: true), to: path)
  }

  /// Removes the tokens while no other process renews them. The lock file stays, because another
  /// process may wait for it.
  func clear(_ clock: ServiceClock) async throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    try await whileLocked(clock) {
      guard unlink(path) == 0 || errno == ENOENT else {
        throw SystemError("remove", path)
      }
    }
  }
}
