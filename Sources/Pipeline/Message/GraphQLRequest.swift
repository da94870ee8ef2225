public import GQLRunCache
public import GQLRunJSON
public import GQLRunLanguage
public import HTTPTypes

/// One execution of an operation with its variables.
///
/// A plain value: an interceptor changes its copy and passes it on. Copying costs one reference
/// count, and the first change of a copy one allocation.
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
    var documentID: String?
    var onError: OnError?
    var uploads: [String: Upload] = [:]
    var mergesParts = true
  }

  private var parts: Shareable<Parts>

  /// The prepared operation, for parsing and the cache.
  ///
  /// `nil` for a document that is sent as it is; such a request uses neither. To change the
  /// document or the variables, prepare a new operation.
  public var operation: PreparedOperation? {
    _read { yield parts.value.operation }
    _modify { yield &parts.value.operation }
  }
  /// The document, exactly as it is sent.
  public var document: String {
    _read { yield parts.value.document }
    _modify { yield &parts.value.document }
  }
  /// The name of the operation; `nil` for an anonymous one.
  public var operationName: String? {
    _read { yield parts.value.operationName }
    _modify { yield &parts.value.operationName }
  }
  /// The type of the operation.
  public var operationType: OperationType {
    _read { yield parts.value.operationType }
    _modify { yield &parts.value.operationType }
  }
  /// The variables.
  public var variables: JSONObject {
    _read { yield parts.value.variables }
    _modify { yield &parts.value.variables }
  }
  /// The `extensions` of the request.
  public var extensions: JSONObject {
    _read { yield parts.value.extensions }
    _modify { yield &parts.value.extensions }
  }
  /// The header fields of this request; they override those of the endpoint.
  public var additionalHeaders: HTTPFields {
    _read { yield parts.value.additionalHeaders }
    _modify { yield &parts.value.additionalHeaders }
  }
  /// The cache policy; `nil` uses that of the chain's cache read.
  public var cachePolicy: CachePolicy? {
    _read { yield parts.value.cachePolicy }
    _modify { yield &parts.value.cachePolicy }
  }
  /// The values that travel with the request along its chain.
  public var context: RequestContext {
    _read { yield parts.value.context }
    _modify { yield &parts.value.context }
  }
  /// The number of the attempt, from 1. Set by the chain.
  public internal(set) var attempt: Int {
    _read { yield parts.value.attempt }
    _modify { yield &parts.value.attempt }
  }
  /// The time limit of the whole operation, for plugins that enforce one; `nil` uses theirs.
  public var timeout: Duration? {
    _read { yield parts.value.timeout }
    _modify { yield &parts.value.timeout }
  }
  /// Whether the request may be sent twice. `false` by default for mutations.
  public var isIdempotent: Bool {
    _read { yield parts.value.isIdempotent }
    _modify { yield &parts.value.isIdempotent }
  }
  /// Whether the document is sent, unless ``documentID`` replaces it; `false` for a persisted query that is sent as its
  /// hash.
  public var sendsDocument: Bool {
    _read { yield parts.value.sendsDocument }
    _modify { yield &parts.value.sendsDocument }
  }
  /// The HTTP method of a query; `nil` uses that of the endpoint. Mutations are always sent with POST.
  public var method: Endpoint.Method? {
    _read { yield parts.value.method }
    _modify { yield &parts.value.method }
  }
  /// The identifier of a persisted document, sent as `documentId` in place of the document; `nil` sends the document.
  ///
  /// What else a server needs belongs to ``extensions``: GraphQL over HTTP reserves all other members.
  public var documentID: String? {
    _read { yield parts.value.documentID }
    _modify { yield &parts.value.documentID }
  }
  /// What the server does with the error of a field, sent as `onError`; `nil`, the default, leaves it to the server.
  ///
  /// Only for servers that support it: GraphQL over HTTP reserves the member for a version to come.
  public var onError: OnError? {
    _read { yield parts.value.onError }
    _modify { yield &parts.value.onError }
  }
  /// The files, by the paths of their variables: `input.attachments.0`. The variables have null
  /// there.
  ///
  /// A request with files is sent as `multipart/form-data` by POST, with its document, and never
  /// uses the cache.
  public internal(set) var uploads: [String: Upload] {
    _read { yield parts.value.uploads }
    _modify { yield &parts.value.uploads }
  }

  /// Whether every result of a response with `@defer` or `@stream` has the data of all parts so far. `true` by default.
  ///
  /// `false` for callers that use ``ResponsePart/delivered``; memory then does not grow with the response.
  public var mergesParts: Bool {
    _read { yield parts.value.mergesParts }
    _modify { yield &parts.value.mergesParts }
  }

  /// Creates a request of a prepared operation.
  ///
  /// - Parameters:
  ///   - operation: The operation with its variables.
  ///   - cachePolicy: The cache policy; `nil` uses that of the chain's cache read.
  ///   - uploads: The files, by the paths of their variables; the operation was prepared for these
  ///     paths.
  public init(
    _ operation: PreparedOperation, cachePolicy: CachePolicy? = nil, uploads: [String: Upload] = [:]
  ) {
    self.init(
      document: operation.document, operationName: operation.name,
      operationType: operation.type, variables: operation.variables, cachePolicy: cachePolicy)
    self.operation = operation
    self.uploads = uploads
  }

  /// Creates a request whose document is sent as it is, without parsing and cache.
  ///
  /// - Parameters:
  ///   - document: The document.
  ///   - operationName: The name of the operation; `nil` for an anonymous one.
  ///   - operationType: The type of the operation.
  ///   - variables: The variables.
  ///   - cachePolicy: The cache policy; `nil` uses that of the chain's cache read.
  public init(
    document: String, operationName: String? = nil, operationType: OperationType = .query,
    variables: JSONObject = JSONObject(), cachePolicy: CachePolicy? = nil
  ) {
    parts = Shareable(
      Parts(
        document: document, operationName: operationName, operationType: operationType,
        variables: variables, cachePolicy: cachePolicy, isIdempotent: operationType != .mutation))
  }

  /// The operation in log messages: its name, or "the anonymous query".
  public var label: String { operationName ?? operationType.label(of: nil) }
}

/// What a server does with the error of a field: the member `onError` of a request.
///
/// https://github.com/graphql/graphql-spec/pull/1163
public enum OnError: String, CaseIterable, Sendable {
  /// The position is null, even if its type is non-null.
  case null
  /// Null is propagated to the nearest nullable position.
  case propagate
  /// The response has no data, and the first error.
  case halt
}
