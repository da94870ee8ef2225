public import GQLRunJSON
import GQLRunLanguage

/// Answers GraphQL operations from the demo's data, without a socket.
///
/// What mutations change is kept in memory, for all operations of the same executor.
public struct DemoExecutor: Sendable {
  private let schema: Schema
  private let geography: Geography
  private let feed: Feed
  private let store = FeedStore()

  /// Creates an executor.
  ///
  /// - Parameter feedSize: How many posts the feed has.
  public init(feedSize: Int = 1_000_000) {
    schema = .demo
    geography = .world
    feed = Feed(size: feedSize)
  }

  /// The schema's text.
  public static var schemaText: String { SchemaSDL.text }

  /// Executes an operation and returns the whole response.
  ///
  /// An operation that is not valid gives a response with errors and no data.
  ///
  /// - Parameters:
  ///   - operationName: Which operation, if the document has several.
  ///   - variables: The variables as an object; anything else counts as none.
  public func execute(
    _ document: String, operationName: String? = nil, variables: JSONValue = [:]
  ) -> [UInt8] {
    let request = OperationRequest(
      query: document, operationName: operationName, variables: variables.objectValue ?? [:])
    switch prepare(request) {
    case .refused(let errors): return RequestError.response(errors)
    case .ready(let operation):
      var execution = start(operation)
      return execution.rest()
    }
  }

  /// Parses and validates what is asked, and plans how to answer it.
  ///
  /// - Parameter failing: Whether the first nullable field fails, to show partial data.
  func prepare(_ request: OperationRequest, failing: Bool = false) -> Preparation {
    do {
      return .ready(try prepared(request, failing: failing))
    } catch let errors as RequestErrors {
      return .refused(errors.all)
    } catch let error as RequestError {
      return .refused([error])
    } catch {
      return .refused([RequestError(.internalServerError, "\(error)")])
    }
  }

  /// Begins to execute; nothing happens before the response is asked for.
  func start(_ operation: PreparedOperation) -> Execution {
    let context = ResolverContext(
      geography: geography, feed: feed, schema: schema, store: store, edits: store.snapshot)
    return Execution(operation, context: context)
  }

  private func prepared(
    _ request: OperationRequest, failing: Bool
  ) throws -> PreparedOperation {
    let document: Document
    do throws(GraphQLSyntaxError) {
      document = try Document(parsing: request.query ?? "", options: Self.parseOptions)
    } catch {
      throw RequestError(.parseFailed, error.message, at: [error.location])
    }
    let problems = document.requestErrors(against: schema)
    guard problems.isEmpty else { throw RequestErrors(problems) }
    let operation = try Self.operation(request.operationName, in: document)
    guard let root = schema.rootType(for: operation.type) else {
      throw RequestError(
        .validationFailed,
        "Schema is not configured to execute \(operation.type.rawValue) operation.",
        at: [operation.location])
    }
    let variables = try VariableCoercion.coerce(
      request.variables, for: operation.variables, in: schema)
    let fragments = Dictionary(document.fragments.map { ($0.name.value, $0) }) { first, _ in first }
    var planner = Planner(schema: schema, fragments: fragments, variables: variables)
    return PreparedOperation(
      type: operation.type, plan: try planner.plan(operation, on: root.name), failsOnce: failing)
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

  /// A request is smaller than a schema, and its parts nest less deep.
  private static let parseOptions = ParseOptions(maxTokens: 100_000, maxDepth: 100)
}

/// An operation that can be executed.
struct PreparedOperation: Sendable {
  let type: OperationType
  let plan: ObjectPlan
  let failsOnce: Bool
}

/// What became of a request before its execution.
enum Preparation: Sendable {
  case ready(PreparedOperation)
  case refused([RequestError])
}

extension DemoExecutor {
  /// Executes an operation and hands its response over piece by piece, in the memory of one piece.
  ///
  /// - Parameter write: Called with the pieces, in order. What it throws ends the execution.
  public func stream(
    _ document: String, operationName: String? = nil, variables: JSONValue = [:],
    write: ([UInt8]) throws -> Void
  ) throws {
    let request = OperationRequest(
      query: document, operationName: operationName, variables: variables.objectValue ?? [:])
    switch prepare(request) {
    case .refused(let errors): try write(RequestError.response(errors))
    case .ready(let operation):
      var execution = start(operation)
      while let piece = execution.next() { try write(piece) }
    }
  }
}
