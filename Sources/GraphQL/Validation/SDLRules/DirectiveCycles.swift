/// The definition of a directive does not lead back to the directive: through directives applied to it and to its
/// arguments, and through the types of the arguments with all that is applied to them.
///
/// https://spec.graphql.org/September2026/#sec-Type-System.Directives.Type-Validation
final class NoDirectiveDefinitionCycles: RuleVisitor {
  /// The maximum number of cycles that are reported, and of steps that a message lists.
  private static let maxCycles = 100
  private static let maxListedSteps = 1_000

  /// What the definition of a directive or type refers to.
  private struct Reference {
    /// The schema coordinate: `@a`, `@a(b:)`, `Input`, `Input.field`.
    var target: String
    /// Where the document refers to it; `nil` if only the extended schema does.
    var location: SourceLocation?
    /// The number of directives and of references in the document up to this reference, so that cycles of long chains
    /// need not be counted.
    var directives = 0
    var locations = 0
    var isDirective: Bool { target.hasPrefix("@") && !target.hasSuffix(")") }
  }

  private var references: [String: [Reference]] = [:]
  /// The references that are known, so that repeated ones count once.
  private var known: Set<[String]> = []
  /// The directives in source order, those of the extended schema first.
  private var directives: [String] = []
  private var cycles = 0
  /// The directives of the document and of the extended schema, without the standard ones, which lead to no others.
  private var own: Set<String> = []

  func leave(document: Document, _ context: ValidationContext) {
    own = Set(
      context.directives.filter {
        $1 != BuiltIns.directives[$0] && $1 != Nullability.directives[$0]
      }.keys)
    guard !own.isEmpty else { return }
    if let schema = context.schema { collect(schema) }
    for case .typeSystem(let definition) in document.definitions {
      collect(definition, isInDocument: true)
    }
    var search = CycleSearch<Reference>()
    for name in directives where cycles < Self.maxCycles {
      search.visit(
        name, edges: references(of: name, after: nil), target: { $0.target },
        successors: { self.references(of: $0.target, after: $0) },
        onCycle: { via, last in
          report(via, last, context: context)
          return cycles < Self.maxCycles && !context.isAborted
        })
    }
  }

  /// The references of a definition, counted on.
  private func references(of source: String, after before: Reference?) -> [Reference] {
    (references[source] ?? []).map { reference in
      var reference = reference
      reference.directives = (before?.directives ?? 0) + (reference.isDirective ? 1 : 0)
      reference.locations = (before?.locations ?? 0) + (reference.location == nil ? 0 : 1)
      return reference
    }
  }

  // MARK: - References

  private func collect(_ schema: Schema) {
    for name in schema.directiveNamesInOrder where own.contains(name) {
      guard let directive = schema.directiveDefinitions[name] else { continue }
      collect(.directive(directive), isInDocument: false)
    }
    for part in schema.typeNames.flatMap({ schema.definitions[$0] ?? [] }) {
      collect(part, isInDocument: false)
    }
  }

  private func collect(_ definition: TypeSystemDefinition, isInDocument: Bool) {
    guard let name = definition.name?.value else { return }
    let source: String
    switch definition {
    case .directive:
      source = "@" + name
      if references[source] == nil {
        references[source] = []
        directives.append(source)
      }
    case .scalar, .enumeration, .inputObject: source = name
    case .schema, .object, .interface, .union: return
    }
    func refer(_ source: String, to target: String, at location: SourceLocation) {
      guard known.insert([source, target, isInDocument ? "document" : "schema"]).inserted else {
        return
      }
      references[source, default: []].append(
        Reference(target: target, location: isInDocument ? location : nil))
    }
    func refer(_ source: String, to applied: [Directive]) {
      for directive in applied where own.contains(directive.name.value) {
        refer(source, to: "@" + directive.name.value, at: directive.location)
      }
    }
    let isDirective = if case .directive = definition { true } else { false }
    // In the order in which the reference implementation visits them.
    if !isDirective { refer(source, to: definition.directives) }
    for input in definition.arguments + definition.inputFields {
      let name = input.name.value
      let coordinate = isDirective ? "\(source)(\(name):)" : "\(source).\(name)"
      refer(source, to: coordinate, at: input.location)
      refer(coordinate, to: input.type.namedType.value, at: input.type.namedType.location)
      refer(coordinate, to: input.directives)
    }
    for value in definition.enumValues {
      let coordinate = "\(source).\(value.name.value)"
      refer(source, to: coordinate, at: value.location)
      refer(coordinate, to: value.directives)
    }
    if isDirective { refer(source, to: definition.directives) }
  }

  // MARK: - Errors

  /// Reports a cycle for the directive that closes it, else for each directive in it.
  private func report(
    _ via: ArraySlice<Reference>, _ last: Reference, context: ValidationContext
  ) {
    let first = via.first ?? last
    let directives = last.directives - first.directives + (first.isDirective ? 1 : 0)
    let locations = last.locations - first.locations + (first.location == nil ? 0 : 1)
    // Cycles of types alone are allowed, and those of the extended schema are not the document's.
    guard directives > 0, locations > 0 else { return }
    let cycle = via + [last]
    if last.isDirective { return report(Array(cycle), of: last.target, context) }
    for index in cycle.indices where cycle[index].isDirective && cycles < Self.maxCycles {
      let rotated = cycle[(index + 1)...] + cycle[...index]
      report(Array(rotated), of: cycle[index].target, context)
    }
  }

  private func report(_ cycle: [Reference], of name: String, _ context: ValidationContext) {
    cycles += 1
    let listed = cycle.prefix(Self.maxListedSteps)
    let steps = listed.map {
      $0.isDirective ? "directive application '\($0.target)'" : "'\($0.target)'"
    }
    let more = cycle.count - listed.count
    context.report(
      .noDirectiveDefinitionCycles,
      "Directive '\(name)' forms a reference cycle through: \(steps.joined(separator: ", "))"
        + (more > 0 ? ", and \(more) more." : "."),
      at: listed.compactMap(\.location))
  }
}
