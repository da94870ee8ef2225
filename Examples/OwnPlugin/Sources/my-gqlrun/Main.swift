import Foundation
import GQLRun

/// Runs a document through a pipeline file that may name the plugin `tenant`:
///
///     my-gqlrun tenant.pipeline.yaml country.graphql acme
///
/// or reports all errors in the file, without sending anything:
///
///     my-gqlrun check tenant.pipeline.yaml
@main struct MyRunner {
  static func main() async {
    let arguments = CommandLine.arguments
    if arguments.count == 3, arguments[1] == "check" { exit(check(arguments[2])) }
    guard arguments.count == 4 else {
      print("usage: my-gqlrun PIPELINE DOCUMENT TENANT\n       my-gqlrun check PIPELINE")
      exit(64)
    }
    do {
      try await run(pipeline: arguments[1], document: arguments[2], tenant: arguments[3])
    } catch {
      // Errors of pipeline files come as a compiler's do, with file, line and column.
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  /// Prints the errors and warnings of a file, and returns the exit code.
  static func check(_ path: String) -> Int32 {
    var registry = PluginRegistry.builtIn
    registry.register(TenantPlugin.self)
    registry.register(SlowLogPlugin.self)
    let diagnostics = PipelineFile.check(path: path, registry: registry)
    print(
      diagnostics.all.isEmpty
        ? "\(path): ok" : diagnostics.rendered(as: .human(colors: false)))
    return diagnostics.errors.isEmpty ? 0 : 78
  }

  static func run(pipeline path: String, document: String, tenant: String) async throws {
    var configuration = PipelineClient.Configuration()
    // One line adds the plugin.
    configuration.registry.register(TenantPlugin.self)
    configuration.registry.register(SlowLogPlugin.self)
    // Without a logger, the client and its plugins log nothing.
    configuration.logger = Logger(label: "my-gqlrun")
    configuration.userAgent = "my-gqlrun"

    guard let text = try? String(contentsOfFile: document, encoding: .utf8) else {
      FileHandle.standardError.write(Data("cannot read the document \(document)\n".utf8))
      exit(66)
    }
    let client = try await PipelineClient(file: path, configuration: configuration)
    try await client.shutdown { client in
      var request = GraphQLRequest(try client.prepare(text))
      request.context.named["tenant"] = tenant
      for try await response in client.execute(request) {
        try response.forEachChunk { FileHandle.standardOutput.write(Data($0)) }
        print()
      }
    }
  }
}
