import JSONStream
import Pipeline

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
}
