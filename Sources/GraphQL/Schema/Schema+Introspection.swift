extension Schema {
  /// Builds a schema from the result of an introspection query: the response, its `data`, or the
  /// value of `__schema`.
  ///
  /// What the query did not ask for, such as descriptions, is missing from the schema; the names,
  /// members and references must be all there. Issues have no places: the result is not a text.
  public init(introspection result: IntrospectionValue) throws(SchemaError) {
    var reader = IntrospectionReader()
    let document = reader.document(result)
    guard reader.issues.isEmpty else { throw SchemaError(issues: reader.issues) }
    do throws(SchemaError) {
      // Its directives are written here; how the server defines them is its own affair.
      self = try Schema(
        sdl: document,
        ignoring: [
          .knownDirectives, .uniqueDirectivesPerLocation, .knownArgumentNamesOnDirectives,
          .providedRequiredArgumentsOnDirectives,
        ])
      warnings =
        reader.warnings + warnings.map { SchemaError.Issue(message: $0.message, locations: []) }
    } catch {
      throw SchemaError(
        issues: error.issues.map { SchemaError.Issue(message: $0.message, locations: []) })
    }
  }
}
