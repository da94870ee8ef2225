/// A violation of a validation rule, or a warning.
public struct ValidationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The violated rule.
  public var rule: ValidationRule
  /// The message, as in graphql-core.
  public var message: String
  /// The source locations, the most relevant first; empty if the error concerns the whole document.
  public var locations: [SourceLocation]

  /// Creates an error.
  public init(rule: ValidationRule, message: String, locations: [SourceLocation]) {
    self.rule = rule
    self.message = message
    self.locations = locations
  }

  /// `line:column: message`.
  public var description: String {
    locations.first.map { "\($0.line):\($0.column): \(message)" } ?? message
  }
}
