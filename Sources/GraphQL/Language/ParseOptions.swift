/// Limits of a GraphQL text, which bound the time and memory that hostile text costs.
public struct ParseOptions: Sendable, Hashable {
  /// The maximum number of tokens. One million by default, enough for schemas of several megabytes.
  public var maxTokens: Int
  /// The maximum nesting depth of selection sets, values and list types. 256 by default.
  ///
  /// It bounds the recursion of the parser and of everything that traverses its result. By
  /// measurement, the default depth needs a stack of 512 KB in release builds and 2 MB in debug
  /// builds; use a higher limit only on threads with more.
  public var maxDepth: Int

  /// Creates limits.
  public init(maxTokens: Int = 1_000_000, maxDepth: Int = 256) {
    self.maxTokens = maxTokens
    self.maxDepth = maxDepth
  }
}
