import ArgumentParser
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

    @Option(name: .long, help: ArgumentHelp("Format of the diagnostics.", valueName: "format"))
    var format = FindingFormat.human

    /// Loads the schema that a file names.
    private static func schema(_ path: String) throws -> GQLRunLanguage.Schema {
      do {
        return try SchemaFile.load([path])
      } catch let failure as Failure {
        throw PipelineFileEnvironment.Failure(failure.message)
      }
    }

    /// What the valid file does with requests that send files, unless it sends them like others.
    private static func uploadRemark(_ file: String) -> String? {
      let loaded = try? PipelineFile.load(
        path: file, registry: .builtIn, environment: .unsent.withPlaceholders)
      return loaded?.pipeline.uploadRemark
    }

    func run() async throws {
      var hasErrors = false
      var rows: [String] = []
      for file in files {
        let diagnostics = PipelineFile.check(
          path: file, registry: .builtIn, environment: .unsent,
          readSchema: Self.schema)
        if !diagnostics.errors.isEmpty { hasErrors = true }
        switch format {
        case .json:
          // One array for all files: joins the rows between the brackets of each.
          rows += diagnostics.rendered(as: .json).split(separator: "\n")
            .filter { $0.hasPrefix("  ") }
            .map { String($0.last == "," ? $0.dropLast() : $0) }
        case .github: try Terminal.write(diagnostics.rendered(as: .github))
        case .human:
          if diagnostics.all.isEmpty {
            Terminal.note("\(Terminal.safe(file)): ok")
            if let remark = Self.uploadRemark(file) {
              Terminal.note("\(Terminal.safe(file)): \(remark)")
            }
          } else {
            Terminal.note(diagnostics.rendered(as: .human(colors: Terminal.usesColor)))
          }
        }
      }
      if format == .json {
        try Terminal.write(
          rows.isEmpty ? "[]\n" : "[\n" + rows.joined(separator: ",\n") + "\n]\n")
      }
      if hasErrors { throw Failure(.badPipeline, "") }
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
      try Terminal.write(try PipelineCommand.load(file).show())
    }
  }
}

extension PipelineCommand {
  /// Loads a file to inspect it, and prints its warnings. Starts no programs.
  ///
  /// - Parameter runsPrograms: Whether to expand `${exec:…}` all the same.
  static func load(_ file: String, runsPrograms: Bool = false) throws -> Pipeline {
    let environment = PipelineFileEnvironment.unsent
    let loaded = try PipelineFile.load(
      path: ReadyMade.path(for: file), registry: .builtIn,
      environment: runsPrograms ? environment : environment.withPlaceholders)
    if !loaded.warnings.warnings.isEmpty {
      Terminal.note(loaded.warnings.rendered(as: .human(colors: Terminal.usesColor)))
    }
    return loaded.pipeline
  }
}

enum FindingFormat: String, ExpressibleByArgument, CaseIterable {
  case human, json, github
}
