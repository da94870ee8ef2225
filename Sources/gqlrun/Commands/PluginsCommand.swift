import ArgumentParser
import Pipeline
import Plugins

struct PluginsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plugins", abstract: "List the plugins of pipeline files, or explain one.")

  @Argument(help: "The plugin to explain.")
  var name: String?

  func run() async throws {
    try await reporting {
      let registry = PluginRegistry.builtIn
      guard let name else {
        let width = registry.names.map(\.count).max() ?? 0
        for plugin in registry.descriptions {
          try Terminal.write("\(Format.padded(plugin.name, width))  \(plugin.summary)\n")
        }
        return
      }
      guard let plugin = registry[name] else {
        let meant = registry.suggestion(for: name).map { "; did you mean \($0)?" } ?? ""
        throw Failure(
          .usage,
          "there is no plugin \(name)\(meant) The plugins are \(registry.names.joined(separator: ", "))")
      }
      try Terminal.write(plugin.description.text)
    }
  }
}
