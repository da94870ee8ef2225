public import GQLRunJSON
import GQLRunLanguage

/// Executes GraphQL operations on the demo data, without a network connection.
///
/// Changes by mutations are kept in memory and visible to all operations of the same executor.
public struct DemoExecutor: Sendable {
  private let schema: Schema
  private let geography: Geography
  private let feed: Feed
  private let store = FeedStore()

  /// Creates an executor.
  ///
  /// - Parameter feedSize: The number of posts in the feed; a million by default.
  public init(feedSize: Int = 1_000_000) {
    schema = .demo
    geography = .world
    feed = Feed(size: feedSize)
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
    let request = OperationRequest(
      query: document, operationName: operationName, variables: variables.objectValue ?? [:])
    switch prepare(request) {
    case .refused(let errors): return RequestError.response(errors)
    case .ready(let operation):
      var execution = start(operation)
      return execution.rest()
    }
  }

  /// Parses, validates and plans a request.
  ///
  /// - Parameter failing: Whether the first nullable field fails, to produce partial data.
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

  /// Starts an operation; its execution begins when the first chunk is requested.
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

  /// Requests are smaller than schemas, and nest less deeply.
  private static let parseOptions = ParseOptions(maxTokens: 100_000, maxDepth: 100)
}

/// A validated and planned operation.
struct PreparedOperation: Sendable {
  let type: OperationType
  let plan: ObjectPlan
  let failsOnce: Bool
}

/// The result of preparing a request.
enum Preparation: Sendable {
  case ready(PreparedOperation)
  case refused([RequestError])
}

extension DemoExecutor {
  /// Executes an operation in the memory of one chunk.
  ///
  /// - Parameters:
  ///   - document: The GraphQL document.
  ///   - operationName: The name of the operation; `nil` if the document has only one.
  ///   - variables: The variables as an object; any other value counts as no variables.
  ///   - write: Called with the chunks of the response in order. An error that it throws ends the
  ///     execution.
  /// - Throws: The error of `write`.
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
