/// The state that the rules of one validation share: document, schema, current types and errors.
package final class ValidationContext {
  package let schema: Schema?
  package let document: Document
  /// Whether the document is a type system document; `schema` is the schema it extends.
  let isTypeSystem: Bool
  package var types = TypeInfo()
  /// The index of the current definition in the document.
  var definitionIndex = 0

  private let options: ValidationOptions
  /// The edition whose rules are checked.
  var edition: Edition { options.edition }
  private(set) var errors: [ValidationError] = []
  /// Whether a limit was reached, so that validation stops.
  private(set) var isAborted = false
  private var steps = 0

  init(
    _ schema: Schema?, document: Document, options: ValidationOptions, isTypeSystem: Bool
  ) {
    self.schema = schema
    self.document = document
    self.options = options
    self.isTypeSystem = isTypeSystem
  }

  // MARK: - Errors

  package func report(_ rule: ValidationRule, _ message: String, at locations: [SourceLocation]) {
    guard !isAborted else { return }
    guard errors.count < options.maxErrors else {
      abort("Too many validation errors, error limit reached. Validation aborted.")
      return
    }
    errors.append(ValidationError(rule: rule, message: message, locations: locations))
  }

  package func report(_ rule: ValidationRule, _ message: String, at location: SourceLocation) {
    report(rule, message, at: [location])
  }

  /// Reports a name that is already among the known ones, at both source locations; adds it otherwise.
  ///
  /// - Parameter existing: The message if the schema that the document extends has the name; `nil` if
  ///   it has not.
  func require<Key: Hashable>(
    unique name: Key, at location: SourceLocation, among known: inout [Key: SourceLocation],
    rule: ValidationRule, existing: String? = nil, message: @autoclosure () -> String
  ) {
    if let existing {
      report(rule, existing, at: location)
    } else if let first = known[name] {
      report(rule, message(), at: [first, location])
    } else {
      known[name] = location
    }
  }

  /// Counts work that may exceed the size of the document. Returns `false` if the limit was
  /// reached.
  func takeSteps(_ count: Int) -> Bool {
    steps += count
    if steps > options.maxSteps {
      abort("Document needs more than \(options.maxSteps) validation steps. Validation aborted.")
    }
    return !isAborted
  }

  /// The number of steps before the limit.
  var remainingSteps: Int { max(0, options.maxSteps - steps) }

  private func abort(_ message: String) {
    guard !isAborted else { return }
    isAborted = true
    errors.append(ValidationError(rule: .limit, message: message, locations: []))
  }

  // MARK: - Types

  /// The types that the document itself defines.
  private(set) lazy var definedTypes: [String: TypeSystemDefinition] = {
    var defined: [String: TypeSystemDefinition] = [:]
    for case .typeSystem(let definition) in document.definitions where !definition.isExtension {
      if case .directive = definition { continue }
      if let name = definition.name?.value { defined[name] = definition }
    }
    return defined
  }()

  /// The names of the types that the document defines, and of those that the schema defines and
  /// refers to.
  var knownTypeNames: [String] {
    definedTypes.keys + (schema?.types.keys.filter(isKnownType) ?? [])
  }

  /// Whether the schema defines and refers to the type `name`.
  func isKnownType(_ name: String) -> Bool { schema?.isReferenced(name) == true }

  /// The type with that name, if the schema defines and refers to it.
  func type(named name: String) -> SchemaType? {
    guard let schema, let type = schema.types[name] else { return nil }
    return schema.unreferencedScalars.contains(name) ? nil : type
  }

  /// The type inside all list and non-null wrappers.
  func namedType(of reference: TypeReference?) -> SchemaType? {
    reference.flatMap { schema?.types[$0.namedType.value] }
  }

  /// The directives that the document may apply: those of the schema, or the standard ones without
  /// a schema, and those that the document defines. Type definitions may have those of nullability.
  private(set) lazy var directives: [String: DirectiveDefinition] = {
    var known = schema?.directiveDefinitions ?? BuiltIns.directives
    if isTypeSystem { known.merge(Nullability.directives) { own, _ in own } }
    for case .typeSystem(.directive(let directive)) in document.definitions
    where !directive.isExtension {
      known[directive.name.value] = directive
    }
    return known
  }()

  // MARK: - Fragments

  /// The index of the last fragment definition with each name.
  private(set) lazy var fragmentIndexes: [String: Int] = {
    var indexes: [String: Int] = [:]
    for (index, definition) in document.definitions.enumerated() {
      if case .fragment(let fragment) = definition { indexes[fragment.name.value] = index }
    }
    return indexes
  }()

  func fragment(named name: String) -> FragmentDefinition? {
    fragmentIndexes[name].flatMap(fragment(at:))
  }

  func fragment(at index: Int) -> FragmentDefinition? {
    if case .fragment(let fragment) = document.definitions[index] { fragment } else { nil }
  }

  private var spreads: [Int: [FragmentSpread]] = [:]

  /// The fragment spreads of a definition, outer selection sets first, in the order of the
  /// reference implementation.
  func spreads(in index: Int) -> [FragmentSpread] {
    if let known = spreads[index] { return known }
    var found: [FragmentSpread] = []
    var open = [document.definitions[index].selectionSet].compactMap { $0 }
    while let selectionSet = open.popLast() {
      for selection in selectionSet.selections {
        if case .fragmentSpread(let spread) = selection { found.append(spread) }
        if let inner = selection.selectionSet { open.append(inner) }
      }
    }
    spreads[index] = found
    return found
  }

  /// Calls `body` with the selections of an operation's root type, in source order; those of fragments for which it
  /// returns true follow, each spread fragment once.
  func forEachRootSelection(
    of operation: OperationDefinition, _ body: (Selection, _ condition: Name?) -> Bool
  ) {
    var spread: Set<String> = []
    var open = [operation.selectionSet.selections[...]]
    while let last = open.indices.last {
      guard let selection = open[last].popFirst() else {
        open.removeLast()
        continue
      }
      switch selection {
      case .field: _ = body(selection, nil)
      case .inlineFragment(let fragment):
        if body(selection, fragment.typeCondition) {
          open.append(fragment.selectionSet.selections[...])
        }
      case .fragmentSpread(let used):
        let fragment = self.fragment(named: used.name.value)
        let isEntered = body(selection, fragment?.typeCondition)
        guard spread.insert(used.name.value).inserted, isEntered, let fragment else { continue }
        open.append(fragment.selectionSet.selections[...])
      }
    }
  }

  private var reached: [Int: [Int]] = [:]

  /// The indices of the fragments that an operation spreads, directly or through others.
  func fragments(reachedFrom index: Int) -> [Int] {
    if let known = reached[index] { return known }
    var found: [Int] = []
    var names: Set<String> = []
    var open = [index]
    while let definition = open.popLast() {
      let spreads = spreads(in: definition)
      guard takeSteps(spreads.count) else { break }
      for spread in spreads where names.insert(spread.name.value).inserted {
        guard let fragment = fragmentIndexes[spread.name.value] else { continue }
        found.append(fragment)
        open.append(fragment)
      }
    }
    reached[index] = found
    return found
  }

  // MARK: - Variables

  private var usages: [Int: [VariableUsage]] = [:]
  private var reachedUsages: (index: Int, usages: [VariableUsage])?

  /// The variables that a definition uses, without those of its fragment spreads.
  private func usages(in index: Int) -> [VariableUsage] {
    if let known = usages[index] { return known }
    let outer = types
    types = TypeInfo()
    let collector = VariableUsageCollector(index)
    DocumentWalker(context: self, visitors: [collector])
      .walkForUsages(document.definitions[index])
    types = outer
    usages[index] = collector.usages
    return collector.usages
  }

  /// The variables that an operation uses, including those of its fragments.
  func usages(reachedFrom index: Int) -> [VariableUsage] {
    if let known = reachedUsages, known.index == index { return known.usages }
    var found = usages(in: index)
    for fragment in fragments(reachedFrom: index) {
      let more = usages(in: fragment)
      guard takeSteps(more.count) else { break }
      found += more
    }
    reachedUsages = (index, found)
    return found
  }
}

/// A use of a variable as a value.
struct VariableUsage {
  var variable: Name
  /// The expected type.
  var type: TypeReference?
  var hasDefault: Bool
  /// The OneOf input object type, if the variable is the value of one of its fields.
  var oneOf: String?
  /// The index of the definition that contains the use.
  var definition: Int
}

private final class VariableUsageCollector: RuleVisitor {
  private let definition: Int
  private(set) var usages: [VariableUsage] = []
  private var oneOf: String?

  init(_ definition: Int) {
    self.definition = definition
  }

  func enter(objectField field: ObjectField, _ context: ValidationContext) {
    guard case .variable = field.value,
      case .inputObject(let type)? = context.namedType(of: context.types.parentInputType)
    else { return }
    oneOf = type.isOneOf ? type.name : nil
  }

  func enter(value: Value, _ context: ValidationContext) {
    guard case .variable(let name) = value else { return }
    usages.append(
      VariableUsage(
        variable: name, type: context.types.inputType, hasDefault: context.types.hasDefault,
        oneOf: oneOf, definition: definition))
    oneOf = nil
  }
}
