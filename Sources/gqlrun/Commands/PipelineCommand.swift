import ArgumentParser
import Pipeline
import Plugins

struct PipelineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pipeline",
    abstract: "Check pipeline files, and see what they mean.",
    discussion: """
      EXAMPLES
        gqlrun pipeline check pipelines/*.pipeline.yaml
        gqlrun pipeline show pipelines/offline.pipeline.yaml
      """,
    subcommands: [Check.self, Show.self])

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Report everything that is wrong with pipeline files, with its place.",
      discussion: """
        Reaches no network and runs no command. The variable GQL_URL need not be set: --endpoint of \
        `gqlrun run` can stand for it. Exit code 78 when there are errors.

        EXAMPLES
          gqlrun pipeline check pipelines/*.pipeline.yaml
          gqlrun pipeline check --format github pipelines/*.pipeline.yaml
        """)

    @Argument(help: "The pipeline files.")
    var files: [String]

    @Option(name: .long, help: ArgumentHelp("How findings are written.", valueName: "format"))
    var format = FindingFormat.human

    func run() async throws {
      try await reporting {
        var hasErrors = false
        var rows: [String] = []
        for file in files {
          let diagnostics = PipelineFile.check(
            path: file, registry: .builtIn, environment: .unsent)
          if !diagnostics.errors.isEmpty { hasErrors = true }
          switch format {
          case .json:
            // One array for all files: the rows between the brackets of each.
            rows += diagnostics.rendered(as: .json).split(separator: "\n")
              .filter { $0.hasPrefix("  ") }
              .map { String($0.last == "," ? $0.dropLast() : $0) }
          case .github: try Terminal.write(diagnostics.rendered(as: .github))
          case .human:
            if diagnostics.all.isEmpty {
              Terminal.note("\(Terminal.safe(file)): ok")
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
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the chain of a pipeline file with all defaults filled in.",
      discussion: """
        EXAMPLE
          gqlrun pipeline show pipelines/offline.pipeline.yaml
        """)

    @Argument(help: "The pipeline file.")
    var file: String

    func run() async throws {
      try await reporting {
        let loaded = try PipelineFile.load(
          path: file, registry: .builtIn, environment: .unsent)
        if !loaded.warnings.warnings.isEmpty {
          Terminal.note(loaded.warnings.rendered(as: .human(colors: Terminal.usesColor)))
        }
        try Terminal.write(loaded.pipeline.show())
      }
    }
  }
}

enum FindingFormat: String, ExpressibleByArgument, CaseIterable {
  case human, json, github
}
