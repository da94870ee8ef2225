/// Workflow commands that GitHub shows beside the line.
///
/// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
struct GitHubRenderer {
  var title: String?

  func render(_ diagnostic: PipelineDiagnostic) -> String {
    let place = diagnostic.place
    let properties = [
      "file=\(property(place.file))", "line=\(place.line)", "col=\(place.column)",
      "endColumn=\(place.column + place.length)",
      "title=\(property(title ?? diagnostic.code.rawValue))",
    ]
    let text = ([diagnostic.message] + [diagnostic.hint].compactMap { $0 }).joined(separator: "; ")
    return "::\(diagnostic.severity) \(properties.joined(separator: ","))::\(data(text))\n"
  }

  private func data(_ text: String) -> String {
    text.unicodeScalars.map {
      switch $0 {
      case "%": "%25"
      case "\r": "%0D"
      case "\n": "%0A"
      default: String($0)
      }
    }.joined()
  }

  private func property(_ text: String) -> String {
    data(text).unicodeScalars.map { $0 == ":" ? "%3A" : $0 == "," ? "%2C" : String($0) }.joined()
  }
}

extension PipelineDiagnostic {
  /// The finding as a command that GitHub shows beside the line, under another title than its code.
  public func githubCommand(title: String) -> String {
    GitHubRenderer(title: title).render(self)
  }
}
