public import GQLRunCache
public import GQLRunJSON
public import GQLRunLanguage
public import HTTPTypes

/// One operation on its way to the server.
///
/// A plain value: an interceptor changes its copy and passes it on. A copy costs as much as one reference,
/// until it is changed.
public struct GraphQLRequest: Sendable {
  private struct Parts: Sendable {
    var operation: PreparedOperation?
    var document: String
    var operationName: String?
    var operationType: OperationType
    var variables: JSONObject
    var extensions = JSONObject()
    var additionalHeaders = HTTPFields()
    var cachePolicy: CachePolicy?
    var context = RequestContext()
    var attempt = 1
    var timeout: Duration?
    var isIdempotent: Bool
    var sendsDocument = true
    var method: Endpoint.Method?
    var bodyMembers = JSONObject()
  }

  private var parts: Shareable<Parts>

  /// The operation as it was prepared for parsing and the cache.
  ///
  /// `nil` for a document that is sent as it is, which neither can be used for. Whoever changes
  /// the document or the variables prepares the operation anew.
  public var operation: PreparedOperation? {
    _read { yield parts.value.operation }
    _modify { yield &parts.value.operation }
  }
  /// The document as it is sent, with exactly these characters.
  public var document: String {
    _read { yield parts.value.document }
    _modify { yield &parts.value.document }
  }
  public var operationName: String? {
    _read { yield parts.value.operationName }
    _modify { yield &parts.value.operationName }
  }
  public var operationType: OperationType {
    _read { yield parts.value.operationType }
    _modify { yield &parts.value.operationType }
  }
  public var variables: JSONObject {
    _read { yield parts.value.variables }
    _modify { yield &parts.value.variables }
  }
  /// The request's `extensions`.
  public var extensions: JSONObject {
    _read { yield parts.value.extensions }
    _modify { yield &parts.value.extensions }
  }
  /// Fields sent with this request; they win over those of the endpoint.
  public var additionalHeaders: HTTPFields {
    _read { yield parts.value.additionalHeaders }
    _modify { yield &parts.value.additionalHeaders }
  }
  /// `nil` takes the default of the chain's cache read.
  public var cachePolicy: CachePolicy? {
    _read { yield parts.value.cachePolicy }
    _modify { yield &parts.value.cachePolicy }
  }
  public var context: RequestContext {
    _read { yield parts.value.context }
    _modify { yield &parts.value.context }
  }
  /// 1 for the first attempt, one more for each retry. Set by the chain.
  public internal(set) var attempt: Int {
    _read { yield parts.value.attempt }
    _modify { yield &parts.value.attempt }
  }
  /// The time the operation may take in all, for the plugins that bound it.
  public var timeout: Duration? {
    _read { yield parts.value.timeout }
    _modify { yield &parts.value.timeout }
  }
  /// Whether sending the request twice does no more than sending it once.
  public var isIdempotent: Bool {
    _read { yield parts.value.isIdempotent }
    _modify { yield &parts.value.isIdempotent }
  }
  /// Whether the document is sent; `false` for a persisted query that is named by its hash.
  public var sendsDocument: Bool {
    _read { yield parts.value.sendsDocument }
    _modify { yield &parts.value.sendsDocument }
  }
  /// Asks for GET or POST. Mutations are always sent by POST.
  public var method: Endpoint.Method? {
    _read { yield parts.value.method }
    _modify { yield &parts.value.method }
  }
  /// Further members of the request's body, such as `documentId`.
  public var bodyMembers: JSONObject {
    _read { yield parts.value.bodyMembers }
    _modify { yield &parts.value.bodyMembers }
  }

  public init(_ operation: PreparedOperation, cachePolicy: CachePolicy? = nil) {
    self.init(
      document: operation.document, operationName: operation.name,
      operationType: operation.type, variables: operation.variables, cachePolicy: cachePolicy)
    self.operation = operation
  }

  /// A request that is sent as it is.
  public init(
    document: String, operationName: String? = nil, operationType: OperationType = .query,
    variables: JSONObject = JSONObject(), cachePolicy: CachePolicy? = nil
  ) {
    parts = Shareable(
      Parts(
        document: document, operationName: operationName, operationType: operationType,
        variables: variables, cachePolicy: cachePolicy, isIdempotent: operationType != .mutation))
  }

  /// What the operation is called in logs: its name, or "anonymous query".
  public var label: String {
    operationName ?? "anonymous \(operationType.rawValue)"
  }
}
