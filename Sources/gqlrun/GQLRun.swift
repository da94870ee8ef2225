import ArgumentParser

@main
struct GQLRun: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gqlrun",
    abstract: "A GraphQL client: declared pipelines, a normalized cache, responses of any size.",
    discussion: """
      Results go to standard output as JSON, everything else to standard error.

      EXIT CODES
        0    all is well
        1    an operation failed, or what was asked for is not there
        3    the cache has no answer (policy cache-only, cache read)
        4    the response has GraphQL errors
        64   the command line cannot be read
        65   a document, its variables, a response file or a database cannot be used
        69   the endpoint cannot be reached
        75   stopped by a limit of the server or a deadline; try again later
        77   the endpoint refuses the credentials
        78   the pipeline file cannot be used
        130  interrupted
      """,
    version: "gqlrun \(Version.current)",
    subcommands: [
      RunCommand.self, DemoCommand.self, ServeCommand.self, PipelineCommand.self,
      PluginsCommand.self, CacheCommand.self, FormatCommand.self,
      ValidateCommand.self, SchemaCommand.self, ManifestCommand.self,
    ])
}

enum Version {
  static let current = "0.1.0"
}
