import ArgumentParser
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins

struct PipelineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pipeline",
    abstract: "Create, check, explain, draw and test pipeline files.",
    discussion: """
      EXAMPLES
        gqlrun pipeline new mine.pipeline.yaml --from offline
        gqlrun pipeline check mine.pipeline.yaml
        gqlrun pipeline show mine.pipeline.yaml
        gqlrun pipeline explain country.graphql --var code=DE \\
          --pipeline mine.pipeline.yaml
        gqlrun pipeline graph --mermaid mine.pipeline.yaml
        gqlrun pipeline test mine.pipeline.yaml
      """,
    subcommands: [
      Check.self, Show.self, Explain.self, Graph.self, Test.self, Trust.self, New.self, Schema.self,
    ])

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Report all errors in pipeline files, with their source locations.",
      discussion: """
        Does not use the network and starts no programs. GQL_URL need not be set, because --endpoint of \
        `gqlrun run` can replace it. Exit code 78 if there are errors.

        EXAMPLES
          gqlrun pipeline check mine.pipeline.yaml
          gqlrun pipeline check --format github *.pipeline.yaml
        """)

    @ArgumentParser.Argument(help: "Pipeline files.")
    var files: [String]

    @Option(help: ArgumentHelp("Format of the diagnostics.", valueName: "format"))
    var format = FindingFormat.human

    /// Loads the schema that a file names.
    private static func schema(_ path: String) throws -> GQLRunLanguage.Schema {
      do {
        return try SchemaFile.load([path])
      } catch let failure as Failure {
        throw PipelineFileEnvironment.Failure(failure.message)
      }
    }

    func run() async throws {
      var found: [PipelineDiagnostic] = []
      for file in files {
        let diagnostics = PipelineFile.check(
          path: file, registry: .builtIn, environment: .unsent,
          readSchema: Self.schema)
        found += diagnostics.all
        if format != .json { try diagnostics.write(as: format) }
        guard format == .human, diagnostics.all.isEmpty else { continue }
        Terminal.note("\(Terminal.safe(file)): ok")
        if let remark = (try? PipelineFile.look(at: file))?.uploadRemark {
          Terminal.note("\(Terminal.safe(file)): \(remark)")
        }
      }
      // One array for all files.
      if format == .json { try Terminal.write(found.map(\.json).linePerElement) }
      if found.contains(where: { $0.severity == .error }) { throw Failure(.badPipeline, "") }
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Print the chain of a pipeline file with all defaults.",
      discussion: """
        EXAMPLES
          gqlrun pipeline show mine.pipeline.yaml
          gqlrun pipeline show offline
        """)

    @ArgumentParser.Argument(help: "Pipeline file.")
    var file: String

    func run() async throws {
      try Terminal.write(try PipelineFile.inspected(file).show())
    }
  }
}

enum FindingFormat: String, ExpressibleByArgument, CaseIterable {
  case human, json, github
}

extension PipelineDiagnostics {
  /// Prints the diagnostics for people on standard error; nothing if there are none.
  func show() {
    if !all.isEmpty { Terminal.note(rendered(as: .human(colors: Terminal.usesColor))) }
  }

  /// Writes the diagnostics to standard error in the format for people, otherwise to standard output.
  func write(as format: FindingFormat) throws {
    switch format {
    case .human: show()
    case .json: try Terminal.write(rendered(as: .json))
    case .github: try Terminal.write(rendered(as: .github))
    }
  }
}
