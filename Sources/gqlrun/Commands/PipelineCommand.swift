import ArgumentParser
import Pipeline
import Plugins

struct PipelineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pipeline",
    abstract: "Check pipeline files, and see what they mean.",
    subcommands: [Check.self, Show.self])

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Report everything that is wrong with pipeline files, with its place.",
      discussion: "Reaches no network and runs no command. Exit code 78 when there are errors.")

    @Argument(help: "The pipeline files.")
    var files: [String]

    @Option(name: .long, help: "How findings are written: human, json or github.")
    var format = FindingFormat.human

    func run() async throws {
      try await reporting {
        guard !files.isEmpty else { throw ValidationError("name at least one pipeline file") }
        var hasErrors = false
        for file in files {
          let diagnostics = PipelineFile.check(path: file, registry: .builtIn)
          if !diagnostics.errors.isEmpty { hasErrors = true }
          switch format {
          case .json, .github:
            try Terminal.write(diagnostics.rendered(as: format == .json ? .json : .github))
          case .human:
            if diagnostics.all.isEmpty {
              Terminal.note("\(file): ok")
            } else {
              Terminal.note(diagnostics.rendered(as: .human(colors: Terminal.usesColor)))
            }
          }
        }
        if hasErrors { throw Failure(.badPipeline, "") }
      }
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the chain of a pipeline file with all defaults filled in.")

    @Argument(help: "The pipeline file.")
    var file: String

    func run() async throws {
      try await reporting {
        var environment = PipelineFileEnvironment.process
        // Showing a file must not depend on where it will be sent to.
        let variable = environment.variable
        environment.variable = { variable($0) ?? ($0 == "GQL_URL" ? "http://GQL_URL/" : nil) }
        let loaded = try PipelineFile.load(
          path: file, registry: .builtIn, environment: environment)
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
