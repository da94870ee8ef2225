/// The rules and limits of a validation.
public struct ValidationOptions: Sendable, Hashable {
  /// The rules, in the order in which errors at the same location are listed. By default, the
  /// specification's rules for executable documents.
  public var rules: [ValidationRule]
  /// The maximum number of errors, 100 by default. If there are more, the last error has the rule
  /// ``ValidationRule/limit``.
  public var maxErrors: Int
  /// The maximum number of steps of rules whose time is not linear, ten million by default. If it
  /// is reached, validation ends with an error of the rule ``ValidationRule/limit``.
  public var maxSteps: Int

  /// Creates options.
  public init(
    rules: [ValidationRule] = ValidationRule.specified, maxErrors: Int = 100,
    maxSteps: Int = 10_000_000
  ) {
    self.rules = rules
    self.maxErrors = maxErrors
    self.maxSteps = maxSteps
  }
}
