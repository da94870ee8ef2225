public import GQLRunJSON
public import GQLRunLanguage

/// One operation, ready to be sent, stored and read: selected by name, with checked variables,
/// added key fields and a plan.
public struct PreparedOperation: Sendable {
  /// The operation's name; `nil` if it is anonymous.
  public var name: String? { parts.definition.name?.value }
  /// Whether it is a query, a mutation or a subscription.
  public var type: OperationType { parts.definition.type }
  /// The document to send: the operation and its fragments with added key fields, in canonical
  /// layout.
  public var document: String { parts.printed }
  /// The caller's document, reduced to the operation, in canonical layout.
  public var callerDocument: String { parts.printedCallerDocument }
  /// The variables to send: the given ones, and defaults for absent ones.
  public let variables: JSONObject
  /// Whether responses are checked against the schema, as by ``ResponseShape``. `false` by default.
  public var checksShape = false
  package var plan: OperationPlan
  let parts: OperationTemplate.Parts

  /// Prepares the operation named `operationName`, or the only one.
  ///
  /// - Parameters:
  ///   - document: The document.
  ///   - operationName: The name of the operation.
  ///   - variables: The variables.
  ///   - uploads: The paths of variables whose values are files, such as `input.attachments.0`.
  ///   - keys: The key rules.
  ///   - facts: What is known of the schema's types.
  /// - Throws: ``CacheError`` with code `invalidOperation` (no such operation, undefined or cyclic
  ///   fragments) or `invalidVariables`.
  public init(
    document: Document, operationName: String? = nil, variables: JSONObject = JSONObject(),
    uploads: [String] = [], keys: KeyRules = KeyRules(), facts: TypeFacts? = nil
  ) throws(CacheError) {
    self = try OperationTemplate(
      document: document, operationName: operationName, keys: keys, facts: facts
    ).prepared(variables, uploads: uploads)
  }

  init(_ parts: OperationTemplate.Parts, variables: JSONObject, plan: OperationPlan) {
    self.parts = parts
    self.variables = variables
    self.plan = plan
  }

  /// The same operation with other variables.
  ///
  /// - Throws: ``CacheError`` with code `invalidVariables`.
  public func with(variables: JSONObject) throws(CacheError) -> PreparedOperation {
    var operation = try OperationTemplate(parts).prepared(variables)
    operation.checksShape = checksShape
    return operation
  }

  /// Maps a location of ``document``, to which the errors of servers refer, to the caller's document.
  ///
  /// A field that the cache added is located at the selection set it was added to. Lines and
  /// columns are counted from 1. `nil` for a location outside ``document``.
  public func sourceLocation(ofSentLine line: Int, column: Int) -> SourceLocation? {
    parts.locations.source(line: line, column: column)
  }

  /// Rejects a document that no server can accept, before anything is sent.
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
  /// The operation without its variables.
  package var template: OperationTemplate { OperationTemplate(parts) }

  /// Whether the result is a page that the cache merges into a longer list.
  package var mergesPages: Bool { !plan.pages.isEmpty }

  /// The key fields of a type.
  package func keyFields(of type: String) -> [String] { plan.keyFields(of: type) }
}

extension PreparedOperation {
  /// The same operation, with the added key fields included in its data.
  var withIdentity: PreparedOperation {
    var operation = self
    operation.plan = OperationPlan(showingAll: plan)
    return operation
  }
}

extension PreparedOperation {
  /// Prepares a query that belongs to this operation, with its key rules and those of its variables that
  /// the query declares: one that fetches what a subscription has missed.
  ///
  /// - Parameters:
  ///   - name: The name of the query; `nil` is the only operation of `document`.
  ///   - document: The document; `nil` is the whole document of this subscription.
  /// - Throws: ``CacheError`` with code `invalidOperation` or `invalidVariables`.
  package func companion(
    _ name: String?, in document: Document?
  ) throws(CacheError) -> PreparedOperation {
    guard let document = document ?? parts.wholeDocument else {
      throw CacheError(.invalidOperation, "the document of the operation is not known")
    }
    let (definition, _) = try Self.select(name, in: document)
    guard definition.type == .query else {
      let name = definition.name.map { "\($0.value) " } ?? ""
      throw CacheError(
        .invalidOperation, "the operation \(name)is a \(definition.type.rawValue), not a query",
        location: definition.location)
    }
    let names = Set(definition.variables.map(\.name.value))
    var given = JSONObject()
    for member in variables where names.contains(member.key) { given[member.key] = member.value }
    return try PreparedOperation(
      document: document, operationName: name, variables: given, keys: plan.keys,
      facts: plan.facts)
  }
}

extension PreparedOperation {
  /// The document to send for an operation, independent of variables: the ``document`` of the
  /// operation prepared with the same keys and facts.
  ///
  /// - Throws: ``CacheError`` with code `invalidOperation`.
  public static func sentDocument(
    of document: Document, operationName: String? = nil, keys: KeyRules = KeyRules(),
    facts: TypeFacts? = nil
  ) throws(CacheError) -> String {
    let (_, reduced) = try select(operationName, in: document)
    return Augmentation(reduced, keys: keys, facts: facts).augmented().printed()
  }

  /// The `sentDocument(of:operationName:keys:facts:)` of each operation, in source order. Reads the document once for all
  /// of them.
  ///
  /// - Throws: ``CacheError`` with code `invalidOperation`.
  package static func sentDocuments(
    of document: Document, keys: KeyRules, facts: TypeFacts?
  ) throws(CacheError) -> [String] {
    let reduced: [Document]
    do {
      reduced = try document.reducedToEachOperation()
    } catch {
      throw CacheError(.invalidOperation, error.message, location: error.location)
    }
    return reduced.map { Augmentation($0, keys: keys, facts: facts).augmented().printed() }
  }

  /// The operation with that name, and the document reduced to it.
  static func select(
    _ name: String?, in document: Document
  ) throws(CacheError) -> (OperationDefinition, Document) {
    let operation: OperationDefinition
    do { operation = try document.operation(named: name) } catch {
      throw CacheError(.invalidOperation, error.message, location: error.location)
    }
    do { return (operation, try document.reduced(to: operation)) } catch {
      throw CacheError(.invalidOperation, error.message, location: error.location)
    }
  }
}
