import GQLRunPlugins
import Testing

@testable import GQLRunPipeline

/// The options of a plugin with their defaults, as `plugins show` has them.
func optionTable(_ plugin: any Plugin.Type) -> [String: String?] {
  Dictionary(uniqueKeysWithValues: plugin.optionDescriptions.map { ($0.name, $0.defaultText) })
}

/// A chain with an entry at the position that the placement of its plugin asks for.
func chain(with entry: String) -> String {
  let name = String(entry.prefix { $0 != ":" })
  var entries = ["cache-read", "fetch", "response-code", "parse", "cache-write"]
  if let index = entries.firstIndex(of: name) {
    entries[index] = entry
  } else {
    let plugin = PluginRegistry.builtIn[name]?.init()
    if plugin?.traits.contains(.restarts) == true { entries.insert("max-retry", at: 0) }
    entries.insert(entry, at: plugin?.placement.firstIndex(in: entries) ?? 0)
  }
  return entries.map { "- \($0)" }.joined(separator: "\n")
}

extension Placement {
  /// The first index among the entries of a chain that is below those which the rules name and, for a
  /// plugin of HTTP or parsing, below the stages of results and of the cache.
  fileprivate func firstIndex(in entries: [String]) -> Int {
    let plugins = entries.compactMap { PluginRegistry.builtIn[$0]?.init() }
    let stage = isBelowCache ? plugins.firstIndex(where: \.placement.isBelowCache) : nil
    let others = rules.compactMap { rule -> Int? in
      guard case .below(let alternatives) = rule.condition else { return nil }
      for traits in alternatives {
        let index = plugins.firstIndex { $0.traits.intersects(traits) }
        if let index { return index + 1 }
      }
      return nil
    }
    return max(stage ?? 0, others.max() ?? 0)
  }
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
