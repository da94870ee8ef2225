public import GQLRunPipeline

/// Tokens that a test hands out, in the place of every source of tokens.
///
/// ```swift
/// services[TokenScript.self] = TokenScript(["old", "new"])
/// ```
public actor TokenScript: ServiceKey {
  public typealias Value = TokenScript

  private let tokens: [String]
  private var given = 0

  /// - Parameter tokens: Given one after the other; the last one again and again.
  public init(_ tokens: [String]) { self.tokens = tokens }

  /// How often a token was fetched after the first; `nil` when none was.
  public var renewals: Int? { given > 0 ? given - 1 : nil }

  fileprivate func next() throws -> Token {
    guard let last = tokens.last else {
      throw TokenFailure(message: "the test has no tokens", isMissing: true)
    }
    defer { given += 1 }
    return Token(SecretString(given < tokens.count ? tokens[given] : last))
  }
}

extension TokenScript: TokenSource {
  nonisolated var label: String { "the tokens of the test" }

  func token(replacing refused: Token?, _ services: Services) async throws -> Token { try next() }
}
