public import GQLRunCache
public import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline

extension PipelineClient {
  /// Executes an operation and returns its last result.
  ///
  /// ```swift
  /// let result = try await client.fetch(
  ///   "query C($code: ID!) { country(code: $code) { name } }", variables: ["code": "PT"],
  ///   as: CountryData.self)
  /// ```
  ///
  /// - Parameters:
  ///   - document: The text of the GraphQL document. It is parsed once and reused.
  ///   - variables: The variables, checked against their declared types before anything is sent.
  ///   - uploads: The files, by the paths of their variables: `["input.attachments.0": try
  ///     Upload(path: "a.png")]`.
  ///   - operationName: The name of the operation to execute; needed if the document has several.
  ///   - cachePolicy: How the operation uses cache and network; `nil`, the default, uses the policy
  ///     of the pipeline's `cache-read`.
  ///   - onErrors: How GraphQL errors are handled; by default the result has the errors and the
  ///     partial data.
  ///   - type: The type of the data: a type of the program, `JSONValue` (the default), `Data` or
  ///     `[UInt8]`.
  /// - Returns: The result; with `cache-and-network`, that of the server.
  /// - Throws: `GraphQLSyntaxError` and `CacheError` for invalid documents and variables,
  ///   `ChainError` if the pipeline delivers no result, `GraphQLError` with
  ///   ``GraphQLErrorHandling/firstError``.
  public func fetch<Value: Decodable & Sendable>(
    _ document: String, variables: JSONObject = [:], uploads: [String: Upload] = [:],
    operationName: String? = nil,
    cachePolicy: CachePolicy? = nil, onErrors: GraphQLErrorHandling = .partial,
    as type: Value.Type = JSONValue.self
  ) async throws -> OperationResult<Value> {
    let request = GraphQLRequest(
      try prepared.operation(document, operationName, variables, uploads: Array(uploads.keys)),
      cachePolicy: cachePolicy, uploads: uploads)
    return try await last(of: runner.execute(request), request, onErrors)
  }

  /// Executes an operation and returns all its results: with `cache-and-network`, the default, the
  /// cached one, if there is one, and the server's.
  ///
  /// Parameters and errors are those of
  /// ``fetch(_:variables:uploads:operationName:cachePolicy:onErrors:as:)``. The iterator throws the errors.
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

  /// Subscribes to events: the sequence has an element for each event until the server completes the
  /// subscription or the iterator is released.
  ///
  /// ```swift
  /// for try await event in client.subscribe("subscription { priceChanged { price } }", as: Price.self) {
  ///   if let gap = event.gap { print("events since \(gap.since) may be missing") }
  ///   print(event.data?.priceChanged.price ?? "no data")
  /// }
  /// ```
  ///
  /// The records of each event are written to the store before it is delivered, so watched queries
  /// follow. With `max-retry` in the pipeline, a lost connection is opened again, and an element with
  /// ``OperationResult/gap`` precedes the next event. A slow reader slows the connection.
  ///
  /// - Parameters:
  ///   - document: The text of the GraphQL document, with a subscription.
  ///   - variables: The variables, checked against their declared types.
  ///   - operationName: The name of the subscription; needed if the document has several operations.
  ///   - cachePolicy: How the subscription uses the cache; `nil`, the default, writes events to it.
  ///   - onErrors: How GraphQL errors of an event are handled; by default the event has them.
  ///   - type: The type of the data: a type of the program, `JSONValue` (the default), `Data` or
  ///     `[UInt8]`.
  /// - Returns: The events; the subscription starts when the first one is read.
  public func subscribe<Value: Decodable & Sendable>(
    _ document: String, variables: JSONObject = [:], operationName: String? = nil,
    cachePolicy: CachePolicy? = nil, onErrors: GraphQLErrorHandling = .partial,
    as type: Value.Type = JSONValue.self
  ) -> OperationResults<Value> {
    OperationResults(
      begin: { [self] in
        let request = GraphQLRequest(
          try prepare(document, variables: variables, operationName: operationName),
          cachePolicy: cachePolicy)
        guard request.operationType == .subscription else {
          throw ChainError(
            .request, .invalidRequest,
            "cannot subscribe to \(request.label): it is a \(request.operationType.rawValue); use `fetch`",
            delivery: .notSent)
        }
        return runner.execute(request)
      }, convert: converting(operationName, onErrors))
  }

