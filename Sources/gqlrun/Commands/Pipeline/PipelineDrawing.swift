import ArgumentParser
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins

extension PipelineCommand {
  struct Graph: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "graph",
      abstract: "Print the chain of a pipeline file as a diagram for Mermaid or Graphviz.",
      discussion: """
        EXAMPLES
          gqlrun pipeline graph --mermaid mine.pipeline.yaml
          gqlrun pipeline graph --dot offline > offline.dot
        """)

    enum Format: String, EnumerableFlag {
      case mermaid, dot

      static func help(for value: Format) -> ArgumentHelp? {
        switch value {
        case .mermaid: "Mermaid, which GitHub renders in Markdown."
        case .dot: "Graphviz."
        }
      }
    }

    @Argument(help: "Pipeline file.")
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
      commandName: "schema",
      abstract: "Print the JSON Schema of pipeline files, for editors.",
      discussion: """
        With the schema, an editor completes and checks pipeline files. For the YAML extension of Visual \
        Studio Code, begin a file with:

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
