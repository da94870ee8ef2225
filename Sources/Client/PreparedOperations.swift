import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport

/// Prepares operations, and caches the most recently used documents so that each is parsed once.
final class PreparedOperations: Sendable {
  private struct Key: Hashable {
    var document: String
    var operationName: String?
  }

  private struct State {
    var templates: [Key: (template: OperationTemplate, lastUse: Int)] = [:]
    var uses = 0
  }

  /// The most documents in the cache; beyond, the least recently used one is parsed again when
  /// needed.
  static let capacity = 256

  private let state = Locked(State())
  let keys: KeyRules
  let facts: TypeFacts?

  /// The number of documents in the cache.
  var count: Int { state.withLock { $0.templates.count } }

  init(keys: KeyRules, facts: TypeFacts? = nil) {
    self.keys = keys
    self.facts = facts
  }

  /// Creates a cache with the keys and the schema of `pipeline`.
  ///
  /// - Throws: An error if the schema cannot be read.
  @concurrent static func forOperations(
    of pipeline: Pipeline, _ configuration: PipelineClient.Configuration
  ) async throws -> PreparedOperations {
    guard configuration.facts == nil, let path = pipeline.schema else {
      return PreparedOperations(
        keys: configuration.keyRules(of: pipeline), facts: configuration.facts)
    }
    let schema: Schema
    do {
      schema = try Schema(file: try configuration.environment.readFile(path))
    } catch {
      throw ChainError(
        .request, code: .invalidRequest, message: "the schema \(path) cannot be used: \(error)",
        cause: error)
    }
    let (keys, warnings) = configuration.keyRules(of: pipeline).joined(with: schema)
    for warning in warnings { configuration.logger.warning("\(path): \(warning)") }
    return PreparedOperations(keys: keys, facts: TypeFacts(schema))
  }

  /// The operation of `document` with the given name, or its only one.
  ///
  /// - Throws: `GraphQLSyntaxError` if the document cannot be parsed; `CacheError` with code
  ///   `invalidOperation` or `invalidVariables`.
  func operation(
    _ document: String, name: String?, variables: JSONObject, uploads: [String] = []
  ) throws -> PreparedOperation {
    let key = Key(document: document, operationName: name)
    let known = state.withLock { state in
      state.uses += 1
      state.templates[key]?.lastUse = state.uses
      return state.templates[key]?.template
    }
    if let known { return try known.prepared(variables, uploads: uploads) }
    let template = try OperationTemplate(
      document: Document(parsing: document), operationName: name, keys: keys, facts: facts)
    state.withLock { state in
      if state.templates.count >= Self.capacity,
        let oldest = state.templates.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
      {
        state.templates.removeValue(forKey: oldest)
      }
      state.templates[key] = (template, state.uses)
    }
    return try template.prepared(variables, uploads: uploads)
  }
}
