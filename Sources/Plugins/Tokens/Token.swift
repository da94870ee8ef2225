import GQLRunPipeline
import GQLRunSupport

/// A bearer token.
struct Token: Sendable, Hashable {
  var value: SecretString
  /// When it stops being taken, on the services' clock, which does not jump; `nil` when nobody said.
  var end: Duration?
  /// How long it was good for when it was issued, as far as that is known.
  var lifetime: Duration?

  init(_ value: SecretString, end: Duration? = nil, lifetime: Duration? = nil) {
    self.value = value
    self.end = end
    self.lifetime = lifetime
  }

  /// Whether it can be sent: it does not end within `skew`, or, when it lives less than twice that
  /// long, within half its life.
  func isGood(at now: Duration, skew: Duration) -> Bool {
    guard let end else { return true }
    return end - now > min(skew, (lifetime ?? skew * 2) / 2)
  }
}

/// Where tokens come from.
protocol TokenSource: Sendable {
  /// What a user is told where the token comes from; holds no secrets.
  var label: String { get }

  /// Whether the token is read anew for every request, because that costs nothing.
  var isReadEachTime: Bool { get }

  /// Whether signing out leaves nothing of the token.
  var isOurs: Bool { get }

  /// A token to use now.
  ///
  /// - Parameter refused: The token that the server did not take, or that has ended. A source that
  ///   has no other returns it.
  func token(replacing refused: Token?, _ services: Services) async throws -> Token

  /// Forgets what is kept outside of this process.
  func forget(_ services: Services) async throws
}

extension TokenSource {
  var isReadEachTime: Bool { false }
  var isOurs: Bool { !isReadEachTime }

  func forget(_ services: Services) async throws {}
}

/// Why there is no token.
struct TokenFailure: Error, Sendable {
  var message: String
  /// Whether nobody ever gave one, rather than that it could not be renewed.
  var isMissing = false
}

/// A variable of the environment.
struct EnvironmentTokenSource: TokenSource {
  let name: String

  var label: String { "the variable \(name)" }
  var isReadEachTime: Bool { true }

  func token(replacing refused: Token?, _ services: Services) async throws -> Token {
    guard let value = services.variable(name), !value.isEmpty else {
      throw TokenFailure(message: "the variable \(name) is not set", isMissing: true)
    }
    return Token(SecretString(value))
  }
}

/// A file that somebody else keeps current; its text without surrounding white space.
struct FileTokenSource: TokenSource {
  let path: String

  var label: String { "the file \(path)" }
  var isReadEachTime: Bool { true }

  func token(replacing refused: Token?, _ services: Services) async throws -> Token {
    let bytes: [UInt8]?
    do {
      bytes = try PrivateFile.read(path, limit: 64 << 10)
    } catch {
      throw TokenFailure(message: "\(error)", isMissing: true)
    }
    guard let bytes else {
      throw TokenFailure(message: "there is no file \(path)", isMissing: true)
    }
    guard let text = String(validating: bytes, as: UTF8.self)?.trimmed, !text.isEmpty else {
      throw TokenFailure(message: "the file \(path) holds no token", isMissing: true)
    }
    return Token(SecretString(text))
  }
}

extension String {
  /// Without white space at both ends.
  var trimmed: String {
    var text = self[...]
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
