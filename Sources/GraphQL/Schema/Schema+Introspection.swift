extension Schema {
  /// Builds a schema from the result of an introspection query: the response, its `data`, or the
  /// value of `__schema`.
  ///
  /// The schema lacks what the query did not select, such as descriptions, but names, members and
  /// referenced types must be complete. Issues have no source locations.
  ///
  /// - Throws: ``SchemaError`` with up to a hundred issues.
  public init(introspection result: IntrospectionValue) throws(SchemaError) {
    var reader = IntrospectionReader()
    let document = reader.document(result)
    guard reader.issues.isEmpty else { throw SchemaError(issues: reader.issues) }
    do throws(SchemaError) {
      // Uses this program's definitions of the introspection directives, not the server's.
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
