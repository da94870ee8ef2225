import GQLRunSupport

/// Renders diagnostics as workflow commands, which GitHub shows at the source line.
///
/// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
struct GitHubRenderer {
  var title: String?

  func render(_ diagnostic: PipelineDiagnostic) -> String {
    let location = diagnostic.location
    let properties = [
      "file=\(QuotedText.githubProperty(location.file))", "line=\(location.line)",
      "col=\(location.column)",
      "endColumn=\(location.column + location.length)",
      "title=\(QuotedText.githubProperty(title ?? diagnostic.code.rawValue))",
    ]
    let text = ([diagnostic.message] + [diagnostic.hint].compactMap { $0 }).joined(separator: "; ")
    return
      "::\(diagnostic.severity) \(properties.joined(separator: ","))::\(QuotedText.githubData(text))\n"
  }
}

extension PipelineDiagnostic {
  /// The diagnostic as a workflow command, with a title other than its code.
  public func githubCommand(title: String) -> String {
    GitHubRenderer(title: title).render(self)
  }
}
