import GQLRunSupport

extension Pipeline {
  /// The pipeline as `gqlrun pipeline show` prints it: every entry with its options.
  ///
  /// Includes default values. Values are those of the file before expansion; secrets are masked.
  public func show() -> String {
    var lines = ["pipeline \(name ?? "without name")" + (file.map { " (\($0))" } ?? "")]
    if let shown {
      for (name, value) in shown.values where !["version", "name", "tests"].contains(name) {
        lines += Self.rows(name, value, indent: "  ")
      }
    } else {
      lines += endpoint.map { ["  endpoint: \($0.shownURL)"] } ?? []
      lines.append("  store: \(store.kind.rawValue)")
    }
    lines.append("chain")
    for entry in entries { lines += Self.rows(entry) }
    return lines.map { Printable.line($0) + "\n" }.joined()
  }

  private static func rows(_ entry: PipelineEntry) -> [String] {
    var head = "  - \(entry.id)"
    if let name = entry.pluginName, let placement = entry.placement {
      if name != entry.id { head += " (\(name))" }
      head += "  [\(placement.kind.rawValue), \(placement.stageText)]"
    }
    if entry.condition != .always { head += "  when \(entry.condition)" }
    return [head]
      + (entry.options?.values.flatMap { rows($0.name, $0.value, indent: "      ") } ?? [])
  }

  private static func rows(_ name: String, _ value: OptionValue, indent: String) -> [String] {
    if case .object(let options) = value.content {
      return ["\(indent)\(name):"]
        + options.values.flatMap { rows($0.name, $0.value, indent: indent + "  ") }
    }
    if case .map(let entries) = value.content,
      entries.contains(where: { if case .object = $0.value.content { true } else { false } })
    {
      return ["\(indent)\(name):"]
        + entries.flatMap { rows($0.name, $0.value, indent: indent + "  ") }
    }
    let suffix = value.isDefault ? "  (default)" : ""
    return ["\(indent)\(name): \(value.shownText)\(suffix)"]
  }
}
