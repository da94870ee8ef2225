import GQLRunJSON
import GQLRunPipeline

extension ChainError {
  /// The GraphQL errors in the body of a response that was not accepted, as far as it was kept.
  ///
  /// The body of a refusal is not trusted as a result, but what it says about persisted queries and
  /// credentials is heard.
  var refusedErrors: [GraphQLError] {
    guard let prefix = http?.bodyPrefix,
      let errors = (try? JSONValue(parsing: prefix))?["errors"]?.arrayValue
    else { return [] }
    return errors.map { GraphQLError($0) }
  }

  /// Whether the errors of the body are about the request as such: none has a place in the document
  /// or in the data, or a code.
  var refusesRequest: Bool {
    let errors = refusedErrors
    return !errors.isEmpty
      && errors.allSatisfy { $0.path == nil && $0.locations.isEmpty && $0.code == nil }
  }
}
