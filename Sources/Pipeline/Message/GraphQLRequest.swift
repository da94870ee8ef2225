public import Cache
public import GraphQL
public import HTTPTypes
public import JSONStream

/// One operation on its way to the server.
///
/// A plain value: an interceptor changes its copy and passes it on.
public struct GraphQLRequest: Sendable {
  /// The operation as it was prepared for parsing and the cache.
  ///
  /// `nil` for a document that is sent as it is, which neither can be used for. Whoever changes
  /// the document or the variables prepares the operation anew.
  public var operation: PreparedOperation?
  /// The document as it is sent, with exactly these characters.
  public var document: String
  public var operationName: String?
  public var operationType: OperationType
  public var variables: JSONObject
  /// The request's `extensions`.
  public var extensions = JSONObject()
  /// Fields sent with this request; they win over those of the endpoint.
  public var additionalHeaders = HTTPFields()
  /// `nil` takes the default of the chain's cache read.
  public var cachePolicy: CachePolicy?
  public var context = RequestContext()
  /// 1 for the first attempt, one more for each retry. Set by the chain.
  public internal(set) var attempt = 1
  /// The time the operation may take in all, for the plugins that bound it.
  public var timeout: Duration?
  /// Whether sending the request twice does no more than sending it once.
  public var isIdempotent: Bool
  /// Whether the document is sent; `false` for a persisted query that is named by its hash.
  public var sendsDocument = true
  /// Asks for GET or POST. Mutations are always sent by POST.
  public var method: Endpoint.Method?
  /// Further members of the request's body, such as `documentId`.
  public var bodyMembers = JSONObject()

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
    self.document = document
    self.operationName = operationName
    self.operationType = operationType
    self.variables = variables
    self.cachePolicy = cachePolicy
    self.isIdempotent = operationType != .mutation
  }

  /// What the operation is called in logs: its name, or "anonymous query".
  public var label: String {
    operationName ?? "anonymous \(operationType.rawValue)"
  }
}
