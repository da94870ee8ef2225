public import GQLRunCache
public import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
public import GQLRunTyped

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
      try prepared.operation(
        document, name: operationName, variables: variables, uploads: Array(uploads.keys)),
      cachePolicy: cachePolicy, uploads: uploads)
    return try OperationResult(
      await lastResponse(of: runner.execute(request), request), label: request.label,
      decoder: decoder, onErrors: onErrors)
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
        try Self.check(request, is: .subscription, for: "subscribe to")
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
      try prepared.operation(
        mutation, name: operationName, variables: variables, uploads: Array(uploads.keys)),
      uploads: uploads)
    try Self.check(request, is: .mutation, for: "perform")
    let response = try await perform(request, optimistic: optimistic, refetch: refetch)
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
    try prepared.operation(document, name: operationName, variables: variables)
  }

  /// Throws unless a request is of the type that `action` is for.
  private static func check(
    _ request: GraphQLRequest, is type: OperationType, for action: String
  ) throws(ChainError) {
    guard request.operationType != type else { return }
    throw ChainError(
      notSent: .invalidRequest,
      "cannot \(action) \(request.label): it is a \(request.operationType.rawValue); use `fetch`")
  }

  /// The response to a mutation, whose expected data is shown until then.
  private func perform(
    _ request: GraphQLRequest, optimistic: JSONValue?, refetch: [String]
  ) async throws -> GraphQLResponse {
    let stream =
      try optimistic.map { try runner.execute(request, optimistic: $0) } ?? runner.execute(request)
    let response = try await lastResponse(of: stream, request)
    watches.refetch(refetch)
    return response
  }

  /// The last response of a request.
  func lastResponse(
    of stream: ResponseStream, _ request: GraphQLRequest
  ) async throws -> GraphQLResponse {
    var last: GraphQLResponse?
    // The data of a part without another reference grows in place; a second reference would copy it with every part.
    for try await response in stream { last = response.isComplete ? response : nil }
    guard let last else {
      throw ChainError(
        .chain, code: .noResult, message: "the pipeline delivered no result of \(request.label)")
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

extension PipelineClient {
  /// Fetches the next page of a list, which the cache joins with the pages before. Watches get the longer list.
  ///
  /// ```swift
  /// let feed = """
  ///   query Feed($after: String) {
  ///     feed(first: 20, after: $after) { edges { node { id title } } pageInfo { hasNextPage endCursor } }
  ///   }
  ///   """
  /// for try await update in client.watch(feed, as: Feed.self) { … }
  /// // elsewhere, when the user has scrolled to the end:
  /// try await client.loadMore(feed)
  /// ```
  ///
  /// The list has the rule `merge: connection` or `merge: offset` in the pipeline file, and the cache decides which
  /// page is next: the one after its `endCursor`, or after its last element. A list with `merge: offset` ends with
  /// the first page that is empty; ask ``OperationResult/data`` of the page.
  ///
  /// - Parameters:
  ///   - document: The text of the GraphQL document. A variable is the argument `after`, `offset` or `skip` of the
  ///     list.
  ///   - variables: The variables of the first page.
  ///   - operationName: The name of the operation; needed if the document has several.
  ///   - list: The path of the list, such as `user.posts`; needed if the operation has several with pages.
  ///   - onErrors: How GraphQL errors are handled.
  ///   - type: The type of the data: a type of the program, `JSONValue` (the default), `Data` or `[UInt8]`.
  /// - Returns: The page as the server sent it; `nil` if the server said that there are no further pages.
  /// - Throws: `CacheMiss` if the cache does not have the pages before, so that a fetch must come first;
  ///   `ChainError` with code `invalidRequest` if the operation has no such list; the errors of `fetch`.
  @discardableResult
  public func loadMore<Value: Decodable & Sendable>(
    _ document: String, variables: JSONObject = [:], operationName: String? = nil,
    list: String? = nil, onErrors: GraphQLErrorHandling = .partial,
    as type: Value.Type = JSONValue.self
  ) async throws -> OperationResult<Value>? {
    let operation = try prepare(document, variables: variables, operationName: operationName)
    guard let response = try await nextPage(of: operation, list: list) else { return nil }
    return try OperationResult(
      response, label: GraphQLRequest(operation).label, decoder: decoder, onErrors: onErrors)
  }

  /// Fetches the next page of a list of a query with a generated type, as
  /// ``loadMore(_:variables:operationName:list:onErrors:as:)`` does.
  @discardableResult
  public func loadMore<Query: GraphQLQuery>(
    _ query: Query, list: String? = nil, onErrors: GraphQLErrorHandling = .partial
  ) async throws -> OperationResult<Query.Data>? {
    guard let response = try await nextPage(of: try prepare(query), list: list) else { return nil }
    return try OperationResult(response, of: query, onErrors: onErrors)
  }

  /// The response with the next page; `nil` after the last one.
  private func nextPage(
    of operation: PreparedOperation, list: String?
  ) async throws -> GraphQLResponse? {
    let field = try pagedField(of: operation, list)
    let data = try await transaction { try await $0.read(operation) }
    var value: JSONValue? = data
    for key in field.path.split(separator: ".") {
      if value?.arrayValue != nil {
        throw Self.cannotLoad(operation, "`\(field.path)` is inside of a list")
      }
      value = value?[String(key)]
    }
    guard let value, !value.isNull else { return nil }
    var variables = operation.variables
    if field.isConnection {
      guard let info = value["pageInfo"], info["hasNextPage"]?.boolValue == true else { return nil }
      guard let cursor = info["endCursor"], !cursor.isNull else {
        throw Self.cannotLoad(
          operation, "the server says that `\(field.path)` has further pages and gives no endCursor"
        )
      }
      variables[field.variable] = cursor
    } else {
      variables[field.variable] = .number(JSONNumber(value.arrayValue?.count ?? 0))
    }
    let request = GraphQLRequest(
      try operation.with(variables: variables), cachePolicy: .networkOnly)
    return try await lastResponse(of: runner.execute(request), request)
  }

  private func pagedField(
    of operation: PreparedOperation, _ list: String?
  ) throws -> PagedField {
    let all = operation.pagedFields()
    let joined = all.filter { $0.isJoined && (list == nil || $0.path == list) }
    if joined.count == 1 { return joined[0] }
    if joined.count > 1 {
      let paths = joined.map { "`\($0.path)`" }.joined(separator: ", ")
      throw Self.cannotLoad(
        operation, "it has several lists with pages, \(paths); name one with `list`")
    }
    if let field = all.first(where: { list == nil || $0.path == list }) {
      throw Self.cannotLoad(
        operation,
        "the cache does not join the pages of `\(field.path)`; declare `merge: connection` for the field in the "
          + "pipeline file: `fields: { Query.feed: { merge: connection } }`")
    }
    throw Self.cannotLoad(
      operation,
      "it has no list with pages\(list.map { " at `\($0)`" } ?? ""); select `pageInfo { hasNextPage endCursor }` of a "
        + "connection whose `after` is a variable, or declare `merge: offset` for a list in the pipeline file"
    )
  }

  private static func cannotLoad(_ operation: PreparedOperation, _ reason: String) -> ChainError {
    ChainError(
      notSent: .invalidRequest,
      "cannot load more of \(GraphQLRequest(operation).label): \(reason)")
  }
}

// Operations with generated types; `gqlrun generate` writes these types.
extension PipelineClient {
  /// Executes an operation with a generated type, and returns its last result.
  ///
  /// ```swift
  /// let country = try await client.fetch(CountryQuery(code: "PT")).data?.country
  /// ```
  ///
  /// The data is decoded from the text of the response or the cache, without a value tree.
  ///
  /// - Parameters:
  ///   - operation: The operation with its variables.
  ///   - cachePolicy: How the operation uses cache and network; `nil`, the default, uses the policy
  ///     of the pipeline's `cache-read`.
  ///   - onErrors: How GraphQL errors are handled; by default the result has the errors and the
  ///     partial data.
  /// - Throws: The errors of ``fetch(_:variables:uploads:operationName:cachePolicy:onErrors:as:)``; the `FieldError`
  ///   of a field with `@catch(to: THROW)` that nothing above it catches.
  public func fetch<Operation: GraphQLOperation>(
    _ operation: Operation, cachePolicy: CachePolicy? = nil,
    onErrors: GraphQLErrorHandling = .partial
  ) async throws -> OperationResult<Operation.Data> {
    let request = try request(for: operation, cachePolicy: cachePolicy)
    return try OperationResult(
      await lastResponse(of: runner.execute(request), request), of: operation, onErrors: onErrors)
  }

  /// Executes a query with a generated type and returns all its results: with `cache-and-network`,
  /// the default, the cached one, if there is one, and the server's.
  public func results<Query: GraphQLQuery>(
    _ query: Query, cachePolicy: CachePolicy? = .cacheAndNetwork,
    onErrors: GraphQLErrorHandling = .partial
  ) -> OperationResults<Query.Data> {
    OperationResults(
      begin: { [self] in
        runner.execute(try request(for: query, cachePolicy: cachePolicy))
      }, convert: { try OperationResult($0, of: query, onErrors: onErrors) })
  }

  /// Executes a mutation with a generated type, and shows its expected result until the server has
  /// answered.
  ///
  /// ```swift
  /// try await client.perform(
  ///   LikeMutation(post: "1"),
  ///   optimistic: .init(likePost: .init(id: "1", likes: 8)))
  /// ```
  ///
  /// - Parameters:
  ///   - mutation: The mutation with its variables.
  ///   - optimistic: The expected data, with the key fields of its objects. Readers and watchers of
  ///     the store get it at once. It is removed when the response is written or the mutation fails.
  ///   - refetch: The names of watched queries that are requested from the server again after the
  ///     mutation: `[FeedQuery.operationName]`.
  ///   - onErrors: How GraphQL errors are handled.
  /// - Throws: The errors of `fetch`, and `CacheError` with code `invalidData` if `optimistic` lacks
  ///   a key field, because the mutation does not select it.
  @discardableResult
  public func perform<Mutation: GraphQLMutation>(
    _ mutation: Mutation, optimistic: Mutation.Data? = nil, refetch: [String] = [],
    onErrors: GraphQLErrorHandling = .partial
  ) async throws -> OperationResult<Mutation.Data> {
    let request = try request(for: mutation)
    let response = try await perform(request, optimistic: optimistic?.json, refetch: refetch)
    return try OperationResult(response, of: mutation, onErrors: onErrors)
  }

  /// Subscribes to events with a generated type, as
  /// ``subscribe(_:variables:operationName:cachePolicy:onErrors:as:)`` does.
  public func subscribe<Subscription: GraphQLSubscription>(
    _ subscription: Subscription, cachePolicy: CachePolicy? = nil,
    onErrors: GraphQLErrorHandling = .partial
  ) -> OperationResults<Subscription.Data> {
    OperationResults(
      begin: { [self] in
        runner.execute(try request(for: subscription, cachePolicy: cachePolicy))
      }, convert: { try OperationResult($0, of: subscription, onErrors: onErrors) })
  }

  /// Watches a query with a generated type, as
  /// ``watch(_:variables:operationName:cachePolicy:refetches:onErrors:as:)`` does.
  public func watch<Query: GraphQLQuery>(
    _ query: Query, cachePolicy: CachePolicy? = nil, refetches: Bool = false,
    onErrors: GraphQLErrorHandling = .partial
  ) -> OperationUpdates<Query.Data> {
    OperationUpdates(
      begin: { [self] in
        try watch(try request(for: query, cachePolicy: cachePolicy), refetches: refetches)
      }, convert: { try OperationResult($0, of: query, onErrors: onErrors) }, operations: operations
    )
  }

  /// Prepares an operation with a generated type for ``transaction(_:)``.
  public func prepare(_ operation: some GraphQLOperation) throws -> PreparedOperation {
    try prepare(operation, uploads: operation.uploadsByPath)
  }

  private func prepare(
    _ operation: some GraphQLOperation, uploads: [String: GraphQLUpload]
  ) throws -> PreparedOperation {
    let kind = type(of: operation)
    return try prepared.operation(
      kind.document, name: kind.operationName, variables: operation.variables,
      uploads: Array(uploads.keys))
  }

  /// The request of an operation, with its files.
  private func request(
    for operation: some GraphQLOperation, cachePolicy: CachePolicy? = nil
  ) throws -> GraphQLRequest {
    let uploads = operation.uploadsByPath
    return GraphQLRequest(
      try prepare(operation, uploads: uploads), cachePolicy: cachePolicy,
      uploads: try uploads.mapValues { try Upload($0) })
  }

  // MARK: Cache

  /// Reads the data of an operation from the store.
  ///
  /// - Returns: The data; `nil` if the store lacks a part of it.
  /// - Throws: `CacheError`; `ChainError` if the client has no store.
  public func read<Operation: GraphQLOperation>(
    _ operation: Operation
  ) async throws -> Operation.Data? {
    let prepared = try prepare(operation)
    do {
      return try await transaction { transaction in
        try operation.data(checked: try await transaction.text(of: prepared))
      }
    } catch is CacheMiss {
      return nil
    }
  }

  /// Writes the data of an operation to the store, like a response of the server. Watchers get it.
  ///
  /// - Throws: `CacheError` with code `invalidData` if the operation does not select the key fields
  ///   of an object, or if the data has the error of a field.
  public func write<Operation: GraphQLOperation>(
    _ data: Operation.Data, for operation: Operation
  ) async throws {
    let prepared = try prepare(operation)
    try await transaction { try await $0.write(data.json, for: prepared) }
  }

  /// Reads the data of an operation from the store, and writes what `change` makes of it.
  ///
  /// ```swift
  /// try await client.update(PostQuery(id: "1")) { data in
  ///   .init(post: data.post.map { .init(id: $0.id, title: "Edited") })
  /// }
  /// ```
  ///
  /// - Throws: `CacheMiss` if the store lacks a part of the data; `CacheError` with code `invalidData` if the operation
  ///   does not select the key fields of a record that it reads, or if `change` changes an object at some of its paths
  ///   only; errors of `change` and of ``write(_:for:)``. Nothing is changed then.
  public func update<Operation: GraphQLOperation>(
    _ operation: Operation, _ change: @Sendable (Operation.Data) throws -> Operation.Data
  ) async throws {
    let prepared = try prepare(operation)
    try await transaction { transaction in
      let data = try operation.data(checked: try await transaction.text(of: prepared))
      // The values have only what the operation selects, which may not identify a record.
      let before = try await transaction.dataToUpdate(prepared)
      try await transaction.write(change(data).json, for: prepared, over: before)
    }
  }
}

extension Upload {
  /// Opens the file of a variable.
  fileprivate init(_ upload: GraphQLUpload) throws(ChainError) {
    switch upload.contents {
    case .file(let path):
      try self.init(path: path, fileName: upload.fileName, contentType: upload.contentType)
    case .bytes(let bytes):
      try self.init(
        bytes: bytes, fileName: upload.fileName ?? "blob", contentType: upload.contentType)
    }
  }
}
