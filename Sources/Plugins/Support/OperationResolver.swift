import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline

extension GraphQLRequest {
  /// The prepared operation of this request; made from its document when the caller brought none.
  func preparedOperation(_ context: ChainContext) throws -> PreparedOperation {
    if let operation { return operation }
    do {
      return try PreparedOperation(
        document: Document(parsing: document), operationName: operationName, variables: variables,
        keys: context.keys)
    } catch {
      throw ChainError(
        .request, .invalidRequest, "\(label) cannot be prepared: \(error)",
        place: context.entryID, cause: error)
    }
  }
}
