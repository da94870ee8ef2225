import GQLRunPipeline

extension PluginDescription {
  /// The documentation of the plugin as a section of Markdown.
  var markdown: String {
    var lines = [
      "## \(name)", "", "\(summary).", "",
      "Kind: \(placement.kind.rawValue). Stage: \(placement.stageText).", "",
      "**When to use it.** \(documentation.use)", "",
      "**Position.** \(documentation.position)", "",
      "**Subscriptions:** \(documentation.subscriptions)", "",
      "**Uploads:** \(documentation.uploads)", "",
      "**Example.**", "", "```yaml", "- \(documentation.example)", "```", "",
      documentation.narration,
    ]
    if options.isEmpty {
      lines += ["", "It has no options."]
    } else {
      lines += ["", "| option | value | default | what it does |", "|---|---|---|---|"]
      lines += Self.rows(options, below: "")
    }
    if !documentation.moreExamples.isEmpty {
      lines +=
        ["", "More examples:", "", "```yaml"] + documentation.moreExamples.map { "- \($0)" }
        + ["```"]
    }
    return lines.map { $0 + "\n" }.joined()
  }

  /// One table row per option; the options of a mapping follow it with dotted names.
  private static func rows(_ options: [OptionDescription], below path: String) -> [String] {
    options.flatMap { option -> [String] in
      var initial = option.defaultText.map { $0.isEmpty ? "" : "`\(cell($0))`" } ?? ""
      if option.isRequired { initial = "required" }
      let row =
        "| `\(path)\(option.name)` | \(cell(option.type.name)) | \(initial) | \(cell(option.summary)) |"
      guard let inner = option.type.table else { return [row] }
      return [row] + rows(inner.options, below: "\(path)\(option.name).")
    }
  }

  /// Escapes `|`, which would end the table cell.
  private static func cell(_ text: String) -> String {
    text.replacing("|", with: " \\| ")
  }
}
