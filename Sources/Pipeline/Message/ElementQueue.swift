import GQLRunSupport

/// A queue of elements; each is read once.
///
/// Guarded by a lock and not by an actor: a result passes several queues and should not suspend at
/// each.
final class ElementQueue<Element: Sendable>: Sendable {
  private let elements: Locked<ArraySlice<Element>>

  init(_ elements: [Element]) {
    self.elements = Locked(elements[...])
  }

  func next() -> Element? {
    elements.withLock { $0.popFirst() }
  }
}
