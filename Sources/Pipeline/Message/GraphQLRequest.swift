public import GraphQL
public import HTTPTypes

/// One operation on its way to the server.
///
/// A plain value: an interceptor changes its copy and passes it on.
public struct GraphQLRequest: Sendable {
  /// The document as it is sent, with exactly these characters.
  public var document: String
  public var operationName: String?
  public var operationType: OperationType
  /// A JSON object.
  public var variables: JSONText
  /// The members of the request's `extensions`.
  public var extensions: [String: JSONText] = [:]
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
  public var bodyMembers: [String: JSONText] = [:]

  public init(
    document: String, operationName: String? = nil, operationType: OperationType = .query,
    variables: JSONText = .emptyObject, cachePolicy: CachePolicy? = nil
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
