import GQLRunSupport

/// The directives that tell nulls with a meaning from nulls of errors: `@semanticNonNull` and
/// `@semanticNonNullField` in schemas, `@catch` and `@catchByDefault` in documents.
///
/// Servers need not know them: validators and generators add them to a schema that does not define them
/// (``Schema/withNullability``), and `@catch` and `@catchByDefault` are never sent
/// (``Document/withoutCatches()``).
///
/// https://specs.apollo.dev/nullability/v0.4/
enum Nullability {
  private static let definitions = BuiltIns.parsed(
    """
    directive @semanticNonNull(levels: [Int!]! = [0]) on FIELD_DEFINITION
    directive @semanticNonNullField(name: String!, levels: [Int!]! = [0])
      repeatable on OBJECT | INTERFACE
    directive @catch(to: CatchTo! = RESULT, levels: [Int!]! = [0]) on FIELD
    directive @catchByDefault(to: CatchTo!)
      on SCHEMA | QUERY | MUTATION | SUBSCRIPTION | FRAGMENT_DEFINITION
    enum CatchTo { RESULT NULL THROW }
    """)

  /// The definitions by name.
  static let directives = definitions.directivesByName

  /// The enum `CatchTo`.
  static let catchTo = EnumType(
    name: "CatchTo", description: nil, directives: [],
    values: NamedList(definitions.flatMap(\.enumValues)))
}

extension Schema {
  /// The schema with the directives of nullability that it does not define, for documents that are
  /// not sent as they are.
  package var withNullability: Schema {
    let missing = Nullability.directives.filter { directiveDefinitions[$0.key] == nil }
    let type = Nullability.catchTo
    // Without a copy of all types for each document.
    guard !missing.isEmpty || types[type.name] == nil else { return self }
    var schema = self
    schema.directiveDefinitions.merge(missing) { own, _ in own }
    if schema.types[type.name] == nil { schema.types[type.name] = .enumeration(type) }
    return schema
  }

  /// The levels at which a field is null only if the response has an error for it: 0 is the field, 1 the
  /// elements of its list, 2 those of inner lists.
  package func semanticLevels(of field: FieldDefinition, on type: String) -> Set<Int> {
    let own = field.directives.filter { $0.name.value == "semanticNonNull" }
    let ofType = (types[type]?.directives ?? []).filter {
      $0.name.value == "semanticNonNullField" && $0.text(of: "name") == field.name.value
    }
    return Set((own + ofType).flatMap(\.levels))
  }

  /// What applies to the nullable positions of documents without `@catchByDefault`; `nil` without a
  /// default.
  package var catchByDefault: CatchTarget? { directives.catchByDefault }
}

/// What a generated type has at a position with an error. The raw value is that of `CatchTo`.
package enum CatchTarget: String, Sendable, Hashable {
  /// A value or the error.
  case result = "RESULT"
  /// Null.
  case null = "NULL"
  /// Nothing: the smallest enclosing position that can have an error has it.
  case thrown = "THROW"
}

/// The directive `@catch` of a field.
package struct CatchDirective: Sendable, Hashable {
  /// What the type has for an error.
  package var target: CatchTarget
  /// The levels of lists that the directive concerns; 0 is the field.
  package var levels: Set<Int>

  /// The `@catch` among directives; `nil` if there is none, or its target is unknown.
  package init?(_ directives: [Directive]) {
    guard let directive = directives.first(where: { $0.name.value == "catch" }) else { return nil }
    guard directive.value(of: "to") != nil else {
      (target, levels) = (.result, Set(directive.levels))
      return
    }
    guard let target = directive.catchTarget else { return nil }
    (self.target, levels) = (target, Set(directive.levels))
  }
}

extension [Directive] {
  /// The target of `@catchByDefault`; `nil` if there is none.
  package var catchByDefault: CatchTarget? {
    first { $0.name.value == "catchByDefault" }?.catchTarget
  }
}

extension Directive {
  fileprivate var catchTarget: CatchTarget? {
    guard case .enumeration(let name)? = value(of: "to") else { return nil }
    return CatchTarget(rawValue: name.value)
  }

  /// The argument `levels`: `[0]` if it is absent, and without what is not an integer.
  fileprivate var levels: [Int] {
    switch value(of: "levels") {
    case nil: [0]
    // A single value is a list with one element.
    case .int(let text, _): Int(text).map { [$0] } ?? []
    case .list(let values, _):
      values.compactMap { if case .int(let text, _) = $0 { Int(text) } else { nil } }
    default: []
    }
  }

  /// Why the levels do not fit a type; `nil` if they do.
  ///
  /// - Parameter coordinate: The field in the message.
  fileprivate func problem(ofLevelsOf type: TypeReference, coordinate: String) -> String? {
    let depth = type.listDepth
    guard let level = levels.first(where: { $0 < 0 || $0 > depth }) else { return nil }
    let possible =
      switch depth {
      case 0: "only the level 0"
      case 1: "the levels 0 (the list) and 1 (its elements)"
      default: "the levels 0 (the list) to \(depth) (the innermost elements)"
      }
    return "Directive '@\(name.value)' has the level \(level), but '\(coordinate)' of type "
      + "'\(type.printed())' has \(possible)."
  }