  /// Watches a query: returns its first result, and a new one whenever a field that the result
  /// depends on has changed in the store.
  ///
  /// - Parameters:
  ///   - document: The text of the GraphQL document, with a query.
  ///   - variables: The variables, checked against their declared types.
  ///   - operationName: The name of the operation to watch; needed if the document has several.
  ///   - cachePolicy: Decides about the first result; `cache-only` never uses the network. `nil`,
  ///     the default, uses the policy of the pipeline's `cache-read`.
  ///   - refetches: Whether the network is used when the cache no longer has all the data. `false`
  ///     by default.
  ///   - onErrors: How GraphQL errors are handled; by default the result has the errors and the
  ///     partial data.
  ///   - type: The type of the data: a type of the program, `JSONValue` (the default), `Data` or
  ///     `[UInt8]`.
  /// - Returns: The updates; the watch starts when they are iterated, and throws its errors there.
  public func watch<Value: Decodable & Sendable>(
    _ document: String, variables: JSONObject = [:], operationName: String? = nil,
    cachePolicy: CachePolicy? = nil, refetches: Bool = false,
    onErrors: GraphQLErrorHandling = .partial, as type: Value.Type = JSONValue.self
  ) -> OperationUpdates<Value> {
    OperationUpdates(
      begin: { [self] in
        try watch(
          GraphQLRequest(
            try prepare(document, variables: variables, operationName: operationName),
            cachePolicy: cachePolicy), refetches: refetches)
      }, convert: converting(operationName, onErrors), operations: operations)
  }

  /// Watches a request that the program has built itself.
  package func watch(_ request: GraphQLRequest, refetches: Bool) throws -> OperationWatch {
    var watch = try runner.watch(request, refetches: refetches)
    if let refresher { watch.companion = { refresher.lease() } }
    watch.register = watches
    return watch
  }

  /// Executes a mutation, and shows its expected result until the server has answered.
  ///
  /// - Parameters:
  ///   - mutation: The text of the GraphQL document, with a mutation.
  ///   - variables: The variables, checked against their declared types before anything is sent.
  ///   - uploads: The files, by the paths of their variables: `["input.attachments.0": try
  ///     Upload(path: "a.png")]`.
  ///   - operationName: The name of the operation to execute; needed if the document has several.
  ///   - optimistic: The expected data, complete for the mutation's selection set, with
  ///     `__typename` and key fields. Readers and watchers of the store get it at once. It is
  ///     removed when the response is written or the mutation fails. `nil`, the default, shows
  ///     nothing.
  ///   - refetch: The names of watched queries that are requested from the server again after the
  ///     mutation, because its result does not say how they change, such as lists that get a new
  ///     element. Their watches deliver the results; names that are not watched are ignored.
  ///   - onErrors: How GraphQL errors are handled; by default the result has the errors and the
  ///     partial data.
  ///   - type: The type of the data: a type of the program, `JSONValue` (the default), `Data` or
  ///     `[UInt8]`.
  /// - Returns: The result.
  /// - Throws: The errors of `fetch`, and `CacheError` with code `invalidData` if `optimistic` is
  ///   incomplete.
  public func perform<Value: Decodable & Sendable>(
    _ mutation: String, variables: JSONObject = [:], uploads: [String: Upload] = [:],
    operationName: String? = nil,
    optimistic: JSONValue? = nil, refetch: [String] = [],
    onErrors: GraphQLErrorHandling = .partial, as type: Value.Type = JSONValue.self
  ) async throws -> OperationResult<Value> {
    let request = GraphQLRequest(
      try prepared.operation(mutation, operationName, variables, uploads: Array(uploads.keys)),
      uploads: uploads)
    guard request.operationType == .mutation else {
      throw ChainError(
        .request, .invalidRequest,
        "cannot perform \(request.label): it is a \(request.operationType.rawValue); use `fetch`",
        delivery: .notSent)
    }
    let stream =
      try optimistic.map { try runner.execute(request, optimistic: $0) } ?? runner.execute(request)
    let response = try await lastResponse(of: stream, request)
    watches.refetch(refetch)
    return try OperationResult(response, label: request.label, decoder: decoder, onErrors: onErrors)
  }

  /// Executes a request that the program has built itself, with header fields or context values.
  ///
  /// - Returns: The results; the request starts when the first one is read.
  public func execute(_ request: GraphQLRequest) -> ResponseStream { runner.execute(request) }

  /// Prepares an operation for ``transaction(_:)``, with the key rules of the pipeline.
  ///
  /// - Throws: `GraphQLSyntaxError`, and `CacheError` with code `invalidOperation` or
  ///   `invalidVariables`.
  public func prepare(
    _ document: String, variables: JSONObject = [:], operationName: String? = nil
  ) throws -> PreparedOperation {
    try prepared.operation(document, operationName, variables)
  }

  private func last<Value: Decodable>(
    of stream: ResponseStream, _ request: GraphQLRequest, _ onErrors: GraphQLErrorHandling
  ) async throws -> OperationResult<Value> {
    try OperationResult(
      await lastResponse(of: stream, request), label: request.label, decoder: decoder,
      onErrors: onErrors)
  }

  /// The last response of a request.
  func lastResponse(
    of stream: ResponseStream, _ request: GraphQLRequest
  ) async throws -> GraphQLResponse {
    var last: GraphQLResponse?
    // The data of a part without another reference grows in place; a second reference would copy it with every part.
    for try await response in stream { last = response.isComplete ? response : nil }
    guard let last else {
      throw ChainError(.chain, .noResult, "the pipeline delivered no result of \(request.label)")
    }
    return last
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
