public import GQLRunJSON

/// Limits of a response. A response that exceeds one is rejected.
public struct ResponseLimits: Sendable, Hashable {
  /// Limits of depth, strings, keys and numbers of the JSON text.
  public var json: JSONLimits
  /// The maximum size of a custom scalar value and of the `errors` and `extensions` members, in
  /// bytes. 16 MiB by default.
  public var maxOpaqueBytes: Int

  /// Creates limits.
  public init(json: JSONLimits = JSONLimits(), maxOpaqueBytes: Int = 16 << 20) {
    self.json = json
    self.maxOpaqueBytes = maxOpaqueBytes
  }
}
