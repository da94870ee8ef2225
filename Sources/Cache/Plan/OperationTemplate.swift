public import GQLRunJSON
public import GQLRunLanguage

/// One operation to run repeatedly with different variables.
///
/// Preparing it with variables checks these and creates the plan; parsing, selecting the operation,
/// adding key fields and printing are done once.
public struct OperationTemplate: Sendable {
  /// What does not depend on variables. One object, because prepared operations, which have it too, are copied often.
  final class Parts: Sendable {
    let definition: OperationDefinition
    let callerDocument: Document
    let printedCallerDocument: String
    /// The document of a subscription with all its operations, for ``PreparedOperation/companion(_:in:)``.
    let wholeDocument: Document?
    /// The document and the operation that are sent.
    let augmented: Document
    let sent: OperationDefinition
    let printed: String
    let locations: SentLocations
    /// Where the caller's document has empty selection sets that are sent.
    let emptySelectionSets: [SourceLocation]
    let coercion: VariableCoercion
    let keys: KeyRules
    let facts: TypeFacts?
    /// The plans for responses that are not stored, by the Boolean variables.
    fileprivate let passing = Memo<String, OperationPlan>(maxCount: 32)

    fileprivate init(
      document: Document, operationName: String?, keys: KeyRules, facts: TypeFacts?
    ) throws(CacheError) {
      let (operation, reduced) = try PreparedOperation.select(operationName, in: document)
      try PreparedOperation.refuseImpossible(reduced)
      try OperationTemplate.refuseUnknownDelivery(
        operation, document: reduced, schema: facts?.schema)
      augmented = Augmentation(reduced, keys: keys, facts: facts).augmented()
      try OperationTemplate.refuseEmptySelectionSets(augmented, schema: facts?.schema)
      emptySelectionSets = augmented.emptySelectionSets
      guard let sent = augmented.operations.first else {
        throw CacheError(.invalidOperation, "the document has no operation")
      }
      self.sent = sent
      definition = operation
      callerDocument = reduced
      printedCallerDocument = reduced.printed()
      wholeDocument = operation.type == .subscription ? document : nil
      printed = augmented.printed()
      locations = SentLocations(sent: printed, document: augmented)
      coercion = VariableCoercion(operation: operation, schema: facts?.schema)
      self.keys = keys
      self.facts = facts
    }
  }

  let parts: Parts
  /// The operation's name; `nil` if it is anonymous.
  public var name: String? { definition.name?.value }
  /// Whether it is a query, a mutation or a subscription.
  public var type: OperationType { definition.type }
  /// The document to send; see ``PreparedOperation/document``.
  public var document: String { parts.printed }
  /// The operation as written by the caller.
  public var definition: OperationDefinition { parts.definition }
  /// The caller's document, reduced to the operation and its fragments.
  public var callerDocument: Document { parts.callerDocument }

  /// Prepares what does not depend on variables.
  ///
  /// - Throws: ``CacheError`` with code `invalidOperation`.
  public init(
    document: Document, operationName: String? = nil, keys: KeyRules = KeyRules(),
    facts: TypeFacts? = nil
  ) throws(CacheError) {
    parts = try Parts(document: document, operationName: operationName, keys: keys, facts: facts)
  }

  init(_ parts: Parts) { self.parts = parts }

  /// The schema that the operation was prepared with; `nil` without one.
  package var schema: Schema? { parts.facts?.schema }

  /// The key rules that the operation was prepared with.
  package var keyRules: KeyRules { parts.keys }

  /// The name of the query type; `Query` without a schema.
  package var queryTypeName: String { (parts.facts ?? TypeFacts()).rootType(.query) }

  /// The keys of objects by the rules that the operation was prepared with.
  package var objectKeys: ObjectKeys { ObjectKeys(parts.keys, facts: parts.facts) }

  /// Prepares another document with the key rules and the schema of this operation.
  ///
  /// - Throws: ``CacheError`` with code `invalidOperation`.
  package func companion(_ document: Document) throws(CacheError) -> OperationTemplate {
    try OperationTemplate(document: document, keys: parts.keys, facts: parts.facts)
  }

  /// A reader that converts text to values of the operation's variables.
  public var reader: VariableReader { VariableReader(parts.coercion) }

  /// Coerces variables: checks them, and adds defaults for absent ones.
  ///
  /// - Parameters:
  ///   - variables: The variables.
  ///   - uploads: The paths of variables whose values are files, such as `input.attachments.0`; the
  ///     result has null there.
  /// - Throws: ``CacheError`` with code `invalidVariables`.
  public func coerce(
    _ variables: JSONObject, uploads: [String] = []
  ) throws(CacheError) -> JSONObject {
    try parts.coercion.coerce(variables, uploads: uploads)
  }

  /// Prepares the operation with variables; see ``coerce(_:uploads:)``.
  ///
  /// - Throws: ``CacheError`` with code `invalidVariables` or `invalidOperation`.
  public func prepared(
    _ variables: JSONObject, uploads: [String] = []
  ) throws(CacheError) -> PreparedOperation {
    try prepared(coerced: coerce(variables, uploads: uploads))
  }

  /// Prepares the operation with variables that ``coerce(_:uploads:)`` returned.
  ///
  /// - Parameters:
  ///   - coerced: Coerced variables.
  ///   - isStored: Whether its responses are written to a store or read from one. Otherwise nearly
  ///     all variables share one plan.
  public func prepared(
    coerced: JSONObject, isStored: Bool = true
  ) throws(CacheError) -> PreparedOperation {
    let plan: OperationPlan
    if isStored {
      plan = try OperationPlan(
        document: parts.augmented, operation: parts.sent, variables: coerced, keys: parts.keys,
        facts: parts.facts)
      // Compiled here, so that the first response does not have to.
      plan.tables.give(PlanTable(plan))
    } else {
      // Only Boolean variables determine the fields of a response (`@skip`, `@include`). They are in the
      // order of the definitions, and their names have no comma.
      let flags = coerced.reduce(into: "") { flags, member in
        if case .boolean(let flag) = member.value { flags += "\(member.key)=\(flag)," }
      }
      plan = try parts.passing.value(of: flags) { () throws(CacheError) in
        try OperationPlan(
          document: parts.augmented, operation: parts.sent, variables: coerced, keys: parts.keys,
          facts: parts.facts, isPassing: true)
      }
    }
    return PreparedOperation(parts, variables: coerced, plan: plan)
  }
}
