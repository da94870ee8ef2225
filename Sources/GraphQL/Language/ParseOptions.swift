/// The limits a text must keep to be parsed, so that a hostile one costs bounded time and memory.
public struct ParseOptions: Sendable, Hashable {
  /// How many tokens a text may have. The default, one million, leaves room for schemas of
  /// several megabytes.
  public var maxTokens: Int
  /// How deep selection sets, values and list types may nest. The default is 256.
  ///
  /// It bounds the recursion of the parser and of everything that walks its result. Parsing and
  /// printing at the default depth were measured to fit a stack of 512 KB in release builds and
  /// of 2 MB in debug builds; choose a higher limit only on threads with more.
  public var maxDepth: Int

  public init(maxTokens: Int = 1_000_000, maxDepth: Int = 256) {
    self.maxTokens = maxTokens
    self.maxDepth = maxDepth
  }
}
