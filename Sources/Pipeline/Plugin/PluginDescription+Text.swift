extension PluginDescription {
  /// The description as `gqlrun plugins show` prints it.
  public var text: String {
    var lines = [
      "\(name) — \(summary)", "",
      "\(kind.rawValue), stage \(stages.map(\.rawValue).joined(separator: " and "))",
    ]
    if !options.isEmpty {
      lines += ["", "options:"] + Self.rows(options, indent: "  ")
    }
    if !examples.isEmpty {
      lines += ["", "examples:"] + examples.map { "  - \($0)" }
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
