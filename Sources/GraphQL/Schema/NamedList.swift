/// Something a schema knows by name: a field, an argument, an enum value.
public protocol NamedDefinition: Sendable, Hashable {
  var name: Name { get }
}

extension FieldDefinition: NamedDefinition {}
extension InputValueDefinition: NamedDefinition {}
extension EnumValueDefinition: NamedDefinition {}

/// Definitions in source order, found by name in constant time.
public struct NamedList<Element: NamedDefinition>: RandomAccessCollection, Sendable, Hashable {
  private let elements: [Element]
  private let positions: [String: Int]

  /// Keeps the first of several elements that share a name.
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

  public var startIndex: Int { elements.startIndex }
  public var endIndex: Int { elements.endIndex }
  public subscript(position: Int) -> Element { elements[position] }

  /// The element of that name.
  public subscript(name: String) -> Element? { positions[name].map { elements[$0] } }

  public var names: [String] { elements.map(\.name.value) }
}
