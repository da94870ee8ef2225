import GQLRunPipeline
import Testing

/// The options of a plugin with their defaults, as `plugins show` has them.
func optionTable(_ plugin: any Plugin.Type) -> [String: String?] {
  Dictionary(uniqueKeysWithValues: plugin.optionDescriptions.map { ($0.name, $0.defaultText) })
}

/// A chain in which an entry stands where it belongs.
func chain(with entry: String) -> String {
  let name = entry.prefix { $0 != ":" }
  let others = ["cache-read", "fetch", "response-code", "parse", "cache-write"]
  var entries = others.map { "- \($0 == name ? entry : $0)" }
  if !others.contains(String(name)) {
    // Above the cache read, but for what belongs to HTTP or below it.
    let isBelow = ["headers", "rate-limit", "record-replay", "apq", "http-batch", "cookies"]
      .contains(name)
    entries.insert("- \(entry)", at: isBelow ? 1 : 0)
    if ["apq", "token-refresh"].contains(name) { entries.insert("- max-retry", at: 0) }
  }
  return entries.joined(separator: "\n")
}

/// Whether an entry is accepted, and for a refused one, that the message has `part`.
func expectEntry(
  _ entry: String, refusedWith part: String?, sourceLocation: SourceLocation = #_sourceLocation
) {
  let findings = Bench.findings(chain(with: entry))
  if let part {
    #expect(
      findings.contains { $0.contains(part) }, "findings: \(findings)",
      sourceLocation: sourceLocation)
  } else {
    #expect(findings == [], sourceLocation: sourceLocation)
  }
}
