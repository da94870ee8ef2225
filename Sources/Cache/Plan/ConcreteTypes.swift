import Synchronization

/// The names that objects gave as their `__typename`: names of object types, never of interfaces or
/// unions.
///
/// Without a schema they decide fragments: a type condition on one of them holds for that type and
/// no other. Every store keeps those it met; see ``StoreActivity/concreteTypes``.
final class ConcreteTypes: Sendable {
  private let names = Mutex<Set<String>>([])
  /// A server may invent type names without end.
  static let limit = 4096

  func contains(_ name: String) -> Bool { names.withLock { $0.contains(name) } }

  /// All names, in alphabetical order.
  var all: [String] { names.withLock { $0.sorted() } }

  /// Adds names, up to ``limit`` in all.
  func add(_ more: [String]) {
    names.withLock { names in
      for name in more where names.count < Self.limit { names.insert(name) }
    }
  }

  func removeAll() { names.withLock { $0 = [] } }
}
