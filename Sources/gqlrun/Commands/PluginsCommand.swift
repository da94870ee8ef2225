import ArgumentParser
import GQLRunPipeline
import GQLRunPlugins

struct PluginsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plugins", abstract: "List the plugins of pipeline files, or explain one.",
    discussion: """
      EXAMPLES
        gqlrun plugins
        gqlrun plugins max-retry
      """)

  @ArgumentParser.Argument(help: "The plugin to explain.")
  var name: String?

  @Flag(name: .long, help: "Print everything as Markdown; this is how docs/plugins.md is made.")
  var markdown = false

  func run() async throws {
    try await reporting {
      let registry = PluginRegistry.builtIn
      guard let name else { return try Terminal.write(markdown ? book(registry) : list(registry)) }
      guard let plugin = registry[name] else {
        let meant = registry.suggestion(for: name).map { "; did you mean \($0)?" } ?? ""
        throw Failure(
          .failed,
          "there is no plugin \(name)\(meant)\nthe plugins: \(registry.names.joined(separator: ", "))"
        )
      }
      try Terminal.write(markdown ? plugin.description.markdown : plugin.description.text)
    }
  }

  private func list(_ registry: PluginRegistry) -> String {
    let width = registry.names.map(\.count).max() ?? 0
    return registry.descriptions.map { "\(Format.padded($0.name, width))  \($0.summary)\n" }
      .joined()
  }

  private func book(_ registry: PluginRegistry) -> String {
    let chapters = registry.descriptions.map { "\n" + $0.markdown }.joined()
    return """
      # Plugins

      What the chain of a pipeline file (`docs/guide-pipelines.md`) can be made of. This page is made by
      `gqlrun plugins --markdown > docs/plugins.md`; do not edit it.

      | plugin | what it does |
      |---|---|
      \(registry.descriptions.map { "| [\($0.name)](#\($0.name)) | \($0.summary) |" }
        .joined(separator: "\n"))
      \(chapters)
      """
  }
}
