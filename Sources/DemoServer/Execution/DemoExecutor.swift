public import GQLRunJSON
import GQLRunLanguage

/// Executes GraphQL operations on the demo data, without a network connection.
///
/// Changes by mutations are kept in memory and visible to all operations of the same executor.
public struct DemoExecutor: Sendable {
  private let schema: Schema
  private let geography: Geography
  private let feed: Feed
  private let lists: Lists
  private let maxComplexity: Int?
  let store = FeedStore()

  /// Creates an executor.
  ///
  /// - Parameters:
  ///   - feedSize: The number of posts in the feed; a million by default.
  ///   - customers: The number of customers of the shop; 120 by default.
  ///   - maxComplexity: The maximum number of objects that an operation may ask for; no limit by default.
  public init(feedSize: Int = 1_000_000, customers: Int = 120, maxComplexity: Int? = nil) {
    schema = .demo
    geography = .world
    feed = Feed(size: feedSize)
    lists = Lists(customers: customers)
    self.maxComplexity = maxComplexity
  }

  /// The schema in the schema definition language.
  public static var schemaText: String { SchemaSDL.text }

  /// Executes an operation and returns the complete response.
  ///
  /// The response of an invalid operation has errors and no data.
  ///
  /// - Parameters:
  ///   - document: The GraphQL document.
  ///   - operationName: The name of the operation; `nil` if the document has only one.
  ///   - variables: The variables as an object; any other value counts as no variables.
  public func execute(
    _ document: String, operationName: String? = nil, variables: JSONValue = [:]
  ) -> [UInt8] {
    var response: [UInt8] = []
    stream(document, operationName: operationName, variables: variables) { response += $0 }
    return response
  }

  /// Executes an operation in the memory of one chunk.
  ///
  /// - Parameters:
  ///   - document: The GraphQL document.
  ///   - operationName: The name of the operation; `nil` if the document has only one.
  ///   - variables: The variables as an object; any other value counts as no variables.
  ///   - write: Called with the chunks of the response in order. An error that it throws ends the
  ///     execution.
  /// - Throws: The error of `write`.
  public func stream<Failure: Error>(
    _ document: String, operationName: String? = nil, variables: JSONValue = [:],
    write: ([UInt8]) throws(Failure) -> Void
  ) throws(Failure) {
    let request = OperationRequest(
      query: document, operationName: operationName, variables: variables.objectValue ?? [:])
    switch prepare(request) {
    case .refused(let errors): try write(RequestError.response(errors))
    case .ready(let operation) where operation.type == .subscription:
      try write(RequestError.response([Self.needsEvents]))
    case .ready(let operation):
      var execution = start(operation)
      while let piece = execution.next() { try write(piece) }
    }
  }

  /// The error of a subscription that is executed as if it had one response.
  static let needsEvents = RequestError(
    .badRequest, "A subscription has no single response; it is executed over an event stream.")

  /// Parses, validates and plans a request.
  ///
  /// - Parameters:
  ///   - failing: Whether the first nullable field fails, to produce partial data.
  ///   - isIncremental: Whether `@defer` and `@stream` have an effect.
  func prepare(
    _ request: OperationRequest, failing: Bool = false, isIncremental: Bool = false
  ) -> Preparation {
    do throws(RequestError) {
      let document: Document
      do throws(GraphQLSyntaxError) {
        document = try Document(parsing: request.query ?? "", options: Self.parseOptions)
      } catch {
        throw RequestError(.parseFailed, error.message, at: [error.location])
      }
      let problems = document.requestErrors(against: schema)
      guard problems.isEmpty else { return .refused(problems) }
      let operation = try Self.operation(request.operationName, in: document)
      guard let root = schema.rootType(for: operation.type) else {
        throw RequestError(
          .validationFailed,
          "Schema is not configured to execute \(operation.type.rawValue) operation.",
          at: [operation.location])
      }
      let coercion = InputCoercion(
        request.variables, files: request.files, for: operation.variables, in: schema)
      guard coercion.errors.isEmpty else { return .refused(coercion.errors) }
      let fragments = Dictionary(
        document.fragments.map { ($0.name.value, $0) }, uniquingKeysWith: { first, _ in first })
      var planner = Planner(
        schema: schema, fragments: fragments, coercion: coercion, isIncremental: isIncremental,
        onError: request.onError)
      let plan = try planner.plan(operation, on: root.name)
      if let maxComplexity { try QueryCost.check(plan, limit: maxComplexity) }
      return .ready(
        PlannedOperation(
          type: operation.type, plan: plan, failsOnce: failing, hasParts: planner.hasParts,
          halts: request.onError == .halt))
    } catch {
      return .refused([error])
    }
  }

  /// Starts an operation; its execution begins when the first chunk is requested.
  func start(_ operation: PlannedOperation) -> OperationExecution {
    OperationExecution(operation, root: .root(operation.type), context: context(store.snapshot))
  }

  /// Starts an operation whose response has several parts.
  func start(_ operation: PlannedOperation, as format: PartFormat) -> PartExecution {
    PartExecution(operation, as: format, context: context(store.snapshot))
  }

  /// Adds a like to a post of the feed, as a mutation does.
  func like(_ post: Int) throws(RequestError) {
    guard post < feed.size else { return }
    _ = try store.like(post)
  }

  func context(_ edits: FeedEdits) -> ResolverContext {
    ResolverContext(geography: geography, feed: feed, lists: lists, store: store, edits: edits)
  }

  private static func operation(
    _ name: String?, in document: Document
  ) throws(RequestError) -> OperationDefinition {
    let operations = document.operations
    guard let name else {
      guard operations.count <= 1 else {
        throw RequestError(
          .operationResolutionFailed,
          "Must provide operation name if query contains multiple operations.")
      }
      guard let operation = operations.first else {
        throw RequestError(.operationResolutionFailed, "Must provide an operation.")
      }
      return operation
    }
    guard let operation = operations.first(where: { $0.name?.value == name }) else {
      throw RequestError(.operationResolutionFailed, "Unknown operation named \"\(name)\".")
    }
    return operation
  }

  /// Requests are smaller than schemas, and nest less deeply.
  private static let parseOptions = ParseOptions(maxTokens: 100_000, maxDepth: 100)
}

/// A validated and planned operation.
struct PlannedOperation: Sendable {
  let type: OperationType
  let plan: PlannedObject
  let failsOnce: Bool
  /// Whether its response may have several parts.
  let hasParts: Bool
  /// Whether any error nulls all of the data.
  let halts: Bool
}

/// The result of preparing a request.
enum Preparation: Sendable {
  case ready(PlannedOperation)
  case refused([RequestError])
}
