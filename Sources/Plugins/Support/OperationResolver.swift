import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline

extension GraphQLRequest {
  /// The prepared operation of this request; prepared from its document if the caller has not done
  /// so.
  func preparedOperation(_ context: ChainContext) throws -> PreparedOperation {
    if let operation { return operation }
    do {
      return try PreparedOperation(
        document: Document(parsing: document), operationName: operationName, variables: variables,
        keys: context.keys)
    } catch {
      throw ChainError(
        .request, .invalidRequest, "\(label) cannot be prepared: \(error)",
        entry: context.entryID, cause: error)
    }
  }
}
