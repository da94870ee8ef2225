extension PluginDescription {
  /// The description as `gqlrun plugins NAME` prints it.
  public var text: String {
    var lines = [
      "\(name) — \(summary)", "", "\(placement.kind.rawValue), stage \(placement.stageText)",
    ]
    lines += ["", documentation.use, "", documentation.position]
    lines += ["", "Subscriptions: \(documentation.subscriptions)"]
    lines += ["", "Uploads: \(documentation.uploads)"]
    if !options.isEmpty {
      lines += ["", "options:"] + options.flatMap { $0.lines(indent: "  ") }
    }
    lines += ["", "example:", "  - \(documentation.example)", "", documentation.narration]
    if !documentation.moreExamples.isEmpty {
      lines += ["", "more examples:"] + documentation.moreExamples.map { "  - \($0)" }
    }
    return lines.map { $0 + "\n" }.joined()
  }
}
