/// Something in a document that the specification or a schema forbids, or a warning about it.
public struct ValidationError: Error, Sendable, Hashable, CustomStringConvertible {
  public var rule: ValidationRule
  /// As the reference implementation (graphql-core) words it.
  public var message: String
  /// The places involved, the most telling first; none for what concerns the whole document.
  public var locations: [SourceLocation]

  public init(rule: ValidationRule, message: String, locations: [SourceLocation]) {
    self.rule = rule
    self.message = message
    self.locations = locations
  }

  /// `line:column: message`, the way compilers and editors write it.
  public var description: String {
    locations.first.map { "\($0.line):\($0.column): \(message)" } ?? message
  }
}
