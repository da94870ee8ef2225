import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunPipeline
import GQLRunPlugins

extension PipelineCommand {
  struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print what a pipeline does with one operation, without doing it.",
      discussion: """
        Which plugins it meets, which cache policy holds, what the plan knows, and the HTTP request \
        as the chain builds it, before plugins change it. Reaches no network and starts no program: ${exec:…} is shown as it is written. Without --pipeline the \
        default pipeline is explained.

        EXAMPLE
          gqlrun pipeline explain country.graphql \\
            --pipeline offline.pipeline.yaml --var code=DE
        """)

    @ArgumentParser.Argument(help: "The GraphQL document; - is standard input.")
    var document: String

    @OptionGroup var endpointOptions: EndpointOptions

    @Option(
      name: .long,
      help: ArgumentHelp("When to ask the cache, and when the network.", valueName: "policy"))
    var policy: CachePolicy?

    @OptionGroup var operationOptions: OperationOptions

    func run() async throws {
      try await reporting {
        let pipeline = try endpointOptions.load(
          usesProject: true, fallback: "http://gql-url.invalid/", isLook: true)
        let operation = try operationOptions.prepare(
          document, pipeline: pipeline)
        let request = GraphQLRequest(operation, cachePolicy: policy)
        try Terminal.write(
          "\(Terminal.safe(operation.label)) of \(Terminal.safe(Input.label(document)))\n"
            + pipeline.explanation(of: request))
      }
    }
  }
}
