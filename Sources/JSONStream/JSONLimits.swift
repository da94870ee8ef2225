/// Limits of a JSON text. The parser rejects a text that exceeds one.
///
/// They apply to the whole text, including subtrees that a handler skips.
@frozen
public struct JSONLimits: Hashable, Sendable {
  /// The maximum number of open objects and arrays. 512 by default.
  public var maxDepth: Int32
  /// The maximum length of a string value, in bytes after unescaping. 16 MiB by default.
  public var maxStringBytes: Int
  /// The maximum length of an object key, in bytes after unescaping. 64 KiB by default.
  public var maxKeyBytes: Int
  /// The maximum length of a number, in bytes of its text. 1 KiB by default.
  public var maxNumberBytes: Int

  /// Creates limits; see the properties for the units and defaults.
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
