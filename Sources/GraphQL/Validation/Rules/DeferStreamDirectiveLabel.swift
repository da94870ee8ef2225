/// The label of a `@defer` or `@stream` is a string without variables, and unique in the document.
///
/// https://github.com/graphql/graphql-spec/pull/1110
final class DeferStreamDirectiveLabel: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(
    directive: Directive, at location: DirectiveLocation, _ context: ValidationContext
  ) {
    let name = directive.name.value
    guard name == "defer" || name == "stream", context.directives[name] != nil,
      let label = directive.arguments.first(where: { $0.name.value == "label" })
    else { return }
    switch label.value {
    case .null: return
    case .string(let text):
      guard let first = known[text.value] else {
        known[text.value] = directive.location
        return
      }
      context.report(
        .deferStreamDirectiveLabel, "Defer/Stream directive label argument must be unique.",
        at: [first, directive.location])
    default:
      context.report(
        .deferStreamDirectiveLabel,
        "\(name == "defer" ? "Defer" : "Stream") directive label argument must be a static string.",
        at: directive.location)
    }
  }
}
