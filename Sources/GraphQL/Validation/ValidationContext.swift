/// What the rules of one validation share: the document, the schema, the place reached, the errors.
package final class ValidationContext {
  package let schema: Schema?
  package let document: Document
  /// Whether the document is read as a type system, `schema` being what it extends.
  let isTypeSystem: Bool
  package var types = TypeInfo()
  /// The place of the current definition in the document.
  var definitionIndex = 0

  private let options: ValidationOptions
  private(set) var errors: [ValidationError] = []
  /// Whether a limit has been reached, so that nothing more is to be done.
  private(set) var isAborted = false
  private var steps = 0

  init(
    _ schema: Schema?, _ document: Document, _ options: ValidationOptions, isTypeSystem: Bool
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

  /// Counts work that may exceed the size of the document; `false` when there was too much.
  func takeSteps(_ count: Int) -> Bool {
    steps += count
    if steps > options.maxSteps {
      abort("Document needs more than \(options.maxSteps) validation steps. Validation aborted.")
    }
    return !isAborted
  }

  /// How many steps are left.
  var remainingSteps: Int { max(0, options.maxSteps - steps) }

  private func abort(_ message: String) {
    guard !isAborted else { return }
    isAborted = true
    errors.append(ValidationError(rule: .limit, message: message, locations: []))
  }

  // MARK: - Types

  /// Whether `name` is the name of a type that the schema knows and uses.
  func isKnownType(_ name: String) -> Bool {
    guard let schema else { return false }
    return schema.types[name] != nil && !schema.unreferencedScalars.contains(name)
  }

  /// The type of that name, if the schema knows and uses it.
  func type(named name: String) -> SchemaType? {
    guard let schema, let type = schema.types[name] else { return nil }
    return schema.unreferencedScalars.contains(name) ? nil : type
  }

  /// The named type inside all lists and non-nulls.
  func namedType(of reference: TypeReference?) -> SchemaType? {
    reference.flatMap { schema?.types[$0.namedType.value] }
  }

  /// The directives the document may use: those of the schema, else the standard ones, and those
  /// it defines itself.
  private(set) lazy var directives: [String: DirectiveDefinition] = {
    var known = schema?.directiveDefinitions ?? BuiltIns.directives
    for case .typeSystem(.directive(let directive)) in document.definitions {
      known[directive.name.value] = directive
    }
    return known
  }()

  // MARK: - Fragments

  /// By name, the place in the document of the last fragment that has it.
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

  /// The fragment spreads in a definition, those of outer selection sets first, in the order of
  /// the reference implementation.
  func spreads(in index: Int) -> [FragmentSpread] {
    if let known = spreads[index] { return known }
    var found: [FragmentSpread] = []
    var open: [SelectionSet] = []
    switch document.definitions[index] {
    case .operation(let operation): open = [operation.selectionSet]
    case .fragment(let fragment): open = [fragment.selectionSet]
    case .typeSystem: break
    }
    while let selectionSet = open.popLast() {
      for selection in selectionSet.selections {
        switch selection {
        case .fragmentSpread(let spread): found.append(spread)
        case .field(let field): if let inner = field.selectionSet { open.append(inner) }
        case .inlineFragment(let inner): open.append(inner.selectionSet)
        }
      }
    }
    spreads[index] = found
    return found
  }

  private var reached: [Int: [Int]] = [:]

  /// The fragments an operation spreads, directly or through others, as places in the document.
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

  /// Where a definition uses variables, the fragments it spreads left out.
  private func usages(in index: Int) -> [VariableUsage] {
    if let known = usages[index] { return known }
    let outer = types
    types = TypeInfo()
    let collector = VariableUsageCollector(index)
    DocumentWalker(self, [collector]).walkForUsages(document.definitions[index])
    types = outer
    usages[index] = collector.usages
    return collector.usages
  }

  /// Where an operation uses variables, also through the fragments it spreads.
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

/// A variable where a value is expected.
struct VariableUsage {
  var variable: Name
  /// The type expected.
  var type: TypeReference?
  var hasDefault: Bool
  /// The OneOf input object whose field the variable is.
  var oneOf: String?
  /// The place in the document of the definition it stands in.
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
