/// Elements by key, in the order in which the keys occur first.
///
/// It is `public` for the same reason as ``Locked``.
public struct OrderedGroups<Key: Hashable, Element> {
  @usableFromInline var groups: [(key: Key, elements: [Element])]
  /// The index of each group.
  @usableFromInline var positions: [Key: Int]

  /// Creates no groups.
  @inlinable
  public init() {
    groups = []
    positions = [:]
  }

  /// Groups elements by their keys.
  @inlinable
  public init(_ elements: some Sequence<Element>, by key: (Element) -> Key) {
    self.init()
    for element in elements { append(element, to: key(element)) }
  }

  /// The groups; none is empty.
  @inlinable public var all: [(key: Key, elements: [Element])] { groups }

  /// The elements with a key; empty if there are none.
  @inlinable
  public subscript(key: Key) -> [Element] { positions[key].map { groups[$0].elements } ?? [] }

  /// Adds an element to the group of its key.
  @inlinable
  public mutating func append(_ element: Element, to key: Key) {
    if let position = positions[key] {
      groups[position].elements.append(element)
    } else {
      positions[key] = groups.count
      groups.append((key, [element]))
    }
  }
}
