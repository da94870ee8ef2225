import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunPipeline
import GQLRunPlugins

extension PipelineCommand {
  struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "explain",
      abstract: "Explain what a pipeline does with an operation, without sending it.",
      discussion: """
        Prints the plugins of the chain, the fetch policy, the plan of the operation, and the HTTP \
        request before plugins change it. Does not use the network and starts no programs: ${exec:…} is \
        not expanded. Without --pipeline, explains the default pipeline.

        EXAMPLE
          gqlrun pipeline explain country.graphql --var code=DE \\
            --pipeline mine.pipeline.yaml
        """)

    @OptionGroup var documentOptions: DocumentOptions

    @OptionGroup var endpointOptions: EndpointOptions

    @Option(
      name: .long,
      help: ArgumentHelp("Fetch policy: whether cache or network answers.", valueName: "policy"))
    var policy: CachePolicy?

    @OptionGroup var operationOptions: OperationOptions

    func run() async throws {
      try await reporting {
        let pipeline = try endpointOptions.load(
          usesProject: true, fallback: Endpoint.unsentURL, isLook: true)
        let source = try documentOptions.source()
        let operation = try operationOptions.prepare(source, pipeline: pipeline)
        let request = GraphQLRequest(operation, cachePolicy: policy)
        try Terminal.write(
          "\(Terminal.safe(operation.label)) of \(Terminal.safe(source.label))\n"
            + pipeline.explanation(of: request))
      }
    }
  }
}
