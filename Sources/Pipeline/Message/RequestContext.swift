/// Values that travel with a request along its chain and through its retries.
///
/// The interceptors below see what an interceptor sets; requests share nothing. Swift code uses
/// typed keys; pipeline files use named values, which are text.
public struct RequestContext: Sendable {
  private var values: [ObjectIdentifier: any Sendable] = [:]
  /// The values that pipeline files can name, as in `${context:tenant}`.
  public var named: [String: String] = [:]
  /// Metadata of every log message that the interceptors below write.
  public var logged: [String: String] = [:]

  /// Creates a context.
  ///
  /// - Parameter named: The values that pipeline files can name.
  public init(named: [String: String] = [:]) {
    self.named = named
  }

  /// The value of a typed key; `nil` if it is not set.
  public subscript<Key: RequestContextKey>(key: Key.Type) -> Key.Value? {
    get { values[ObjectIdentifier(key)] as? Key.Value }
    set { values[ObjectIdentifier(key)] = newValue }
  }
}

/// The key of a typed value in a ``RequestContext``: one type per value.
public protocol RequestContextKey {
  /// The type of the value.
  associatedtype Value: Sendable
}
