import ArgumentParser
import GQLRunBatch
import GQLRunJSON

extension BatchCommand {
  struct Schema: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "schema",
      abstract: "Print the JSON Schema of manifests, for editors.",
      discussion: """
        An editor with the schema completes and checks manifests. For the YAML extension of Visual \
        Studio Code, start a manifest with this comment:
          # yaml-language-server: $schema=batch.schema.json

        EXAMPLE
          gqlrun batch schema > batch.schema.json
        """)

    func run() async throws {
      try await reporting { try Terminal.write(Manifest.schema.jsonText(pretty: true) + "\n") }
    }
  }
}
