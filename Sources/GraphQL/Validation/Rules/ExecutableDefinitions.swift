/// Only operations and fragments can be executed.
///
/// https://spec.graphql.org/September2025/#sec-Executable-Definitions
final class ExecutableDefinitions: RuleVisitor {
  func enter(document: Document, _ context: ValidationContext) {
    for case .typeSystem(let definition) in document.definitions {
      let name = definition.name.map { "'\($0.value)'" } ?? "schema"
      context.report(
        .executableDefinitions, "The \(name) definition is not executable.",
        at: definition.location)
    }
  }
}
