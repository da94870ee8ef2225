/// A definition with a name: a field, an argument, an enum value.
public protocol NamedDefinition: Sendable, Hashable {
  /// The name.
  var name: Name { get }
}

extension FieldDefinition: NamedDefinition {}
extension InputValueDefinition: NamedDefinition {}
extension EnumValueDefinition: NamedDefinition {}

/// Definitions in source order, with lookup by name in constant time.
public struct NamedList<Element: NamedDefinition>: RandomAccessCollection, Sendable, Hashable {
  private let elements: [Element]
  private let positions: [String: Int]

  /// Creates a list; keeps the first of several elements with the same name.
  public init(_ elements: [Element]) {
    var known: [String: Int] = [:]
    known.reserveCapacity(elements.count)
    var kept: [Element] = []
    kept.reserveCapacity(elements.count)
    for element in elements where known[element.name.value] == nil {
      known[element.name.value] = kept.count
      kept.append(element)
    }
    self.elements = kept
    self.positions = known
  }

  /// The index of the first element.
  public var startIndex: Int { elements.startIndex }
  /// The index after the last element.
  public var endIndex: Int { elements.endIndex }
  /// The element at an index.
  public subscript(position: Int) -> Element { elements[position] }

  /// The element with that name; `nil` if there is none.
  public subscript(name: String) -> Element? { positions[name].map { elements[$0] } }

  /// The names in source order.
  public var names: [String] { elements.map(\.name.value) }
}
