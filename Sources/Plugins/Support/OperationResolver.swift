public import Cache
import GraphQL
import JSONStream
public import Pipeline

/// The prepared operation that a request carries through its chain.
public enum PreparedOperationKey: RequestContextKey {
  public typealias Value = PreparedOperation
}

extension GraphQLRequest {
  /// A request for a prepared operation: its document with identifying fields, and its variables.
  public init(_ operation: PreparedOperation, cachePolicy: CachePolicy? = nil) {
    self.init(
      document: operation.document, operationName: operation.name,
      operationType: operation.type,
      variables: JSONText(trusted: JSONValue.object(operation.variables).jsonText()),
      cachePolicy: cachePolicy)
    context[PreparedOperationKey.self] = operation
  }

  /// The prepared operation of this request; made from its document when the caller brought none.
  func preparedOperation(_ context: ChainContext) throws -> PreparedOperation {
    if let operation = self.context[PreparedOperationKey.self] { return operation }
    do {
      let variables = try JSONValue(parsing: variables.text)
      return try PreparedOperation(
        document: Document(parsing: document), operationName: operationName,
        variables: variables.objectValue ?? JSONObject(),
        keys: context.recordStore?.keys ?? Cache.KeyRules(), facts: context.recordStore?.facts)
    } catch {
      throw ChainError(
        .request, .invalidRequest, "\(label) cannot be prepared: \(error)",
        place: context.entryID, cause: error)
    }
  }
}

/// The record store of a pipeline as a service of its chains.
public struct RecordStoreService: PipelineStore {
  public let store: any RecordStore
  public let keys: Cache.KeyRules
  public let facts: TypeFacts?

  public init(
    _ store: any RecordStore, keys: Cache.KeyRules = Cache.KeyRules(), facts: TypeFacts? = nil
  ) {
    self.store = store
    self.keys = keys
    self.facts = facts
  }
}

extension ChainContext {
  var recordStore: RecordStoreService? { services.store as? RecordStoreService }
}

/// What a chain delivers: the JSON text of a response, exactly the fields asked for.
struct ResponseBody: ResultBody {
  let data: ResultData?
  let errors: [UInt8]
  let extensions: [UInt8]

  /// - Parameters:
  ///   - errors: The list as JSON text; empty when there is none.
  ///   - extensions: The object as JSON text; empty when there is none.
  init(data: ResultData?, errors: [UInt8] = [], extensions: [UInt8] = []) {
    self.data = data
    self.errors = errors
    self.extensions = extensions
  }

  private var head: [UInt8] { Array(#"{"data":"#.utf8) + (data == nil ? Array("null".utf8) : []) }

  private var tail: [UInt8] {
    (errors.isEmpty ? [] : Array(#","errors":"#.utf8) + errors)
      + (extensions.isEmpty ? [] : Array(#","extensions":"#.utf8) + extensions)
      + [UInt8(ascii: "}")]
  }

  var count: Int { head.count + (data?.count ?? 0) + tail.count }

  func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    try head.withUnsafeBytes(body)
    try data?.forEachChunk(body)
    try tail.withUnsafeBytes(body)
  }
}
