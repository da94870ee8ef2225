public import GQLRunJSON
public import GQLRunLanguage
import GQLRunSupport

/// One operation to run repeatedly with different variables.
///
/// Preparing it with variables checks these and creates the plan; parsing, selecting the operation,
/// adding key fields and printing are done once.
public struct OperationTemplate: Sendable {
  /// The operation's name; `nil` if it is anonymous.
  public var name: String? { texts.name }
  /// Whether it is a query, a mutation or a subscription.
  public var type: OperationType { texts.type }
  /// The document to send; see ``PreparedOperation/document``.
  public var document: String { texts.document }
  /// The operation as written by the caller.
  public let definition: OperationDefinition
  /// The caller's document, reduced to the operation and its fragments.
  public let callerDocument: Document
  private let texts: PreparedOperation.Texts
  private let augmented: Document
  private let sent: OperationDefinition
  private let coercion: VariableCoercion
  private let keys: KeyRules
  private let facts: TypeFacts?
  private let passing = PassingPlans()

  /// Prepares what does not depend on variables.
  ///
  /// - Throws: ``CacheError`` with code `invalidOperation`.
  public init(
    document: Document, operationName: String? = nil, keys: KeyRules = KeyRules(),
    facts: TypeFacts? = nil
  ) throws(CacheError) {
    let (operation, reduced) = try PreparedOperation.select(operationName, in: document)
    try PreparedOperation.refuseImpossible(reduced)
    try Self.refuseUnknownDelivery(operation, document: reduced, schema: facts?.schema)
    augmented = Augmentation(reduced, keys: keys, facts: facts).augmented()
    guard let sent = augmented.operations.first else {
      throw CacheError(.invalidOperation, "the document has no operation")
    }
    self.sent = sent
    definition = operation
    callerDocument = reduced
    let printed = augmented.printed()
    texts = PreparedOperation.Texts(
      name: operation.name?.value, type: operation.type, document: printed,
      callerDocument: reduced.printed(),
      wholeDocument: operation.type == .subscription ? document : nil,
      locations: SentLocations(sent: printed, document: augmented))
    coercion = VariableCoercion(operation: operation, schema: facts?.schema)
    self.keys = keys
    self.facts = facts
  }

  /// A reader that converts text to values of the operation's variables.
  public var reader: VariableReader { VariableReader(coercion) }

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
    try coercion.coerce(variables, uploads: uploads)
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
        document: augmented, operation: sent, variables: coerced, keys: keys, facts: facts)
      // Compiled here, so that the first response does not have to.
      plan.tables.give(PlanTable(plan))
    } else {
      plan = try passing.plan(for: coerced) { () throws(CacheError) in
        try OperationPlan(
          passing: augmented, operation: sent, variables: coerced, keys: keys, facts: facts)
      }
    }
    return PreparedOperation(texts, variables: coerced, plan: plan)
  }
}

/// The plans of an operation whose responses are not stored, by its Boolean variables, because only
/// those determine the fields of a response (`@skip`, `@include`).
private final class PassingPlans: Sendable {
  private let plans = Locked<[[String: Bool]: OperationPlan]>([:])
  /// The maximum number of plans; more are compiled each time.
  private static let most = 32

  func plan(
    for variables: JSONObject, make: () throws(CacheError) -> OperationPlan
  ) throws(CacheError) -> OperationPlan {
    var flags: [String: Bool] = [:]
    for member in variables {
      if case .boolean(let flag) = member.value { flags[member.key] = flag }
    }
    if let known = plans.withLock({ $0[flags] }) { return known }
    let plan = try make()
    plans.withLock { if $0.count < Self.most { $0[flags] = plan } }
    return plan
  }
}
