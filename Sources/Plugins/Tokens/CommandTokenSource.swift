import Foundation
import GQLRunJSON
public import GQLRunPipeline
import GQLRunSupport

/// A command that prints a token: as plain text, as JSON, or like kubectl's credential plugins.
///
/// https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
struct CommandTokenSource: TokenSource {
  let command: String

  var label: String { "the token command" }
  var details: [String] { [command] }

  func token(replacing refused: AccessToken?, _ services: Services) async throws -> AccessToken {
    let text: String
    do {
      text = try await ShellCommand.run(command, limit: 1 << 20)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw TokenFailure(message: "\(label) failed: \(error)")
    }
    let trimmed = text.withoutByteOrderMark.trimmingEnds()
    guard trimmed.hasPrefix("{") else {
      guard !trimmed.isEmpty, !trimmed.contains(where: \.isWhitespace) else {
        throw TokenFailure(
          message: trimmed.isEmpty
            ? "\(label) printed nothing"
            : "\(label) printed several words; one token or JSON is expected")
      }
      return AccessToken(SecretString(trimmed))
    }
    guard let value = try? JSONValue(parsing: trimmed) else {
      throw TokenFailure(
        message: "\(label) printed text that begins like JSON and is not valid JSON")
    }
    return try token(of: value, services)
  }

  private func token(of value: JSONValue, _ services: Services) throws -> AccessToken {
    let isCredential = value["kind"]?.stringValue == "ExecCredential"
    let holder = isCredential ? value["status"] ?? .null : value
    let names = ["token", "access_token", "accessToken"]
    guard let text = names.lazy.compactMap({ holder[$0]?.stringValue }).first, !text.isEmpty else {
      throw TokenFailure(
        message: "\(label) printed JSON without "
          + (isCredential ? "status.token" : "token or access_token"))
    }
    let now = services.clock.now()
    if let lifetime = AccessToken.lifetime(holder["expires_in"]).map({ Duration.seconds($0) }) {
      return AccessToken(SecretString(text), end: now + lifetime, lifetime: lifetime)
    }
    guard let time = holder["expirationTimestamp"]?.stringValue else {
      return AccessToken(SecretString(text))
    }
    guard let date = Self.date(time) else {
      throw TokenFailure(
        message: "\(label) printed an expirationTimestamp that is not a time of RFC 3339")
    }
    let left = Duration.seconds(
      min(max(date.timeIntervalSince1970 - services.secondsSince1970(), -1e9), 1e9))
    return AccessToken(SecretString(text), end: now + left, lifetime: left > .zero ? left : nil)
  }

  private static func date(_ text: String) -> Date? {
    let plain = Date.ISO8601FormatStyle()
    return (try? plain.parse(text))
      ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
  }
}

/// The tokens of a test, in place of every token source.
///
/// ```swift
/// services[TokenScript.self] = TokenScript(["old", "new"])
/// ```
public actor TokenScript: ServiceKey {
  /// The service of this key.
  public typealias Value = TokenScript

  private let tokens: [String]
  private var given = 0

  /// Creates a source of fixed tokens.
  ///
  /// - Parameter tokens: Returned one after the other; the last one is repeated.
  public init(_ tokens: [String]) { self.tokens = tokens }

  /// The number of token renewals; `nil` if no token was used.
  public var renewals: Int? { given > 0 ? given - 1 : nil }
}

extension TokenScript: TokenSource {
  nonisolated var label: String { "the tokens of the test" }

  func token(replacing refused: AccessToken?, _ services: Services) async throws -> AccessToken {
    guard let last = tokens.last else {
      throw TokenFailure(message: "the test has no tokens", isMissing: true)
    }
    defer { given += 1 }
    return AccessToken(SecretString(given < tokens.count ? tokens[given] : last))
  }
}
