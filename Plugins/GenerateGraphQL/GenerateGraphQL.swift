import Foundation
import PackagePlugin

/// `swift package generate-graphql`: writes the types of the package's operations.
@main
struct GenerateGraphQL: CommandPlugin {
  func performCommand(context: PluginContext, arguments: [String]) throws {
    let process = Process()
    process.executableURL = try context.tool(named: "gqlrun-generate").url
    process.arguments = arguments
    process.currentDirectoryURL = context.package.directoryURL
    try process.run()
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      // The program has printed the reasons.
      Diagnostics.error("no types were generated")
      return
    }
  }
}
