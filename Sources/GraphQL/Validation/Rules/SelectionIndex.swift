import GQLRunSupport

/// The selection sets and fields of a document, numbered in the order of traversal.
final class SelectionIndex {
  /// A field at a source location.
  struct Entry {
    var key: String
    var name: String
    var location: SourceLocation
    /// The number of its selection set.
    var selectionSet: Int?
    /// The number of its arguments: equal for equal arguments in any order, unique for arguments
    /// with a repeated name.
    var arguments: Int
    /// The arguments, if a name is repeated.
    var repeatedArguments: [Argument]?
    /// Its `@catch`, which counts as one of the arguments: merged fields have one type.
    var caught: CatchDirective?
    /// The number of the enclosing type, or 0 if it is unknown.
    var parent: Int
    var type: TypeReference?
    /// The number of the type's shape; one number for all composite types, 0 if unknown.
    var shape: Int
  }

  /// A selection, in source order.
  enum Item {
    case field(Int)
    case spread(Int)
    /// The selection set of an inline fragment, and its type condition if there is one.
    case inline(Int, condition: String?)
  }

  private(set) var fields: [Entry] = []
  private(set) var selectionSets: [[Item]] = []
  /// The names of spread fragments, by number.
  private(set) var spreadNames: [String] = []
  /// The selection set and type condition of each defined fragment, by the number of its name.
  private(set) var fragments: [(selectionSet: Int, condition: String)?] = []
  /// The selection sets of the operations, then those of the fragments.
  private(set) var roots: [Int] = []

  let context: ValidationContext
  private var typeNumbers: [String: Int] = [:]
  private(set) var typeIsObject: [Bool] = [false]
  private var shapes: [String: Int] = [:]
  private var argumentNumbers: [String: Int] = [:]
  /// The first arguments with each number, at the number less one.
  private var numberedArguments: [[Argument]] = []
  private var spreadNumbers: [String: Int] = [:]

  init(_ context: ValidationContext) {
    self.context = context
    var fragmentRoots: [Int] = []
    var selectionSetOf: [Int: Int] = [:]
    for (index, definition) in context.document.definitions.enumerated() {
      switch definition {
      case .operation(let operation):
        let type = context.schema?.rootType(for: operation.type)?.name
        roots.append(add(operation.selectionSet, type))
      case .fragment(let fragment):
        let type = context.type(named: fragment.typeCondition.value)?.name
        let root = add(fragment.selectionSet, type)
        selectionSetOf[index] = root
        fragmentRoots.append(root)
      case .typeSystem:
        break
      }
    }
    roots += fragmentRoots
    fragments = spreadNames.map { name in
      guard let index = context.fragmentIndexes[name], let root = selectionSetOf[index],
        let fragment = context.fragment(at: index)
      else { return nil }
      return (root, fragment.typeCondition.value)
    }
  }

  private func add(_ selectionSet: SelectionSet, _ parent: String?) -> Int {
    let number = selectionSets.count
    selectionSets.append([])
    let parentNumber = typeNumber(parent)
    var items: [Item] = []
    items.reserveCapacity(selectionSet.selections.count)
    for selection in selectionSet.selections {
      switch selection {
      case .field(let field):
        items.append(.field(add(field, parent: parent, parentNumber: parentNumber)))
      case .inlineFragment(let fragment):
        let condition = fragment.typeCondition?.value
        let type = condition.map { context.type(named: $0)?.name } ?? parent
        items.append(.inline(add(fragment.selectionSet, type), condition: condition))
      case .fragmentSpread(let spread):
        let count = spreadNumbers.count
        let spreadNumber = spreadNumbers[spread.name.value, default: count]
        if spreadNumber == count {
          spreadNumbers[spread.name.value] = count
          spreadNames.append(spread.name.value)
        }
        items.append(.spread(spreadNumber))
      }
    }
    selectionSets[number] = items
    return number
  }

