import GQLRunSupport

/// Only operations and fragments can be executed.
///
/// https://spec.graphql.org/September2025/#sec-Executable-Definitions
final class ExecutableDefinitions: RuleVisitor {
  func enter(document: Document, _ context: ValidationContext) {
    for case .typeSystem(let definition) in document.definitions {
      let name = definition.name.map { "'\($0.value)'" } ?? "schema"
      context.report(
        .executableDefinitions, "The \(name) definition is not executable.",
        at: definition.location)
    }
  }
}

/// The schema supports the operation's type.
///
/// https://spec.graphql.org/September2025/#sec-Operation-Type-Existence
final class KnownOperationTypes: RuleVisitor {
  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    // A rule of this edition.
    guard context.edition >= .september2025, let schema = context.schema,
      schema.rootType(for: operation.type) == nil
    else { return }
    context.report(
      .knownOperationTypes,
      "The \(operation.type.rawValue) operation is not supported by the schema.",
      at: operation.location)
  }
}

/// https://spec.graphql.org/September2025/#sec-Lone-Anonymous-Operation
final class LoneAnonymousOperation: RuleVisitor {
  private var operationCount = 0

  func enter(document: Document, _ context: ValidationContext) {
    for case .operation in document.definitions { operationCount += 1 }
  }

  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard operation.name == nil, operationCount > 1 else { return }
    context.report(
      .loneAnonymousOperation, "This anonymous operation must be the only defined operation.",
      at: operation.location)
  }
}

/// Warns about operations without a name, which logs and servers cannot distinguish.
final class NamedOperations: RuleVisitor {
  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard operation.name == nil else { return }
    context.report(
      .namedOperations,
      "This \(operation.type.rawValue) has no name; name it to identify it in logs and on "
        + "the server.",
      at: operation.location)
  }
}

/// A subscription selects exactly one root field, without conditions, and not an introspection
/// field.
///
/// https://spec.graphql.org/September2025/#sec-Single-Root-Field
final class SingleFieldSubscriptions: RuleVisitor {
  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard operation.type == .subscription,
      let root = context.schema?.rootType(for: .subscription)
    else { return }
    let subject = operation.name.map { "Subscription '\($0.value)'" } ?? "Anonymous Subscription"
    let fields = RootFields(of: operation, on: root.name, context)
    // A rule of this edition.
    if !fields.conditions.isEmpty, context.edition >= .september2025 {
      context.report(
        .singleFieldSubscriptions,
        "\(subject) must not use `@skip` or `@include` directives in the top level selection.",
        at: fields.conditions)
      return
    }
    let groups = fields.byKey.all
    if groups.count > 1 {
      context.report(
        .singleFieldSubscriptions, "\(subject) must select only one top level field.",
        at: groups.dropFirst().flatMap(\.elements).map(\.location))
    }
    if groups.isEmpty, fields.isComplete {
      context.report(
        .singleFieldSubscriptions, "\(subject) must select one top level field.",
        at: operation.selectionSet.location)
    }
    for (_, group) in groups where group[0].name.value.hasPrefix("__") {
      context.report(
        .singleFieldSubscriptions,
        "\(subject) must not select an introspection top level field.", at: group.map(\.location))
    }
  }
}

/// The fields that an operation selects from its root type, by response key.
///
/// https://spec.graphql.org/September2025/#CollectSubscriptionFields()
private struct RootFields {
  /// The fields by response key.
  private(set) var byKey = OrderedGroups<String, Field>()
  /// The source locations of fields and fragments with a condition.
  var conditions: [SourceLocation] = []
  /// Whether all selections are known: none is in a fragment that is undefined, spread again or of another type.
  private(set) var isComplete = true

  init(of operation: OperationDefinition, on root: String, _ context: ValidationContext) {
    var spread: Set<String> = []
    context.forEachRootSelection(of: operation) { selection, condition in
      let applies = RootFields.applies(condition, to: root, context)
      if case .fragmentSpread(let fragment) = selection {
        isComplete =
          isComplete && condition != nil && spread.insert(fragment.name.value).inserted
      }
      isComplete = isComplete && applies
      for directive in selection.directives
      where directive.name.value == "skip" || directive.name.value == "include" {
        conditions.append(directive.location)
      }
      if case .field(let field) = selection { byKey.append(field, to: field.responseKey) }
      return applies
    }
  }

  private static func applies(
    _ condition: Name?, to root: String, _ context: ValidationContext
  ) -> Bool {
    guard let condition else { return true }
    return context.schema?.isSubtype(root, of: condition.value) == true
  }
}

/// https://spec.graphql.org/September2025/#sec-Operation-Name-Uniqueness
final class UniqueOperationNames: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard let name = operation.name else { return }
    context.require(
      unique: name.value, at: name.location, among: &known, rule: .uniqueOperationNames,
      message: "There can be only one operation named '\(name.value)'.")
  }
}
