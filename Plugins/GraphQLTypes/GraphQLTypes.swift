import Foundation
import PackagePlugin

/// Generates the types of a target's operations whenever the target is built.
///
/// The target has a `graphql.config.yml`. The types are in one file of the build folder; nothing is
/// written into the package.
@main
struct GraphQLTypes: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let configuration = target.directoryURL.appending(path: "graphql.config.yml")
    guard FileManager.default.fileExists(atPath: configuration.path) else {
      Diagnostics.error(
        "the target \(target.name) uses the plugin GraphQLTypes and has no graphql.config.yml; add it to "
          + target.directoryURL.path)
      return []
    }
    let output = context.pluginWorkDirectoryURL.appending(path: "GraphQLTypes.swift")
    return [
      .buildCommand(
        displayName: "Generating the GraphQL types of \(target.name)",
        executable: try context.tool(named: "gqlrun-generate").url,
        arguments: ["--config", configuration.path, "--single-file", output.path],
        inputFiles: [configuration] + documents(of: context.package.directoryURL),
        outputFiles: [output])
    ]
  }

  /// The schemas and documents of the package: a change of one generates again.
  private func documents(of folder: URL) -> [URL] {
    let files = FileManager.default.enumerator(
      at: folder, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
    return (files?.compactMap { $0 as? URL } ?? [])
      .filter { ["graphql", "graphqls", "gql"].contains($0.pathExtension) }
      .sorted { $0.path < $1.path }
  }
}
