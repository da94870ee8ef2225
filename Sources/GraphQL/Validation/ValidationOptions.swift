/// What a validation checks, and when it stops.
public struct ValidationOptions: Sendable, Hashable {
  /// The rules to check, in the order in which errors at one place are listed; those of the
  /// specification by default.
  public var rules: [ValidationRule]
  /// How many errors are listed, 100 by default. A further error, of the rule `limit`, says that
  /// there were more.
  public var maxErrors: Int
  /// How many steps the rules may take whose work can exceed the size of the document, ten
  /// million by default: hostile documents end with an error of the rule `limit`.
  public var maxSteps: Int

  public init(
    rules: [ValidationRule] = ValidationRule.specified, maxErrors: Int = 100,
    maxSteps: Int = 10_000_000
  ) {
    self.rules = rules
    self.maxErrors = maxErrors
    self.maxSteps = maxSteps
  }
}