  /// Whether it is one of the directives that are not sent, with their arguments.
  fileprivate var isCatch: Bool {
    let known: Set<String>
    switch name.value {
    case "catch": known = ["to", "levels"]
    case "catchByDefault": known = ["to"]
    default: return false
    }
    return arguments.allSatisfy { known.contains($0.name.value) }
  }
}

// MARK: - Documents

extension Document {
  /// Validates operations and fragments of a client, which may have `@catch` and `@catchByDefault` although
  /// the server does not define them.
  ///
  /// - Returns: The errors in source order; empty if the document is valid.
  package func validateForClient(
    against schema: Schema, options: ValidationOptions = ValidationOptions()
  ) -> [ValidationError] {
    validate(schema.withNullability, options: options, own: [CatchArguments()])
  }

  /// The document as it is sent: without `@catch` and `@catchByDefault`, which concern only types of
  /// the client.
  package func withoutCatches() -> Document {
    guard definitions.contains(where: \.hasCatches) else { return self }
    var document = self
    document.definitions = definitions.map { definition in
      switch definition {
      case .operation(var operation):
        operation.directives.removeAll(where: \.isCatch)
        operation.selectionSet = operation.selectionSet.withoutCatches()
        return .operation(operation)
      case .fragment(var fragment):
        fragment.directives.removeAll(where: \.isCatch)
        fragment.selectionSet = fragment.selectionSet.withoutCatches()
        return .fragment(fragment)
      case .typeSystem: return definition
      }
    }
    return document
  }
}

extension Definition {
  /// Whether the operation or fragment has `@catchByDefault`, or a `@catch` outside of other fragments.
  package var hasCatches: Bool {
    switch self {
    case .operation(let operation):
      operation.directives.contains(where: \.isCatch) || operation.selectionSet.hasCatches
    case .fragment(let fragment):
      fragment.directives.contains(where: \.isCatch) || fragment.selectionSet.hasCatches
    case .typeSystem: false
    }
  }
}

extension SelectionSet {
  fileprivate var hasCatches: Bool {
    selections.contains {
      $0.directives.contains(where: \.isCatch) || $0.selectionSet?.hasCatches == true
    }
  }

  fileprivate func withoutCatches() -> SelectionSet {
    var set = self
    set.selections = selections.map { selection in
      switch selection {
      case .field(var field):
        field.directives.removeAll(where: \.isCatch)
        field.selectionSet = field.selectionSet?.withoutCatches()
        return .field(field)
      case .inlineFragment(var fragment):
        fragment.selectionSet = fragment.selectionSet.withoutCatches()
        return .inlineFragment(fragment)
      case .fragmentSpread: return selection
      }
    }
    return set
  }
}

/// The arguments of `@catch` and `@catchByDefault` have no variables, and levels are those of the field.
private final class CatchArguments: RuleVisitor {
  func enter(
    directive: Directive, at location: DirectiveLocation, _ context: ValidationContext
  ) {
    guard directive.isCatch else { return }
    for argument in directive.arguments where !argument.value.isConstant {
      context.report(
        .valuesOfCorrectType,
        "Argument '\(argument.name.value)' of '@\(directive.name.value)' cannot have a variable: it "
          + "determines a type. Write a literal.", at: argument.value.location)
    }
    guard case .field = location, let field = context.types.field,
      let parent = context.types.parentType,
      let problem = directive.problem(
        ofLevelsOf: field.type, coordinate: "\(parent.name).\(field.name.value)")
    else { return }
    context.report(.valuesOfCorrectType, problem, at: directive.location)
  }
}

// MARK: - Schemas

extension SchemaValidator {
  /// Levels are those of their fields, and `@semanticNonNullField` names a field of its type.
  mutating func checkNullability() {
    for name in schema.typeNames {
      guard let type = schema.types[name], let fields = type.fields else { continue }
      for field in fields {
        for directive in field.directives where directive.name.value == "semanticNonNull" {
          checkLevels(of: directive, on: field, type: name)
        }
      }
      for directive in type.directives where directive.name.value == "semanticNonNullField" {
        guard let fieldName = directive.text(of: "name") else { continue }
        if let field = fields[fieldName] {
          checkLevels(of: directive, on: field, type: name)
        } else {
          report(
            "Directive '@semanticNonNullField' names the field '\(fieldName)', which type '\(name)' does "
              + "not have." + didYouMean(suggestions(for: fieldName, in: fields.names)),
            [directive.location])
        }
      }
    }
    for directive in schema.directives where directive.name.value == "catchByDefault" {
      guard directive.value(of: "to") != nil, directive.catchTarget == nil else { continue }
      report(
        "Argument 'to' of '@catchByDefault' has to be RESULT, NULL or THROW.",
        [directive.location])
    }
  }

  private mutating func checkLevels(
    of directive: Directive, on field: FieldDefinition, type: String
  ) {
    guard
      let problem = directive.problem(
        ofLevelsOf: field.type, coordinate: "\(type).\(field.name.value)")
    else { return }
    report(problem, [directive.location])
  }
}