  private func add(_ field: Field, parent: String?, parentNumber: Int) -> Int {
    let definition = parent.flatMap { context.schema?.field(field.name.value, on: $0) }
    let number = fields.count
    var entry = Entry(
      key: field.responseKey, name: field.name.value, location: field.location,
      arguments: 0, parent: parentNumber, type: definition?.type, shape: shape(definition?.type))
    if Set(field.arguments.map(\.name.value)).count < field.arguments.count {
      entry.arguments = -1 - number
      entry.repeatedArguments = field.arguments
    } else {
      entry.caught = CatchDirective(field.directives)
      entry.arguments = argumentNumber(field.arguments, entry.caught)
    }
    fields.append(entry)
    if let selectionSet = field.selectionSet {
      fields[number].selectionSet = add(selectionSet, definition?.type.namedType.value)
    }
    return number
  }

  // MARK: - Numbers

  func typeNumber(_ name: String?) -> Int {
    guard let name, let type = context.type(named: name) else { return 0 }
    if let known = typeNumbers[name] { return known }
    let number = typeIsObject.count
    typeNumbers[name] = number
    if case .object = type { typeIsObject.append(true) } else { typeIsObject.append(false) }
    return number
  }

  func shape(_ type: TypeReference?) -> Int {
    guard let type else { return 0 }
    let name = type.namedType.value
    guard let named = context.schema?.types[name] else { return 0 }
    var text = named.isLeaf ? name : ""
    func wrap(_ type: TypeReference) {
      switch type {
      case .named: break
      case .list(let inner, _):
        text += "]"
        wrap(inner)
      case .nonNull(let inner):
        text += "!"
        wrap(inner)
      }
    }
    wrap(type)
    let next = shapes.count + 1
    if let known = shapes[text] { return known }
    shapes[text] = next
    return next
  }

  private func argumentNumber(_ arguments: [Argument], _ caught: CatchDirective?) -> Int {
    guard !arguments.isEmpty || caught != nil else { return 0 }
    var text = arguments.map(\.canonical).sorted().joined(separator: ",")
    if let caught { text += "@\(caught.target) \(caught.levels.sorted())" }
    if let known = argumentNumbers[text] { return known }
    let number = argumentNumbers.count + 1
    argumentNumbers[text] = number
    numberedArguments.append(arguments)
    return number
  }

  /// Whether two fields have the same arguments; if a name is repeated, as the reference
  /// implementation defines it.
  func haveSameArguments(_ first: Entry, _ second: Entry) -> Bool {
    if first.repeatedArguments == nil, second.repeatedArguments == nil {
      return first.arguments == second.arguments
    }
    let (own, others) = (arguments(of: first), arguments(of: second))
    guard own.count == others.count else { return false }
    var last: [String: String] = [:]
    for argument in others { last[argument.name.value] = argument.canonical }
    return own.allSatisfy { last[$0.name.value] == $0.canonical }
  }

  /// Why two fields with differing arguments cannot be merged.
  static func reason(_ first: Entry, _ second: Entry) -> String {
    first.caught == second.caught
      ? "they have differing arguments" : "they have differing @catch directives"
  }

  private func arguments(of entry: Entry) -> [Argument] {
    entry.repeatedArguments ?? (entry.arguments == 0 ? [] : numberedArguments[entry.arguments - 1])
  }
}

extension Argument {
  fileprivate var canonical: String { "\(name.value):\(value.sorted.printed())" }
}

extension Value {
  /// The value with the fields of objects sorted by name.
  var sorted: Value {
    switch self {
    case .list(let values, let location):
      .list(values.map(\.sorted), location)
    case .object(let fields, let location):
      .object(
        fields.map { ObjectField(name: $0.name, value: $0.value.sorted, location: $0.location) }
          .sorted { isNaturallyOrdered($0.name.value, $1.name.value) },
        location)
    default: self
    }
  }
}
