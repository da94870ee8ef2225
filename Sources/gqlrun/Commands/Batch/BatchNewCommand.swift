import ArgumentParser
import Foundation
import GQLRunBatch
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

extension BatchCommand {
  struct New: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "new",
      abstract: "Write a new manifest, with comments.",
      discussion: """
        The manifest passes `gqlrun batch check` as written. Without a document it runs a query of the \
        demo server (`gqlrun serve --port 4000`). An existing file is not changed.

        EXAMPLES
          gqlrun batch new
          gqlrun batch new countries --document country.graphql --rows codes.csv
          gqlrun batch new all --document country.graphql --sink out/all.csv
        """)

    @Argument(help: "File to write; its name ends in .batch.yaml.")
    var file = "new.batch.yaml"

    @Option(help: ArgumentHelp("Document with the operation.", valueName: "file"))
    var document: String?

    @Option(
      help: ArgumentHelp("Operation of a document with several operations.", valueName: "name"))
    var operation: String?

    @Option(
      help: ArgumentHelp(
        "Rows (\(NewManifest.rowExtensions.joined(separator: ", "))); columns fill the variables of the same name.",
        valueName: "file"))
    var rows: String?

    @Option(
      help: ArgumentHelp(
        "Output in the manifest's folder (\(NewManifest.sinkExtensions.joined(separator: ", "))), or - for standard output.",
        valueName: "file"))
    var sink: String?

    @Option(
      name: .shortAndLong,
      help: EndpointArguments.endpointHelp("by default GQL_URL or the demo server"))
    var endpoint: String?

    func run() async throws {
      guard operation == nil || document != nil else {
        throw Failure(.usage, "--operation needs --document")
      }
      let endpoint = endpoint.map { EndpointArguments.withScheme($0) }
      if let endpoint { try EndpointArguments.check(endpoint, "--endpoint") }
      let suffix = ".batch.yaml"
      let path = FilePath.yamlFile(file, kind: "batch")
      let url = URL(fileURLWithPath: path)
      let name = url.lastPathComponent.dropLast(suffix.count)
      guard !name.isEmpty else {
        throw Failure(.usage, "\(path) has no name in front of \(suffix)")
      }
      var manifest = NewManifest(
        name: String(name),
        folder: path.contains("/") ? url.deletingLastPathComponent().path : ".")
      manifest.endpoint = endpoint
      manifest.document = document
      manifest.operation = operation
      manifest.rows = rows
      manifest.sink = sink
      let text: String
      do {
        text = try manifest.text()
        _ = try ManifestLoader.load(
          Array(text.utf8), path: path, registry: .builtIn,
          environment: .unsent.withPlaceholders)
      } catch let found as PipelineDiagnostics {
        found.show()
        throw Failure(.badInput, "no manifest is written: it would have these errors")
      } catch {
        throw Failure(.badInput, "\(error)")
      }
      try NewFile.create(path, text)
      let word = Terminal.safe(QuotedText.shellPath(path))
      Terminal.note(
        "wrote \(Terminal.safe(path)); next steps:\n  gqlrun batch check \(word)\n"
          + "  gqlrun batch run \(word)")
    }
  }
}
