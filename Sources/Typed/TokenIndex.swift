import GQLRunJSON

/// An indexed JSON text, from which generated types decode themselves.
@usableFromInline
package final class TokenIndex: Sendable {
  let json: JSONIndex
  /// The values of the Boolean variables that `@skip` and `@include` use.
  let conditions: [String: Bool]
  /// The errors of nulls by their position; empty where no error is needed.
  let errors: [Int: FieldError]

  /// Indexes a text that a parser or `JSONWriter` has already checked.
  ///
  /// - Parameters:
  ///   - bytes: The text.
  ///   - conditions: The values of the Boolean variables that `@skip` and `@include` use.
  ///   - errors: The errors of the response.
  /// - Throws: `JSONError` if the text is larger than 4 GiB or is not one complete value.
  package init(
    checked bytes: [UInt8], conditions: [String: Bool] = [:], errors: [FieldError] = []
  ) throws {
    let json = try JSONIndex(checked: bytes)
    self.json = json
    self.conditions = conditions
    self.errors = errors.isEmpty ? [:] : json.errorsOfNulls(errors)
  }

  /// Checks a text with the strict parser, then indexes it.
  ///
  /// - Throws: `JSONError` if the text is not valid JSON or exceeds a limit.
  package convenience init(
    checking bytes: [UInt8], conditions: [String: Bool] = [:], errors: [FieldError] = []
  ) throws {
    _ = try JSONValue(parsing: bytes)
    try self.init(checked: bytes, conditions: conditions, errors: errors)
  }

  /// The value of the whole text.
  package func root<Value: GraphQLDecodable>(as type: Value.Type) throws -> Value {
    try Value(from: ValueReader(self, at: 0))
  }

  /// The position after the value at `token` and everything in it.
  @usableFromInline
  func position(after token: Int) -> Int { json.position(after: token) }

  /// The number of elements of the array at `token`.
  @usableFromInline
  func elementCount(_ token: Int) -> Int { json.elementCount(token) }
}
