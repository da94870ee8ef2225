import GQLRunSupport

extension Document {
  /// The fragments of the document by name.
  ///
  /// - Throws: ``FragmentError/Code/duplicateName`` if two fragments have the same name.
  public func fragmentsByName() throws(FragmentError) -> [String: FragmentDefinition] {
    var fragments: [String: FragmentDefinition] = [:]
    for definition in definitions {
      guard case .fragment(let fragment) = definition else { continue }
      guard fragments.updateValue(fragment, forKey: fragment.name.value) == nil else {
        throw FragmentError(
          code: .duplicateName,
          message: "There can be only one fragment named '\(fragment.name.value)'.",
          location: fragment.name.location)
      }
    }
    return fragments
  }

  /// The fragments that `operation` spreads, directly or through other fragments, in source order.
  ///
  /// Takes linear time.
  ///
  /// - Throws: ``FragmentError`` if two fragments of the document have the same name, or if a
  ///   fragment that the operation reaches is undefined or contains itself.
  public func fragments(
    usedBy operation: OperationDefinition
  ) throws(FragmentError) -> [FragmentDefinition] {
    let known = try fragmentsByName()
    let used = try FragmentWalk(known).reached(from: operation.selectionSet)
    return fragments.filter { used.contains($0.name.value) }
  }

  /// The operation and the fragments it uses, in source order: the part of the document that a
  /// server needs.
  ///
  /// An operation that is not in this document comes first.
  ///
  /// - Throws: The errors of `fragments(usedBy:)`.
  public func reduced(to operation: OperationDefinition) throws(FragmentError) -> Document {
    let used = Set(try fragments(usedBy: operation).map(\.name.value))
    var reduced: [Definition] = []
    var isPlaced = false
    for definition in definitions {
      switch definition {
      case .operation(let candidate) where !isPlaced && candidate == operation:
        reduced.append(definition)
        isPlaced = true
      case .fragment(let fragment) where used.contains(fragment.name.value):
        reduced.append(definition)
      default:
        break
      }
    }
    if !isPlaced { reduced.insert(.operation(operation), at: 0) }
    return Document(definitions: reduced)
  }
}

extension SelectionSet {
  /// The fragment spreads in the selection set, at any depth, in source order.
  public var fragmentSpreads: [FragmentSpread] {
    var spreads: [FragmentSpread] = []
    collect(&spreads)
    return spreads
  }

  private func collect(_ spreads: inout [FragmentSpread]) {
    for selection in selections {
      switch selection {
      case .field(let field): field.selectionSet?.collect(&spreads)
      case .fragmentSpread(let spread): spreads.append(spread)
      case .inlineFragment(let fragment): fragment.selectionSet.collect(&spreads)
      }
    }
  }
}

/// A depth-first traversal from spread to fragment with an explicit stack, because a chain of
/// fragments can be as long as the document.
private struct FragmentWalk {
  private let fragments: [String: FragmentDefinition]

  init(_ fragments: [String: FragmentDefinition]) {
    self.fragments = fragments
  }

  private struct Step {
    /// The fragment whose spreads are followed; `nil` for the operation.
    var name: String?
    var spreads: ArraySlice<FragmentSpread>
  }

  /// The names of the reached fragments. Throws if one is undefined or contains itself.
  func reached(from selectionSet: SelectionSet) throws(FragmentError) -> Set<String> {
    var reached: Set<String> = []
    var open: Set<String> = []
    var path = [Step(name: nil, spreads: selectionSet.fragmentSpreads[...])]
    while let last = path.indices.last {
      guard let spread = path[last].spreads.popFirst() else {
        if let name = path.removeLast().name { open.remove(name) }
        continue
      }
      let name = spread.name.value
      if open.contains(name) { throw cycle(spread, path) }
      guard reached.insert(name).inserted else { continue }
      guard let fragment = fragments[name] else { throw undefined(spread) }
      open.insert(name)
      path.append(Step(name: name, spreads: fragment.selectionSet.fragmentSpreads[...]))
    }
    return reached
  }

  private func undefined(_ spread: FragmentSpread) -> FragmentError {
    let name = spread.name.value
    let guesses = suggestions(for: name, in: Array(fragments.keys))
    return FragmentError(
      code: .undefined, message: "Unknown fragment '\(name)'." + didYouMean(guesses),
      location: spread.location)
  }

  private func cycle(_ spread: FragmentSpread, _ path: [Step]) -> FragmentError {
    let name = spread.name.value
    let via = path.drop { $0.name != name }.dropFirst().compactMap(\.name)
    let names = via.prefix(20).map { "'\($0)'" } + (via.count > 20 ? ["…"] : [])
    return FragmentError(
      code: .cycle,
      message: "Cannot spread fragment '\(name)' within itself"
        + (names.isEmpty ? "." : " via \(names.joined(separator: ", "))."),
      location: spread.location)
  }
}
