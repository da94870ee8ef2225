public import GQLRunJSON
public import GQLRunLanguage
import GQLRunSupport

/// One operation to be run many times with different variables: everything that the variables do not
/// decide is done once.
///
/// Preparing with variables costs their check and the plan; parsing, choosing, adding identifying
/// fields and printing are not repeated.
public struct OperationTemplate: Sendable {
  public let name: String?
  public let type: OperationType
  /// The document to send; see ``PreparedOperation/document``.
  public let document: String
  /// The operation as the caller wrote it.
  public let definition: OperationDefinition
  /// The caller's document, reduced to the operation and its fragments.
  public let callerDocument: Document
  private let callerText: String
  private let augmented: Document
  private let locations: SentLocations
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
    augmented = Augmentation(keys: keys, facts: facts).augment(reduced)
    guard let sent = augmented.operations.first else {
      throw CacheError(.invalidOperation, "the document has no operation")
    }
    self.sent = sent
    name = operation.name?.value
    type = operation.type
    definition = operation
    callerDocument = reduced
    callerText = reduced.printed()
    self.document = augmented.printed()
    locations = SentLocations(sent: self.document, document: augmented)
    coercion = VariableCoercion(operation: operation, schema: facts?.schema)
    self.keys = keys
    self.facts = facts
  }

  /// Reads values of its variables from text.
  public var reader: VariableReader { VariableReader(coercion) }

  /// The variables to send for those given: checked, with the defaults of those that are absent.
  ///
  /// - Throws: ``CacheError`` with code `invalidVariables`.
  public func coerce(_ variables: JSONObject) throws(CacheError) -> JSONObject {
    try coercion.coerce(variables)
  }

  /// The operation with variables.
  ///
  /// - Throws: ``CacheError`` with code `invalidVariables` or `invalidOperation`.
  public func prepared(_ variables: JSONObject) throws(CacheError) -> PreparedOperation {
    try prepared(coerced: coerce(variables))
  }

  /// The operation with variables that ``coerce(_:)`` returned.
  ///
  /// - Parameter isStored: Whether its responses are put into a store or read from one. The plan of one
  ///   that only passes by is the same for nearly all variables, and made once.
  public func prepared(
    coerced: JSONObject, isStored: Bool = true
  ) throws(CacheError) -> PreparedOperation {
    let plan: OperationPlan
    if isStored {
      plan = try OperationPlan(
        document: augmented, operation: sent, variables: coerced, keys: keys, facts: facts)
      // Compiled here, so that the first response need not.
      plan.tables.give(PlanTable(plan))
    } else {
      plan = try passing.plan(for: coerced) { () throws(CacheError) in
        try OperationPlan(
          passing: augmented, operation: sent, variables: coerced, keys: keys, facts: facts)
      }
    }
    return PreparedOperation(
      name: name, type: type, document: document, callerDocument: callerText, variables: coerced,
      plan: plan, locations: locations)
  }
}

/// The plans of an operation whose responses pass by, by the flags among its variables: only those decide
/// what is in a response (`@skip`, `@include`).
private final class PassingPlans: Sendable {
  private let plans = Locked<[[String: Bool]: OperationPlan]>([:])
  /// More are made each time.
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
