public import GraphQL
public import JSONStream

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
  private let sent: OperationDefinition
  private let coercion: VariableCoercion
  private let keys: KeyRules
  private let facts: TypeFacts?

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
  public func prepared(coerced: JSONObject) throws(CacheError) -> PreparedOperation {
    PreparedOperation(
      name: name, type: type, document: document, callerDocument: callerText, variables: coerced,
      plan: try OperationPlan(
        document: augmented, operation: sent, variables: coerced, keys: keys, facts: facts))
  }
}
