public import GQLRunCache
public import GQLRunPipeline
public import GQLRunTyped

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
  /// - Throws: The errors of ``fetch(_:variables:uploads:operationName:cachePolicy:onErrors:as:)``.
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
    let stream =
      try optimistic.map { try runner.execute(request, optimistic: $0.json) }
      ?? runner.execute(request)
    let response = try await lastResponse(of: stream, request)
    watches.refetch(refetch)
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
      kind.document, kind.operationName, operation.variables, uploads: Array(uploads.keys))
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
  ///   of an object.
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
  /// - Throws: `CacheMiss` if the store lacks a part of the data; errors of `change` and of
  ///   ``write(_:for:)``. Nothing is changed then.
  public func update<Operation: GraphQLOperation>(
    _ operation: Operation, _ change: @Sendable (Operation.Data) throws -> Operation.Data
  ) async throws {
    let prepared = try prepare(operation)
    try await transaction { transaction in
      let data = try operation.data(checked: try await transaction.text(of: prepared))
      try await transaction.write(change(data).json, for: prepared)
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
