import GQLRunJSON
import GQLRunPipeline

extension ChainError {
  /// The GraphQL errors in the kept part of a rejected response's body.
  ///
  /// The body is not trusted as a result, but its errors about persisted queries and credentials
  /// are used.
  var refusedErrors: [GraphQLError] {
    guard let prefix = http?.bodyPrefix,
      let errors = (try? JSONValue(parsing: prefix))?["errors"]?.arrayValue
    else { return [] }
    return errors.map { GraphQLError($0) }
  }

  /// Whether the errors of the body are about the whole request: none has a location, a path or a
  /// code.
  var refusesRequest: Bool {
    let errors = refusedErrors
    return !errors.isEmpty
      && errors.allSatisfy { $0.path == nil && $0.locations.isEmpty && $0.code == nil }
  }
}
