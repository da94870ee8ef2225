import GQLRunCache
package import GQLRunJSON
package import GQLRunLanguage
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

extension Schema {
  /// Parses type definitions, or the JSON result of an introspection query.
  package init(file bytes: [UInt8]) throws {
    if Self.isIntrospection(bytes) {
      let text = bytes.trimmingPrefix([0xEF, 0xBB, 0xBF])
      try self.init(introspection: IntrospectionValue(JSONValue(parsing: Array(text))))
    } else {
      let document = try Document(parsingUTF8: bytes)
      if let error = document.schemaError { throw error }
      try self.init(sdl: document)
    }
  }

  /// Whether a file of a schema is JSON: no type definition begins with a brace, and an operation that does has a name next.
  package static func isIntrospection(_ bytes: [UInt8]) -> Bool {
    let rest = bytes.trimmingPrefix([0xEF, 0xBB, 0xBF]).drop { $0.isJSONWhiteSpace }
    guard rest.first == UInt8(ascii: "{") else { return false }
    let next = rest.dropFirst().first { !$0.isJSONWhiteSpace }
    return next == nil || next == UInt8(ascii: "\"") || next == UInt8(ascii: "}")
  }
}

extension Document {
  /// The error of a schema that has operations and fragments only; `nil` for other documents.
  package var schemaError: SchemaError? {
    let locations = operations.map(\.location) + fragments.map(\.location)
    guard let first = locations.first, locations.count == definitions.count else { return nil }
    return SchemaError(issues: [
      SchemaError.Issue(
        message:
          "the file has operations and no schema; name type definitions, or the result of an introspection",
        location: first)
    ])
  }
}

extension IntrospectionValue {
  /// The result of an introspection query.
  package init(_ value: JSONValue) {
    switch value {
    case .null: self = .null
    case .boolean(let flag): self = .boolean(flag)
    case .number(let number): self = .number(number.text)
    case .string(let text): self = .string(text)
    case .array(let elements): self = .list(elements.map { IntrospectionValue($0) })
    case .object(let object):
      var members: [String: IntrospectionValue] = [:]
      for member in object { members[member.key] = IntrospectionValue(member.value) }
      self = .object(members)
    }
  }
}
