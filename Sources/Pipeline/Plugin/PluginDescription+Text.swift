extension PluginDescription {
  /// The description as `gqlrun plugins NAME` prints it.
  public var text: String {
    var lines = [
      "\(name) — \(summary)", "", "\(placement.kind.rawValue), stage \(placement.stageText)",
    ]
    lines += ["", documentation.use, "", documentation.position]
    if !options.isEmpty {
      lines += ["", "options:"] + Self.rows(options, indent: "  ")
    }
    lines += ["", "example:", "  - \(documentation.example)", "", documentation.narration]
    if !documentation.moreExamples.isEmpty {
      lines += ["", "more examples:"] + documentation.moreExamples.map { "  - \($0)" }
    }
    return lines.map { $0 + "\n" }.joined()
  }

  private static func rows(_ options: [OptionDescription], indent: String) -> [String] {
    options.flatMap { option -> [String] in
      var remarks: [String] = []
      if option.isRequired { remarks.append("required") }
      if let text = option.defaultText, text != "{}" {
        remarks.append("default \(text.isEmpty ? "empty" : text)")
      }
      if option.secrecy == .secret { remarks.append("secret") }
      let suffix = remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))"
      let row =
        "\(indent)\(option.name): \(option.type.name)\(suffix)\n\(indent)    \(option.summary)"
      guard case .object(let inner) = option.type else { return [row] }
      return [row] + rows(inner, indent: indent + "    ")
    }
  }
}
