import Foundation
import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins

/// Runs a document through a pipeline file that may name the plugin `tenant`:
///
///     my-gqlrun tenant.pipeline.yaml country.graphql acme
@main struct MyRunner {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count == 4 else {
      print("usage: my-gqlrun PIPELINE DOCUMENT TENANT")
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

  static func run(pipeline path: String, document: String, tenant: String) async throws {
    // One line adds the plugin.
    var registry = PluginRegistry.builtIn
    registry.register(TenantPlugin.self)

    let pipeline = try PipelineFile.load(path: path, registry: registry).pipeline
    guard let text = try? String(contentsOfFile: document, encoding: .utf8) else {
      FileHandle.standardError.write(Data("cannot read the document \(document)\n".utf8))
      exit(66)
    }
    let operation = try PreparedOperation(document: Document(parsing: text), keys: pipeline.keys)
    let transport = AsyncHTTPTransport(userAgent: "my-gqlrun")
    let runner = PipelineRunner(
      pipeline, services: Services(transport: transport, store: MemoryStore()))
    var request = GraphQLRequest(operation)
    request.context.named["tenant"] = tenant
    do {
      for try await response in runner.execute(request) {
        try response.forEachChunk { FileHandle.standardOutput.write(Data($0)) }
        print()
      }
      await transport.shutdown()
    } catch {
      await transport.shutdown()
      throw error
    }
  }
}
