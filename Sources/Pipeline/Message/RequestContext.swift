/// Values that travel with one request along its whole chain and through its retries.
///
/// A value set by an interceptor is seen by every interceptor below it; nothing is shared between
/// requests. Swift code uses typed keys; pipeline files name values, which are text.
public struct RequestContext: Sendable {
  private var values: [ObjectIdentifier: any Sendable] = [:]
  /// Values that pipeline files can name, as in `${context:tenant}`.
  public var named: [String: String] = [:]
  /// Values that stand beside every line that interceptors below write to the log.
  public var logged: [String: String] = [:]

  public init(named: [String: String] = [:]) {
    self.named = named
  }

  public subscript<Key: RequestContextKey>(key: Key.Type) -> Key.Value? {
    get { values[ObjectIdentifier(key)] as? Key.Value }
    set { values[ObjectIdentifier(key)] = newValue }
  }
}

/// The key of a typed value in a ``RequestContext``: a type of its own for each value.
public protocol RequestContextKey {
  associatedtype Value: Sendable
}
