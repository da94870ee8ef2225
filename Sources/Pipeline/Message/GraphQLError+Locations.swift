public import GQLRunCache
import GQLRunLanguage
import GQLRunSupport
public import GQLRunTyped

extension GraphQLError {
  /// The error of a response to `request`, with locations in the document that the caller wrote.
  ///
  /// Servers locate errors in the document they received, which is reformatted and has added key
  /// fields. If a server refuses an empty selection set because it is of an older edition, the message has the reason
  /// and what to write instead. Costs nothing for an error without locations.
  ///
  /// - Parameters:
  ///   - operation: The operation of the caller.
  ///   - request: The request as it was sent. Locations do not change if it has another document.
  public func located(in operation: PreparedOperation, sentBy request: GraphQLRequest)
    -> GraphQLError
  {
    guard !locations.isEmpty || operation.hasEmptySelectionSets,
      operation.document.utf8.elementsEqual(request.document.utf8)
    else { return self }
    var error = self
    if let hint = emptySelectionSetHint(in: operation, sentBy: request) {
      error.message += " (\(hint))"
    }
    error.locations = locations.map { location in
      let source = operation.sourceLocation(ofSentLine: location.line, column: location.column)
      return source.map { Location(line: $0.line, column: $0.column) } ?? location
    }
    return error
  }

  /// Why a server of an older edition refuses the operation, and what to write instead, if that is because of an empty
  /// selection set.
  func emptySelectionSetHint(
    in operation: PreparedOperation, sentBy request: GraphQLRequest
  ) -> String? {
    guard path == nil, operation.hasEmptySelectionSets,
      operation.document.utf8.elementsEqual(request.document.utf8)
    else { return nil }
    return operation.emptySelectionSetHint(
      message: message, locations: locations.map { ($0.line, $0.column) })
  }
}

extension GraphQLError {
  /// The error with its first location in the document's file: `country: not allowed [FORBIDDEN]
  /// (country.graphql:3:5)`.
  ///
  /// - Parameter file: The name of the file; `nil` returns ``description``.
  public func description(in file: String?) -> String {
    guard let file, let location = locations.first else { return description }
    return description + Printable.line(" (\(file):\(location.line):\(location.column))")
  }
}

extension GraphQLError: CustomStringConvertible {
  /// Path, message and code: `viewer.repos.0: not allowed [FORBIDDEN]`.
  public var description: String {
    let location = path.map { "\($0.map(\.description).joined(separator: ".")): " } ?? ""
    return Printable.line(location + message + (code.map { " [\($0)]" } ?? ""))
  }
}
