import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// A bearer token.
struct AccessToken: Sendable, Hashable {
  var value: SecretString
  /// The time at which it expires, on the services' monotonic clock; `nil` if unknown.
  var end: Duration?
  /// The lifetime when it was issued; `nil` if unknown.
  var lifetime: Duration?

  init(_ value: SecretString, end: Duration? = nil, lifetime: Duration? = nil) {
    self.value = value
    self.end = end
    self.lifetime = lifetime
  }

  /// Whether it can be sent: it does not expire within `skew`, or within half its lifetime if that
  /// is shorter.
  func isUsable(at now: Duration, skew: Duration) -> Bool {
    guard let end else { return true }
    return end - now > min(skew, (lifetime ?? skew * 2) / 2)
  }

  /// The lifetime in a member `expires_in`, in seconds; `nil` if it has none. Some servers send the number as text.
  static func lifetime(_ member: JSONValue?) -> Double? {
    let seconds = member?.doubleValue ?? member?.stringValue.flatMap { Double($0) }
    return seconds.flatMap { $0 > 0 && $0.isFinite ? min($0, 1e9) : nil }
  }
}

/// A source of tokens.
protocol TokenSource: Sendable {
  /// The source in messages, without secrets.
  var label: String { get }

  /// What distinguishes the source from others with its label; may contain secrets.
  var details: [String] { get }

  /// Whether the token is read again for every request, because that is cheap.
  var isReadEachTime: Bool { get }

  /// Whether gqlrun stores the token, so that signing out removes it.
  var isOwned: Bool { get }

  /// Whether a renewal may end the credential that it is made with, so that its answer must not be lost.
  var endsCredentials: Bool { get }

  /// Returns a token to use now.
  ///
  /// - Parameter refused: The token that the server rejected or that has expired. A source without
  ///   another token returns it.
  func token(replacing refused: AccessToken?, _ services: Services) async throws -> AccessToken

  /// Removes what is stored outside of this process.
  func forget(_ services: Services) async throws
}

extension TokenSource {
  var details: [String] { [] }
  var isReadEachTime: Bool { false }
  var isOwned: Bool { false }
  var endsCredentials: Bool { false }

  func forget(_ services: Services) async throws {}
}

/// The error of a token source that has no token.
struct TokenFailure: Error, Sendable {
  var message: String
  /// Whether there never was a token, as opposed to a failed renewal.
  var isMissing = false
}

/// Reads the token from an environment variable.
struct EnvironmentTokenSource: TokenSource {
  let name: String

  var label: String { "the variable \(name)" }
  var isReadEachTime: Bool { true }

  func token(replacing refused: AccessToken?, _ services: Services) async throws -> AccessToken {
    guard let value = services.variable(name), !value.isEmpty else {
      throw TokenFailure(message: "the variable \(name) is not set", isMissing: true)
    }
    return AccessToken(SecretString(value))
  }
}

/// Reads the token from a file that another program maintains, without surrounding white space and a byte order mark.
struct FileTokenSource: TokenSource {
  let path: String

  var label: String { "the file \(path)" }
  var isReadEachTime: Bool { true }

  func token(replacing refused: AccessToken?, _ services: Services) async throws -> AccessToken {
    guard !FilePath.isPipe(path) else {
      throw TokenFailure(
        message: "\(path) is a pipe, and a token is read for every request; name a regular file",
        isMissing: true)
    }
    let bytes: [UInt8]?
    do {
      bytes = try SystemIO.readExistingFile(path, limit: 64 << 10)
    } catch {
      throw TokenFailure(message: "\(error)", isMissing: true)
    }
    guard let bytes else {
      throw TokenFailure(message: "there is no file \(path)", isMissing: true)
    }
    guard
      let text = String(validating: bytes, as: UTF8.self)?.withoutByteOrderMark.trimmingEnds(),
      !text.isEmpty
    else {
      throw TokenFailure(message: "the file \(path) holds no token", isMissing: true)
    }
    return AccessToken(SecretString(text))
  }
}
