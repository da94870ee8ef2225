/// An edition of the GraphQL specification.
///
/// Texts are read and checked by the newest edition, unless ``ParseOptions/edition`` or ``ValidationOptions/edition``
/// is an older one: constructs of newer editions are errors then, and rules of newer editions are not checked.
///
/// https://spec.graphql.org
public enum Edition: Int, Sendable, Hashable, Comparable, CaseIterable {
  /// https://spec.graphql.org/October2021/
  case october2021 = 2021
  /// https://spec.graphql.org/September2025/
  case september2025 = 2025
  /// https://spec.graphql.org/September2026/
  case september2026 = 2026

  /// The newest edition.
  public static let newest = september2026

  /// The older edition is less.
  public static func < (lhs: Edition, rhs: Edition) -> Bool { lhs.rawValue < rhs.rawValue }
}

extension Edition: CustomStringConvertible {
  /// The name of the edition: `GraphQL September 2026`.
  public var description: String {
    switch self {
    case .october2021: "GraphQL October 2021"
    case .september2025: "GraphQL September 2025"
    case .september2026: "GraphQL September 2026"
    }
  }
}

/// A construct that an edition added to the language; the raw value is its name in messages.
public enum LanguageAddition: String, Sendable, Hashable, CaseIterable {
  /// A description of an operation, a fragment or a variable.
  case executableDescription = "a description of an operation, fragment or variable"
  /// The escape sequence `\u{1F600}`.
  case braceEscape = "an escape sequence with braces, \\u{…},"
  /// `@oneOf` on an input object.
  case oneOf = "the directive @oneOf"
  /// `@deprecated` on an argument or a field of an input object.
  case deprecatedInput = "@deprecated on an argument or input field"
  /// `{ }`.
  case emptySelectionSet = "an empty selection set"
  /// A directive that is applied to the definition of a directive.
  case directiveOnDirective = "a directive on a directive definition"
  /// `extend directive`.
  case directiveExtension = "an extension of a directive"
  /// `DIRECTIVE_DEFINITION`.
  case directiveDefinitionLocation = "the directive location DIRECTIVE_DEFINITION"

  /// The edition that added it.
  public var edition: Edition {
    switch self {
    case .executableDescription, .braceEscape, .oneOf, .deprecatedInput: .september2025
    case .emptySelectionSet, .directiveOnDirective, .directiveExtension,
      .directiveDefinitionLocation:
      .september2026
    }
  }

  /// Why an older edition refuses it: `An empty selection set needs GraphQL September 2026; this is checked as GraphQL
  /// September 2025.`
  public func message(in older: Edition) -> String {
    "\(rawValue.prefix(1).uppercased())\(rawValue.dropFirst()) needs \(edition); this is checked as "
      + "\(older)."
  }
}

extension GraphQLSyntaxError {
  /// The error of a parser of an older edition, with the reason that the edition lacks a construct.
  func explained(by addition: LanguageAddition, edition: Edition) -> GraphQLSyntaxError {
    GraphQLSyntaxError(
      message: "\(message) \(addition.message(in: edition))", location: location,
      addition: addition)
  }
}

extension Document {
  /// The constructs of the type system definitions that an older edition lacks, in source order.
  ///
  /// The parser finds the others: ``ParseOptions/edition``.
  package func additions(
    after edition: Edition
  ) -> [(addition: LanguageAddition, location: SourceLocation)] {
    guard edition < .newest else { return [] }
    var collector = AdditionCollector()
    for case .typeSystem(let definition) in definitions { collector.add(definition) }
    return collector.found.filter { $0.addition.edition > edition }
  }

  /// The source locations of the empty selection sets, in source order.
  package var emptySelectionSets: [SourceLocation] {
    var found: [SourceLocation] = []
    func note(_ set: SelectionSet?) {
      if let set, set.selections.isEmpty { found.append(set.location) }
    }
    for definition in definitions {
      note(definition.selectionSet)
      definition.selectionSet?.forEachSelection { note($0.selectionSet) }
    }
    return found
  }
}

/// Collects the constructs of type system definitions that were added after the first edition.
private struct AdditionCollector {
  private(set) var found: [(addition: LanguageAddition, location: SourceLocation)] = []

  mutating func add(_ definition: TypeSystemDefinition) {
    if case .directive(let directive) = definition { add(directive) }
    if case .inputObject(let input) = definition { note("oneOf", as: .oneOf, input.directives) }
    for field in definition.fieldDefinitions { add(field.arguments) }
    add(definition.inputFields)
    add(definition.arguments)
  }

  private mutating func add(_ definition: DirectiveDefinition) {
    if definition.isExtension { found.append((.directiveExtension, definition.location)) }
    for directive in definition.directives {
      found.append((.directiveOnDirective, directive.location))
    }
    // Servers define the directives of the specification as their own edition does.
    if definition.locations.contains(.directiveDefinition),
      BuiltIns.directives[definition.name.value] == nil
    {
      found.append((.directiveDefinitionLocation, definition.location))
    }
  }

  private mutating func add(_ values: [InputValueDefinition]) {
    for value in values { note("deprecated", as: .deprecatedInput, value.directives) }
  }

  private mutating func note(
    _ name: String, as addition: LanguageAddition, _ directives: [Directive]
  ) {
    for directive in directives where directive.name.value == name {
      found.append((addition, directive.location))
    }
  }
}
