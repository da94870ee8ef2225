/// What a JSON text may ask for before it is refused.
///
/// The limits hold everywhere in the text, also in subtrees that a handler skips.
@frozen
public struct JSONLimits: Hashable, Sendable {
  /// How many objects and arrays may be open at once. 512 by default.
  public var maxDepth: Int32
  /// The longest string value, in bytes after unescaping. 16 MiB by default.
  public var maxStringBytes: Int
  /// The longest object key, in bytes after unescaping. 64 KiB by default.
  public var maxKeyBytes: Int
  /// The longest number, in bytes of its text. 1 KiB by default.
  public var maxNumberBytes: Int

  @inlinable
  public init(
    maxDepth: Int32 = 512,
    maxStringBytes: Int = 16 << 20,
    maxKeyBytes: Int = 64 << 10,
    maxNumberBytes: Int = 1 << 10
  ) {
    self.maxDepth = maxDepth
    self.maxStringBytes = maxStringBytes
    self.maxKeyBytes = maxKeyBytes
    self.maxNumberBytes = maxNumberBytes
  }
}
