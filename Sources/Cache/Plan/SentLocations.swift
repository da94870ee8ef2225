import GQLRunLanguage
import Synchronization

/// Maps locations in the document that is sent to those in the document that the caller wrote.
///
/// The sent document is reformatted and has added key fields; servers locate their errors in it. The map is
/// created on first use, so responses without errors do not need it.
final class SentLocations: Sendable {
  /// The start of a token in the sent document, and in the caller's.
  private struct Pair {
    var sent: SourceLocation
    var source: SourceLocation
    /// Whether the cache added it.
    var isAdded: Bool
  }

  private let sent: String
  /// The sent document with the locations of the caller's.
  private let document: Document
  private let pairs = Mutex<[Pair]?>(nil)

  init(sent: String, document: Document) {
    self.sent = sent
    self.document = document
  }

  /// Maps a location of the sent document to the caller's document; `nil` for a location that the
  /// sent document does not have.
  ///
  /// What the cache added is located at the selection set it was added to.
  func source(line: Int, column: Int) -> SourceLocation? {
    let pairs = pairs.withLock { pairs in
      if let pairs { return pairs }
      let made = makePairs()
      pairs = made
      return made
    }
    let lines = sent.utf8.count { $0 == UInt8(ascii: "\n") } + 1
    guard line >= 1, line <= lines, column >= 1, !pairs.isEmpty else { return nil }
    // The last that begins at the location or before it; of several, the outermost.
    var (low, high) = (0, pairs.count)
    while low < high {
      let middle = (low + high) / 2
      let begin = pairs[middle].sent
      if (begin.line, begin.column) <= (line, column) { low = middle + 1 } else { high = middle }
    }
    var index = max(low - 1, 0)
    while index > 0, pairs[index - 1].sent == pairs[index].sent { index -= 1 }
    let pair = pairs[index]
    var source = pair.source
    // Inside the same word, which both documents have.
    let distance = column - pair.sent.column
    if !pair.isAdded, line == pair.sent.line, distance < wordLength(at: pair.sent.offset) {
      source.column += max(distance, 0)
      source.offset += max(distance, 0)
    }
    return source
  }

  /// How long the name at an offset of the sent document is; 0 where there is none.
  private func wordLength(at offset: Int) -> Int {
    let isLetter = { (byte: UInt8) in
      (65...90).contains(byte) || (97...122).contains(byte) || (48...57).contains(byte)
        || byte == 95
    }
    return sent.utf8.dropFirst(offset).prefix(while: isLetter).count
  }

  private func makePairs() -> [Pair] {
    guard let parsed = try? Document(parsing: sent) else { return [] }
    var sources = LocationList()
    sources.add(document)
    var begins = LocationList()
    begins.add(parsed)
    // Both have the same nodes: one is the other, printed and parsed.
    guard sources.locations.count == begins.locations.count else { return [] }
    let pairs = sources.locations.indices.map { index in
      let (source, isAdded) = sources.locations[index]
      return Pair(sent: begins.locations[index].location, source: source, isAdded: isAdded)
    }
    // Of those that begin together, the outer one stays first.
    return pairs.enumerated().sorted {
      ($0.element.sent.offset, $0.offset) < ($1.element.sent.offset, $1.offset)
    }.map(\.element)
  }
}

/// The locations of all nodes of a document, each before those inside it.
private struct LocationList {
  private(set) var locations: [(location: SourceLocation, isAdded: Bool)] = []
  /// Where the innermost open selection set begins.
  private var enclosing = SourceLocation.added

  private mutating func add(_ location: SourceLocation) {
    let isAdded = location == .added
    locations.append((isAdded ? enclosing : location, isAdded))
  }

  private mutating func add(_ name: Name) { add(name.location) }

  mutating func add(_ document: Document) {
    for definition in document.definitions {
      switch definition {
      case .operation(let operation): add(operation)
      case .fragment(let fragment):
        add(fragment.location)
        if let description = fragment.description { add(description.location) }
        add(fragment.name)
        add(fragment.typeCondition)
        add(fragment.directives)
        add(fragment.selectionSet)
      case .typeSystem: continue
      }
    }
  }

  private mutating func add(_ operation: OperationDefinition) {
    add(operation.location)
    if let description = operation.description { add(description.location) }
    if let name = operation.name { add(name) }
    for variable in operation.variables {
      add(variable.location)
      if let description = variable.description { add(description.location) }
      add(variable.name)
      add(variable.type)
      if let value = variable.defaultValue { add(value) }
      add(variable.directives)
    }
    add(operation.directives)
    add(operation.selectionSet)
  }

  private mutating func add(_ set: SelectionSet) {
    let outer = enclosing
    enclosing = set.location == .added ? outer : set.location
    add(set.location)
    for selection in set.selections {
      switch selection {
      case .field(let field):
        add(field.location)
        if let alias = field.alias { add(alias) }
        add(field.name)
        add(field.arguments)
        add(field.directives)
        if let set = field.selectionSet { add(set) }
      case .inlineFragment(let fragment):
        add(fragment.location)
        if let condition = fragment.typeCondition { add(condition) }
        add(fragment.directives)
        add(fragment.selectionSet)
      case .fragmentSpread(let spread):
        add(spread.location)
        add(spread.name)
        add(spread.directives)
      }
    }
    enclosing = outer
  }

  private mutating func add(_ directives: [Directive]) {
    for directive in directives {
      add(directive.location)
      add(directive.name)
      add(directive.arguments)
    }
  }

  private mutating func add(_ arguments: [Argument]) {
    for argument in arguments {
      add(argument.location)
      add(argument.name)
      add(argument.value)
    }
  }

  private mutating func add(_ type: TypeReference) {
    switch type {
    case .named(let name): add(name)
    case .list(let inner, let location):
      add(location)
      add(inner)
    case .nonNull(let inner): add(inner)
    }
  }

  private mutating func add(_ value: Value) {
    switch value {
    case .variable(let name), .enumeration(let name): add(name)
    case .int(_, let location), .float(_, let location), .boolean(_, let location),
      .null(let location):
      add(location)
    case .string(let string): add(string.location)
    case .list(let values, let location):
      add(location)
      for value in values { add(value) }
    case .object(let fields, let location):
      add(location)
      for field in fields {
        add(field.location)
        add(field.name)
        add(field.value)
      }
    }
  }
}
