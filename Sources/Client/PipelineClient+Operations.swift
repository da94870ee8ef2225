public import GQLRunCache
public import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline

extension PipelineClient {
  /// Runs an operation and returns its result; of two results, the server's.
  ///
  /// ```swift
  /// let result = try await client.fetch(
  ///   "query C($code: ID!) { country(code: $code) { name } }", variables: ["code": "PT"],
  ///   as: CountryData.self)
  /// ```
  ///
  /// - Parameters:
  ///   - document: The text of the GraphQL document. It is parsed once, however often it is fetched.
  ///   - variables: The variables, checked against their declared types before anything is sent.
  ///   - operationName: The operation to run, when the document has several.
  ///   - cachePolicy: When to read the cache and when to use the network; by default the policy of the
  ///     pipeline's `cache-read`.
  ///   - onErrors: What happens to a response with errors; by default the result has its errors and the
  ///     data that there is.
  ///   - type: The type of the data: one of the program's own, or `JSONValue`, the default, `Data` or
  ///     `[UInt8]`.
  /// - Throws: `GraphQLSyntaxError` and `CacheError` for documents and variables that cannot be used,
  ///   `ChainError` when the pipeline delivers no result, `GraphQLError` under
  ///   ``GraphQLErrorHandling/firstError``.
  public func fetch<Value: Decodable & Sendable>(
    _ document: String, variables: JSONObject = [:], operationName: String? = nil,
    cachePolicy: CachePolicy? = nil, onErrors: GraphQLErrorHandling = .partial,
    as type: Value.Type = JSONValue.self
  ) async throws -> OperationResult<Value> {
    let request = GraphQLRequest(
      try prepare(document, variables: variables, operationName: operationName),
      cachePolicy: cachePolicy)
    return try await last(of: runner.execute(request), request, onErrors)
  }

  /// The results of an operation: under `cache-and-network` the cached one, if there is one, and the
  /// server's.
  ///
  /// The parameters and errors are those of
  /// ``fetch(_:variables:operationName:cachePolicy:onErrors:as:)``.
  public func results<Value: Decodable & Sendable>(
    _ document: String, variables: JSONObject = [:], operationName: String? = nil,
    cachePolicy: CachePolicy? = .cacheAndNetwork, onErrors: GraphQLErrorHandling = .partial,
    as type: Value.Type = JSONValue.self
  ) -> OperationResults<Value> {
    OperationResults(
      begin: { [self] in
        runner.execute(
          GraphQLRequest(
            try prepare(document, variables: variables, operationName: operationName),
            cachePolicy: cachePolicy))
      }, convert: converting(operationName, onErrors))
  }

  /// Watches a query: its result now, as the cache policy says, and a further one whenever a field that
  /// the answer depends on has changed in the store.
  ///
  /// - Parameters:
  ///   - refetches: Whether the network is asked when the data is no longer complete. `false` by default.
  ///   - cachePolicy: What comes first; `cache-only` never uses the network.
  /// The other parameters are those of ``fetch(_:variables:operationName:cachePolicy:onErrors:as:)``.
  public func watch<Value: Decodable & Sendable>(
    _ document: String, variables: JSONObject = [:], operationName: String? = nil,
    cachePolicy: CachePolicy? = nil, refetches: Bool = false,
    onErrors: GraphQLErrorHandling = .partial, as type: Value.Type = JSONValue.self
  ) -> OperationUpdates<Value> {
    OperationUpdates(
      begin: { [self] in
        try runner.watch(
          GraphQLRequest(
            try prepare(document, variables: variables, operationName: operationName),
            cachePolicy: cachePolicy), refetches: refetches)
      }, convert: converting(operationName, onErrors), operations: operations)
  }

  /// Runs a mutation, and shows its expected outcome until the server has answered.
  ///
  /// - Parameters:
  ///   - mutation: The text of the GraphQL document.
  ///   - optimistic: What the server will probably answer, complete for the mutation's selection, with
  ///     `__typename` and key fields; readers and watchers of the store see it at once. It disappears when
  ///     the answer is written, or the mutation fails. `nil`, the default, shows nothing.
  /// The other parameters are those of ``fetch(_:variables:operationName:cachePolicy:onErrors:as:)``.
  /// - Throws: What `fetch` throws, and `CacheError` with code `invalidData` when `optimistic` is not
  ///   complete.
  public func perform<Value: Decodable & Sendable>(
    _ mutation: String, variables: JSONObject = [:], operationName: String? = nil,
    optimistic: JSONValue? = nil, onErrors: GraphQLErrorHandling = .partial,
    as type: Value.Type = JSONValue.self
  ) async throws -> OperationResult<Value> {
    let request = GraphQLRequest(
      try prepare(mutation, variables: variables, operationName: operationName))
    guard request.operationType == .mutation else {
      throw ChainError(
        .request, .invalidRequest,
        "cannot perform \(request.label): it is a \(request.operationType.rawValue); use `fetch`",
        delivery: .notSent)
    }
    let stream =
      try optimistic.map { try runner.execute(request, optimistic: $0) } ?? runner.execute(request)
    return try await last(of: stream, request, onErrors)
  }

  /// The results of a request that the program has made itself, with header fields or context values.
  public func execute(_ request: GraphQLRequest) -> ResponseStream { runner.execute(request) }

  /// An operation for ``transaction(_:)``, with the key rules of the pipeline.
  ///
  /// - Throws: `GraphQLSyntaxError`, and `CacheError` with code `invalidOperation` or `invalidVariables`.
  public func prepare(
    _ document: String, variables: JSONObject = [:], operationName: String? = nil
  ) throws -> PreparedOperation {
    try prepared.operation(document, operationName, variables)
  }

  private func last<Value: Decodable>(
    of stream: ResponseStream, _ request: GraphQLRequest, _ onErrors: GraphQLErrorHandling
  ) async throws -> OperationResult<Value> {
    var last: GraphQLResponse?
    for try await response in stream { last = response }
    guard let last else {
      throw ChainError(.chain, .noResult, "the pipeline delivered no result of \(request.label)")
    }
    return try OperationResult(last, label: request.label, decoder: decoder, onErrors: onErrors)
  }

  private func converting<Value: Decodable>(
    _ operationName: String?, _ onErrors: GraphQLErrorHandling
  ) -> @Sendable (GraphQLResponse) throws -> OperationResult<Value> {
    { [decoder] in
      try OperationResult(
        $0, label: operationName ?? "the operation", decoder: decoder, onErrors: onErrors)
    }
  }
}
