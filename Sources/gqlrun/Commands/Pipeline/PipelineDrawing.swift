import ArgumentParser
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins

extension PipelineCommand {
  struct Graph: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Draw the chain of a pipeline file, as text for Graphviz or Mermaid.",
      discussion: """
        EXAMPLES
          gqlrun pipeline graph --mermaid pipelines/offline.pipeline.yaml
          gqlrun pipeline graph --dot pipelines/offline.pipeline.yaml | \\
            dot -Tsvg > offline.svg
        """)

    enum Format: String, EnumerableFlag {
      case mermaid, dot

      static func help(for value: Format) -> ArgumentHelp? {
        switch value {
        case .mermaid: "For Mermaid, which GitHub draws in Markdown."
        case .dot: "For Graphviz."
        }
      }
    }

    @Argument(help: "The pipeline file.")
    var file: String

    @Flag(exclusivity: .exclusive)
    var format = Format.mermaid

    func run() async throws {
      try await reporting {
        try Terminal.write(
          try PipelineCommand.load(file).graph(format == .dot ? .dot : .mermaid))
      }
    }
  }

  struct Schema: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the JSON Schema of pipeline files, for editors.",
      discussion: """
        An editor that knows it completes and checks pipeline files as they are written. With the \
        YAML extension of Visual Studio Code, begin a file with:
          # yaml-language-server: $schema=pipeline.schema.json

        EXAMPLE
          gqlrun pipeline schema > pipeline.schema.json
        """)

    func run() async throws {
      try await reporting {
        try Terminal.write(PipelineFile.schema(.builtIn).jsonText(pretty: true) + "\n")
      }
    }
  }
}
