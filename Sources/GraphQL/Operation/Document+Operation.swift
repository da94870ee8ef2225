import GQLRunSupport

extension Document {
  /// The operation to run: the one with that name or, without a name, the only one.
  ///
  /// - Parameter name: The name of the operation; `nil` if the document has only one.
  /// - Throws: ``OperationSelectionError`` if there is no such operation, or more than one.
  ///
  /// https://spec.graphql.org/September2025/#GetOperation()
  public func operation(
    named name: String?
  ) throws(OperationSelectionError) -> OperationDefinition {
    let operations = self.operations
    guard let first = operations.first else {
      throw OperationSelectionError(
        code: .noOperation,
        message: definitions.isEmpty
          ? "the document has no operation; it is empty"
          : "the document has no operation, only \(contents); add a query to run")
    }
    guard let name else {
      guard operations.count > 1 else { return first }
      let anonymous = operations.filter { $0.name == nil }.count
      let hint = anonymous > 0 ? "; an operation without a name must be the only one" : ""
      throw OperationSelectionError(
        code: .nameRequired,
        message: "the document has \(operations.count) operations (\(names(of: operations)))"
          + hint + "; name the one to run",
        location: anonymous > 0 ? operations.first { $0.name == nil }?.location : nil)
    }
    let matches = operations.filter { $0.name?.value == name }
    guard let match = matches.first else {
      let known = operations.compactMap { $0.name?.value }
      let guess = suggestion(for: name, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
      let noun = operations.count == 1 ? "it has" : "it has the operations"
      throw OperationSelectionError(
        code: .unknownName,
        message: "the document has no operation \"\(name)\"; \(noun) \(names(of: operations))"
          + guess)
    }
    guard matches.count == 1 else {
      throw OperationSelectionError(
        code: .duplicateName,
        message: "the document has \(matches.count) operations named \"\(name)\"; "
          + "names must be unique",
        location: matches[1].name?.location)
    }
    return match
  }

  private var contents: String {
    let hasTypes = definitions.contains { if case .typeSystem = $0 { true } else { false } }
    switch (fragments.isEmpty, hasTypes) {
    case (false, true): return "fragments and type definitions"
    case (false, false): return "fragments"
    default: return "type definitions"
    }
  }

  private func names(of operations: [OperationDefinition]) -> String {
    let names = operations.prefix(20).map { operation in
      operation.name.map { "\"\($0.value)\"" } ?? "an anonymous \(operation.type.rawValue)"
    }
    let rest = operations.count - names.count
    return names.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }
}
