import GQLRunSupport

/// State that outlives requests and that plugins share by name: tokens, budgets, what an endpoint
/// is known not to support.
///
/// A value is made when somebody first asks for it, and lives as long as the services do. Copies of
/// ``Services`` share one.
public final class SharedState: Sendable {
  private struct Key: Hashable {
    var type: ObjectIdentifier
    var name: String
  }

  private let values = Locked<[Key: any Sendable]>([:])

  public init() {}

  /// The value of a type and a name, made by `make` when there is none.
  ///
  /// - Parameter make: Called with the lock held: short, and does not ask for shared state.
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

  /// All values of a type.
  public func all<Value: Sendable>(_ type: Value.Type) -> [Value] {
    values.withLock { $0.values.compactMap { $0 as? Value } }
  }
}
