/// A value, and what happens to it when its last owner releases it.
///
/// For a value that others retain, too, such as a task that works for its owners.
package final class Owned<Value: Sendable>: Sendable {
  /// The value.
  package let value: Value
  private let release: @Sendable (Value) -> Void

  /// - Parameter release: Called with the value when no owner is left.
  package init(_ value: Value, release: @escaping @Sendable (Value) -> Void) {
    self.value = value
    self.release = release
  }

  deinit { release(value) }
}
