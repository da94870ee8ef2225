import ArgumentParser
import Foundation

@main
struct RootCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gqlrun",
    abstract: "A GraphQL client: declared pipelines, a normalized cache, responses of any size.",
    discussion: """
      Results go to standard output as JSON, everything else to standard error.

      START HERE
        gqlrun demo                             see what it does, without a server
        gqlrun serve --port 4000                a server to try things on
        gqlrun run FILE.graphql --endpoint URL  run an operation

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
        141  nobody reads standard output any more
      """,
    version: "gqlrun \(Version.current)",
    subcommands: [
      RunCommand.self, BatchCommand.self, DemoCommand.self, ServeCommand.self, PipelineCommand.self,
      PluginsCommand.self, CacheCommand.self, FormatCommand.self,
      ValidateCommand.self, SchemaCommand.self, OperationsCommand.self, ManifestCommand.self,
      LogoutCommand.self,
      ProfileCommand.self, ProfileRunCommand.self,
    ])

  static func main() async {
    StandardDescriptors.prepare()
    do {
      try StandardDescriptors.expectRoom()
      try CommandNames.check(Array(CommandLine.arguments.dropFirst()), root: self)
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      exit(with: error)
    }
  }

  /// Reports an error and exits.
  private static func exit(with error: any Error) -> Never {
    if let failure = error as? Failure {
      Terminal.error(failure.message)
      Foundation.exit(failure.status.rawValue)
    }
    let code = exitCode(for: error)
    let text = fullMessage(for: error)
    if code.isSuccess {
      // Help and version are results. A closed output needs no message.
      do { try Terminal.write(text + "\n") } catch { Foundation.exit(141) }
    } else if !text.isEmpty {
      var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
      for (label, ours) in [("Error: ", ""), ("Help:  ", "help:  "), ("Usage: ", "usage: ")] {
        for index in lines.indices where lines[index].hasPrefix(label) {
          lines[index] = ours + lines[index].dropFirst(label.count)
        }
      }
      Terminal.error(lines.joined(separator: "\n"))
    }
    Foundation.exit(code.rawValue)
  }
}

enum Version {
  static let current = "0.1.0"
}
