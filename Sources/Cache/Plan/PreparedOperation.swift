public import GQLRunJSON
public import GQLRunLanguage

/// One operation, ready to be sent, stored and read: chosen by name, variables checked, identifying
/// fields added, plan made.
public struct PreparedOperation: Sendable {
  /// The operation's name; `nil` when it is anonymous.
  public let name: String?
  public let type: OperationType
  /// The document to send: the operation and its fragments, with identifying fields, canonically printed.
  public let document: String
  /// The document the caller wrote, reduced to the operation, canonically printed.
  public let callerDocument: String
  /// The variables to send: the given ones and the defaults of the absent ones.
  public let variables: JSONObject
  /// Whether responses are held against the schema, as by ``ResponseShape``. `false` by default.
  public var checksShape = false
  package var plan: OperationPlan
  private let locations: SentLocations

  /// Prepares the operation named `operationName`, or the only one.
  ///
  /// - Throws: ``CacheError`` with code `invalidOperation` (no such operation, undefined or cyclic
  ///   fragments) or `invalidVariables`.
  public init(
    document: Document, operationName: String? = nil, variables: JSONObject = JSONObject(),
    keys: KeyRules = KeyRules(), facts: TypeFacts? = nil
  ) throws(CacheError) {
    self = try OperationTemplate(
      document: document, operationName: operationName, keys: keys, facts: facts
    ).prepared(variables)
  }

  init(
    name: String?, type: OperationType, document: String, callerDocument: String,
    variables: JSONObject, plan: OperationPlan, locations: SentLocations
  ) {
    self.name = name
    self.type = type
    self.document = document
    self.callerDocument = callerDocument
    self.variables = variables
    self.plan = plan
    self.locations = locations
  }

  /// The location in the caller's document of what stands at a location of ``document``, where servers
  /// locate their errors.
  ///
  /// A field that the cache added is located at the selection set it was added to. Lines and columns are
  /// counted from 1. `nil` for a location outside ``document``.
  public func sourceLocation(ofSentLine line: Int, column: Int) -> SourceLocation? {
    locations.source(line: line, column: column)
  }

  /// What no server can accept is refused before anything is sent.
  static func refuseImpossible(_ document: Document) throws(CacheError) {
    let rules: [ValidationRule] = [
      .uniqueVariableNames, .noUndefinedVariables, .uniqueArgumentNames, .uniqueInputFieldNames,
    ]
    let problems = document.validateWithoutSchema(options: ValidationOptions(rules: rules))
    if let problem = problems.first {
      throw CacheError(.invalidOperation, problem.message, location: problem.locations.last)
    }
  }
}

extension PreparedOperation {
  /// The same operation, whose data has the fields that identify objects even where only the cache
  /// asks for them.
  var withIdentity: PreparedOperation {
    var operation = self
    operation.plan = OperationPlan(showingAll: plan)
    return operation
  }
}
