import GQLRunJSON
package import GQLRunLanguage

extension PreparedOperation {
  /// Prepares a query that belongs to this operation, with its key rules and those of its variables that
  /// the query declares: one that fetches what a subscription has missed.
  ///
  /// - Parameters:
  ///   - name: The name of the query; `nil` is the only operation of `document`.
  ///   - document: The document; `nil` is the whole document of this subscription.
  /// - Throws: ``CacheError`` with code `invalidOperation` or `invalidVariables`.
  package func companion(
    _ name: String?, in document: Document?
  ) throws(CacheError) -> PreparedOperation {
    guard let document = document ?? texts.wholeDocument else {
      throw CacheError(.invalidOperation, "the document of the operation is not known")
    }
    let (definition, _) = try Self.select(name, in: document)
    guard definition.type == .query else {
      let name = definition.name.map { "\($0.value) " } ?? ""
      throw CacheError(
        .invalidOperation, "the operation \(name)is a \(definition.type.rawValue), not a query",
        location: definition.location)
    }
    let names = Set(definition.variables.map(\.name.value))
    var given = JSONObject()
    for member in variables where names.contains(member.key) { given[member.key] = member.value }
    return try PreparedOperation(
      document: document, operationName: name, variables: given, keys: plan.keys,
      facts: plan.facts)
  }
}
