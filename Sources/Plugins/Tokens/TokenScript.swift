public import GQLRunPipeline

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
