import Foundation

/// Elements that are handed out one by one, each to one reader.
///
/// Behind a lock and not an actor: a result passes several of these, and is not to wait at each.
///
/// Sendable: `elements` is reached with `lock` held only, and holds Sendable values.
final class ElementQueue<Element: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var elements: ArraySlice<Element>

  init(_ elements: [Element]) {
    self.elements = elements[...]
  }

  func next() -> Element? {
    lock.withLock { elements.popFirst() }
  }
}
