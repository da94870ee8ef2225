import GQLRunPipeline

extension PluginDescription {
  /// A chapter about the plugin.
  var markdown: String {
    var lines = [
      "## \(name)", "", "\(summary).", "",
      "Kind: \(kind.rawValue). Stage: \(stages.map(\.rawValue).joined(separator: " and ")).",
    ]
    if options.isEmpty {
      lines += ["", "It has no options."]
    } else {
      lines += ["", "| option | value | default | what it does |", "|---|---|---|---|"]
      lines += Self.rows(options, below: "")
    }
    if !examples.isEmpty {
      lines += ["", "```yaml"] + examples.map { "- \($0)" } + ["```"]
    }
    return lines.map { $0 + "\n" }.joined()
  }

  /// A row per option; those of a mapping follow it with dotted names.
  private static func rows(_ options: [OptionDescription], below path: String) -> [String] {
    options.flatMap { option -> [String] in
      var initial = option.defaultText.map { $0.isEmpty ? "" : "`\(cell($0))`" } ?? ""
      if option.isRequired { initial = "required" }
      let row =
        "| `\(path)\(option.name)` | \(cell(option.type.name)) | \(initial) | \(cell(option.summary)) |"
      guard case .object(let inner) = option.type else { return [row] }
      return [row] + rows(inner, below: "\(path)\(option.name).")
    }
  }

  /// Text in a table: a bar would end the cell.
  private static func cell(_ text: String) -> String {
    text.replacing("|", with: " \\| ")
  }
}
