import GQLRunSupport

/// Elements that are handed out one by one, each to one reader.
///
/// Behind a lock and not an actor: a result passes several of these, and is not to wait at each.
final class ElementQueue<Element: Sendable>: Sendable {
  private let elements: Locked<ArraySlice<Element>>

  init(_ elements: [Element]) {
    self.elements = Locked(elements[...])
  }

  func next() -> Element? {
    elements.withLock { $0.popFirst() }
  }
}
