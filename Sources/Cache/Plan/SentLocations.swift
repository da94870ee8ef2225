import GQLRunLanguage
import GQLRunSupport

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
  private let pairs = Locked<[Pair]?>(nil)

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
    sent.utf8.dropFirst(offset).prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }.count
  }

  private func makePairs() -> [Pair] {
    guard let parsed = try? Document(parsing: sent) else { return [] }
    let sources = LocationList(document)
    let begins = LocationList(parsed)
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

/// The locations of all nodes of a document, each before those inside it: visits the document without a rule.
private final class LocationList: RuleVisitor {
  private(set) var locations: [(location: SourceLocation, isAdded: Bool)] = []
  /// Where the selection set begins that was entered last. What the cache adds is first in its selection set, so that
  /// it is in this one.
  private var enclosing = SourceLocation.added

  init(_ document: Document) {
    _ = document.validate(nil, options: ValidationOptions(rules: []), own: [self])
  }

  private func add(_ location: SourceLocation?) {
    guard let location else { return }
    let isAdded = location == .added
    locations.append((isAdded ? enclosing : location, isAdded))
  }

  private func add(_ type: TypeReference) {
    switch type {
    case .named(let name): add(name.location)
    case .list(let inner, let location):
      add(location)
      add(inner)
    case .nonNull(let inner): add(inner)
    }
  }

  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    add(operation.location)
    add(operation.description?.location)
    add(operation.name?.location)
  }

  func enter(variable: VariableDefinition, _ context: ValidationContext) {
    add(variable.location)
    add(variable.description?.location)
    add(variable.name.location)
    add(variable.type)
  }

  func enter(fragment: FragmentDefinition, _ context: ValidationContext) {
    add(fragment.location)
    add(fragment.description?.location)
    add(fragment.name.location)
    add(fragment.typeCondition.location)
  }

  func enter(selectionSet: SelectionSet, _ context: ValidationContext) {
    if selectionSet.location != .added { enclosing = selectionSet.location }
    add(selectionSet.location)
  }

  func enter(field: Field, _ context: ValidationContext) {
    add(field.location)
    add(field.alias?.location)
    add(field.name.location)
  }

  func enter(spread: FragmentSpread, _ context: ValidationContext) {
    add(spread.location)
    add(spread.name.location)
  }

  func enter(inlineFragment: InlineFragment, _ context: ValidationContext) {
    add(inlineFragment.location)
    add(inlineFragment.typeCondition?.location)
  }

  func enter(
    directive: Directive, at location: DirectiveLocation, _ context: ValidationContext
  ) {
    add(directive.location)
    add(directive.name.location)
  }

  func enter(argument: Argument, _ context: ValidationContext) {
    add(argument.location)
    add(argument.name.location)
  }

  func enter(value: Value, _ context: ValidationContext) { add(value.location) }

  func enter(objectField field: ObjectField, _ context: ValidationContext) {
    add(field.location)
    add(field.name.location)
  }
}
