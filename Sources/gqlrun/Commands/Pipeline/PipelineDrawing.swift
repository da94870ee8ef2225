public import ArgumentParser
import GQLRunCache
import GQLRunJSON
public import GQLRunPipeline
import GQLRunPlugins

extension PipelineCommand {
  struct Graph: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "graph",
      abstract:
        "Print the chain of a pipeline file as a picture, or as a diagram for Mermaid or Graphviz.",
      discussion: """
        EXAMPLES
          gqlrun pipeline graph --mermaid mine.pipeline.yaml
          gqlrun pipeline graph --dot offline > offline.dot
          gqlrun pipeline graph --svg offline > offline.svg
        """)

    @Argument(help: "Pipeline file.")
    var file: String

    @Flag(exclusivity: .exclusive)
    var format = Pipeline.GraphFormat.mermaid

    func run() async throws {
      var pipeline = try PipelineFile.inspected(file)
      // Drawn as a server without an address.
      if pipeline.endpoint?.isUnsent == true { pipeline.endpoint = nil }
      try Terminal.write(pipeline.graph(format))
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
      try Terminal.write(PipelineFile.schema(.builtIn).jsonText(pretty: true) + "\n")
    }
  }
}

extension PipelineCommand {
  struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "explain",
      abstract: "Explain what a pipeline does with an operation, without sending it.",
      discussion: """
        Prints the plugins of the chain, the fetch policy, the plan of the operation, and the HTTP \
        request as apq and on_error change it. What other plugins change, such as headers and \
        token-refresh, is not shown; a line names them. Does not use the network and starts no \
        programs: ${exec:…} is not expanded. Without --pipeline, explains the default pipeline.

        EXAMPLE
          gqlrun pipeline explain country.graphql --var code=DE \\
            --pipeline mine.pipeline.yaml
        """)

    @OptionGroup var documentOptions: DocumentOptions

    @OptionGroup var endpointOptions: EndpointArguments
    @OptionGroup var requestOptions: RequestOptions
    @OptionGroup var trustOptions: TrustOptions

    @Option(
      help: ArgumentHelp("Fetch policy: whether cache or network answers.", valueName: "policy"))
    var policy: CachePolicy?

    @OptionGroup var operationOptions: OperationOptions

    func run() async throws {
      let pipeline = try endpointOptions.load(
        request: requestOptions, trust: trustOptions, usesProject: true, isLook: true)
      let source = try documentOptions.source()
      let operation = try operationOptions.prepare(source, pipeline: pipeline)
      let request = GraphQLRequest(operation, cachePolicy: policy)
      try Terminal.write(
        "\(Terminal.safe(operation.label)) of \(Terminal.safe(source.label))\n"
          + pipeline.shownExplanation(of: request))
    }
  }
}

extension Pipeline.GraphFormat: EnumerableFlag {
  /// The formats in the order of their flags.
  public static var allCases: [Self] { [.mermaid, .dot, .svg] }

  /// The help of a format's flag.
  public static func help(for value: Self) -> ArgumentHelp? {
    switch value {
    case .mermaid: "Mermaid, which GitHub renders in Markdown."
    case .dot: "Graphviz."
    case .svg: "A picture, in light or dark colors as the reader prefers."
    }
  }
}
