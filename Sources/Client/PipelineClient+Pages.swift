import GQLRunCache
public import GQLRunJSON
import GQLRunPipeline
public import GQLRunTyped

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
    let all = try operation.pagedFields()
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
      .request, .invalidRequest,
      "cannot load more of \(GraphQLRequest(operation).label): \(reason)",
      delivery: .notSent)
  }
}
