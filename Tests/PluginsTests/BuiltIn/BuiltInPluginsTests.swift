import Foundation
import GQLRunPipeline
import GQLRunPlugins
import Testing

@Suite("Built-in plugins")
struct BuiltInPluginsTests {
  /// The examples of each plugin in `docs/plugins.md`.
  private static func printedExamples() throws -> [String: [String]] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appendingPathComponent("docs/plugins.md"), encoding: .utf8)
    var examples: [String: [String]] = [:]
    var name = ""
    var isExample = false
    for line in page.split(separator: "\n") {
      if line.hasPrefix("## ") {
        name = String(line.dropFirst(3))
        examples[name] = []
      } else if line.hasPrefix("```") {
        isExample = line == "```yaml"
      } else if isExample {
        #expect(line.hasPrefix("- "), "\(name): \(line)")
        examples[name, default: []].append(String(line.dropFirst(2)))
      }
    }
    return examples
  }

  /// What is found about a chain with an entry, in a folder that has the files which examples name.
  private static func findings(_ entry: String) throws -> [String] {
    let folder = NSTemporaryDirectory() + "examples-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let manifest = #"{"format":"apollo-persisted-query-manifest","version":1,"operations":[]}"#
    try Data(manifest.utf8).write(to: URL(fileURLWithPath: folder + "/operations.json"))
    let lines = chain(with: entry).split(separator: "\n").map { "  \($0)\n" }.joined()
    let yaml =
      "version: 1\nendpoint: { url: \"http://localhost/\" }\nstore: { kind: memory }\nchain:\n\(lines)"
    do {
      let loaded = try PipelineFile.load(
        Array(yaml.utf8), file: folder + "/x.pipeline.yaml", registry: .builtIn,
        environment: PipelineFileEnvironment(variable: { $0 == "CI_SECRET" ? "s" : nil }))
      return loaded.warnings.all.map(\.message)
    } catch {
      return error.all.map(\.message)
    }
  }

  @Test("the examples printed in docs/plugins.md are those of the tables")
  func examplesArePrinted() throws {
    let printed = try Self.printedExamples()
    let descriptions = PluginRegistry.builtIn.descriptions
    #expect(Set(printed.keys) == Set(descriptions.map(\.name)))
    for description in descriptions {
      #expect(printed[description.name] == description.examples)
      #expect(!description.examples.isEmpty, "\(description.name)")
    }
  }

  @Test("every example printed in docs/plugins.md can be loaded in a chain")
  func examples() throws {
    let examples = try Self.printedExamples().values.flatMap { $0 }
    #expect(examples.count > 40)
    for example in examples {
      let findings = try Self.findings(example)
      #expect(findings == [], "\(example)")
    }
    // The same way of loading finds what is wrong with one.
    #expect(try Self.findings("timeout: { total: 30 }") != [])
    #expect(try Self.findings("apq: { manifest: absent.json }") != [])
  }

  @Test("ages that are not whole seconds are refused", arguments: ["max_age", "max_stale"])
  func ages(option: String) throws {
    #expect(
      try Self.findings(
        "cache-read: { max_age: 5m, \(option): 100ms }".replacing(
          "max_age: 5m, max_age", with: "max_age"))
        == ["`\(option)` of `cache-read` takes a duration in whole seconds, such as 30s, 5m or 1h"])
  }

  @Test("max-retry is needed above apq only when apq may start the chain again")
  func restarts() {
    let chain = "- fetch\n- response-code\n- parse"
    #expect(Bench.findings("- apq: { persisted_only: true }\n" + chain) == [])
    let found = Bench.findings("- apq\n" + chain)
    #expect(found.contains { $0.contains("bounds the number of restarts") }, "\(found)")
    let allowed = Bench.findings("- apq: { persisted_only: false }\n" + chain)
    #expect(allowed.contains { $0.contains("bounds the number of restarts") }, "\(allowed)")
  }
}
