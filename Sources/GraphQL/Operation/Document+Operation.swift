import GQLRunSupport

extension Document {
  /// The operation to run: the one with that name or, without a name, the only one.
  ///
  /// - Parameter name: The name of the operation; `nil` if the document has only one.
  /// - Throws: ``OperationSelectionError`` if there is no such operation, or more than one.
  ///
  /// https://spec.graphql.org/September2025/#GetOperation()
  public func operation(
    named name: String?
  ) throws(OperationSelectionError) -> OperationDefinition {
    let operations = self.operations
    guard let first = operations.first else {
      throw OperationSelectionError(
        code: .noOperation,
        message: definitions.isEmpty
          ? "the document has no operation; it is empty"
          : "the document has no operation, only \(contents); add a query to run")
    }
    guard let name else {
      guard operations.count > 1 else { return first }
      let anonymous = operations.filter { $0.name == nil }.count
      let hint = anonymous > 0 ? "; an operation without a name must be the only one" : ""
      throw OperationSelectionError(
        code: .nameRequired,
        message: "the document has \(operations.count) operations (\(names(of: operations)))"
          + hint + "; name the one to run",
        location: anonymous > 0 ? operations.first { $0.name == nil }?.location : nil)
    }
    let matches = operations.filter { $0.name?.value == name }
    guard let match = matches.first else {
      let known = operations.compactMap { $0.name?.value }
      let guess = suggestion(for: name, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
      let noun = operations.count == 1 ? "it has" : "it has the operations"
      throw OperationSelectionError(
        code: .unknownName,
        message: "the document has no operation \"\(name)\"; \(noun) \(names(of: operations))"
          + guess)
    }
    guard matches.count == 1 else {
      throw OperationSelectionError(
        code: .duplicateName,
        message: "the document has \(matches.count) operations named \"\(name)\"; "
          + "names must be unique",
        location: matches[1].name?.location)
    }
    return match
  }

  private var contents: String {
    let hasTypes = definitions.contains { if case .typeSystem = $0 { true } else { false } }
    switch (fragments.isEmpty, hasTypes) {
    case (false, true): return "fragments and type definitions"
    case (false, false): return "fragments"
    default: return "type definitions"
    }
  }

  private func names(of operations: [OperationDefinition]) -> String {
    let names = operations.prefix(20).map { operation in
      operation.name.map { "\"\($0.value)\"" } ?? "an anonymous \(operation.type.rawValue)"
    }
    let rest = operations.count - names.count
    return names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }
}

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
    let used = try FragmentWalk(fragments: known).reached(from: operation.selectionSet)
    return fragments.filter { used.contains($0.name.value) }
  }

  /// For each operation, in source order, the document that `reduced(to:)` returns. Reads this document once for all of
  /// them.
  ///
  /// - Throws: The errors of `fragments(usedBy:)`.
  package func reducedToEachOperation() throws(FragmentError) -> [Document] {
    let walk = FragmentWalk(fragments: try fragmentsByName())
    var operations: [(index: Int, selectionSet: SelectionSet)] = []
    var fragments: [String: Int] = [:]
    for (index, definition) in definitions.enumerated() {
      switch definition {
      case .operation(let operation): operations.append((index, operation.selectionSet))
      case .fragment(let fragment): fragments[fragment.name.value] = index
      case .typeSystem: break
      }
    }
    var documents: [Document] = []
    for operation in operations {
      let used = try walk.reached(from: operation.selectionSet).compactMap { fragments[$0] }
      documents.append(
        Document(definitions: (used + [operation.index]).sorted().map { definitions[$0] }))
    }
    return documents
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
    forEachSelection { selection in
      if case .fragmentSpread(let spread) = selection { spreads.append(spread) }
    }
    return spreads
  }
}

/// The fragments that spreads lead to, directly or through others.
private struct FragmentWalk {
  let fragments: [String: FragmentDefinition]

  /// The names of the reached fragments. Throws if one is undefined or contains itself.
  func reached(from selectionSet: SelectionSet) throws(FragmentError) -> Set<String> {
    var search = CycleSearch<FragmentSpread>()
    try search.visit(
      nil, edges: selectionSet.fragmentSpreads, target: { $0.name.value },
      successors: { (spread) throws(FragmentError) in
        guard let fragment = fragments[spread.name.value] else { throw undefined(spread) }
        return fragment.selectionSet.fragmentSpreads
      },
      onCycle: { (via, last) throws(FragmentError) in throw cycle(via, last) })
    return search.visited
  }

  private func undefined(_ spread: FragmentSpread) -> FragmentError {
    let name = spread.name.value
    let guesses = suggestions(for: name, in: Array(fragments.keys))
    return FragmentError(
      code: .undefined, message: "Unknown fragment '\(name)'." + didYouMean(guesses),
      location: spread.location)
  }

  private func cycle(_ via: ArraySlice<FragmentSpread>, _ last: FragmentSpread) -> FragmentError {
    let names = via.prefix(20).map { "'\($0.name.value)'" } + (via.count > 20 ? ["…"] : [])
    return FragmentError(
      code: .cycle,
      message: "Cannot spread fragment '\(last.name.value)' within itself"
        + (names.isEmpty ? "." : " via \(names.joined(separator: ", "))."),
      location: last.location)
  }
}

/// An error in the fragments of a document, with its source location.
public struct FragmentError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of error.
  public enum Code: Sendable, Hashable {
    /// Two fragments have the same name; located at the second.
    case duplicateName
    /// A spread names an undefined fragment; located at the spread.
    case undefined
    /// A fragment contains itself; located at the spread that closes the cycle.
    case cycle
  }

  /// The kind of error.
  public var code: Code
  /// The message, as in the reference implementation.
  public var message: String
  /// The source location of the error.
  public var location: SourceLocation

  /// `line:column: message`.
  public var description: String { "\(location.line):\(location.column): \(message)" }
}

/// Why the operation to run could not be selected from a document.
public struct OperationSelectionError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of error.
  public enum Code: Sendable, Hashable {
    /// The document has no operation.
    case noOperation
    /// It has several operations, and no name was given.
    case nameRequired
    /// No operation has the name.
    case unknownName
    /// Several operations have the name.
    case duplicateName
  }

  /// The kind of error.
  public var code: Code
  /// What the document has, and what is expected.
  public var message: String
  /// The location of the second operation with the name, or of an anonymous one among several.
  public var location: SourceLocation?

  /// The message, with the source location if there is one.
  public var description: String {
    location.map { "\($0.line):\($0.column): \(message)" } ?? message
  }
}
