import GQLRunSupport

/// State that outlives requests and that plugins share by type and name: tokens, budgets, features
/// that an endpoint is known to lack.
///
/// A value is created on first access and lives as long as the services. Copies of ``Services``
/// share one state.
public final class SharedState: Sendable {
  private struct Key: Hashable {
    var type: ObjectIdentifier
    var name: String
  }

  private let values = Locked<[Key: any Sendable]>([:])

  /// Creates an empty state.
  public init() {}

  /// Returns the value of a type and a name; creates it with `make` if there is none.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - name: The name of the value, unique per type.
  ///   - make: Creates the value. Called with a lock held, so it must be short and not access
  ///     shared state.
  public func value<Value: Sendable>(
    _ type: Value.Type, named name: String, make: () -> Value
  ) -> Value {
    let key = Key(type: ObjectIdentifier(type), name: name)
    return values.withLock { values in
      if let value = values[key] as? Value { return value }
      let value = make()
      values[key] = value
      return value
    }
  }

  /// Returns all values of a type, in no particular order.
  public func all<Value: Sendable>(_ type: Value.Type) -> [Value] {
    values.withLock { $0.values.compactMap { $0 as? Value } }
  }
}
