import ArgumentParser
import Foundation
import GQLRunSupport

@main
struct RootCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gqlrun",
    abstract: "A GraphQL client: declared pipelines, a normalized cache, responses of any size.",
    discussion: """
      Prints results to standard output as JSON, and everything else to standard error.

      EXAMPLES
        gqlrun demo
        gqlrun serve
        gqlrun run country.graphql --var code=DE \\
          --endpoint http://127.0.0.1:8080/graphql

      TOPICS
        gqlrun help topics          list the topics, such as pipelines and secrets
        gqlrun help environment     print one of them

      SHELL COMPLETION
        gqlrun --generate-completion-script bash    print a script; also zsh and fish
        gqlrun help completion                      where to put it

      ENVIRONMENT
      \(ProgramReference.table(ProgramReference.environment))

      EXIT CODES
      \(ProgramReference.table(ProgramReference.exitCodes))
      """,
    version: version,
    subcommands: [
      RunCommand.self, ExtractCommand.self, BatchCommand.self, DemoCommand.self, ServeCommand.self,
      PipelineCommand.self,
      PluginsCommand.self, DoctorCommand.self, CacheCommand.self, InspectCommand.self,
      FormatCommand.self,
      ValidateCommand.self, SchemaCommand.self, OperationsCommand.self, GenerateCommand.self,
      ManifestCommand.self, LogoutCommand.self, ProfileCommand.self, ProfileRunCommand.self,
      JQRunCommand.self,
      CompleteCommand.self, ManualCommand.self,
    ])

  private static let version = "gqlrun \(Version.current)"

  static func main() async {
    StandardDescriptors.prepare()
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      // Answered without the parser, which first describes all commands.
      if arguments == ["--version"] { return try Terminal.write(version + "\n") }
      try StandardDescriptors.expectRoom()
      if let page = HelpTopic.page(for: arguments) { return try Terminal.write(page) }
      let login = EnvironmentVariables.value(of: "SHELL")
      if let script = try CompletionScript.requested(by: arguments, login: login) {
        return try Terminal.write(script)
      }
      try CommandNames.check(arguments, root: self)
      var command = try parseAsRoot()
      if let command = command as? any AsyncParsableCommand {
        try await ProgramTelemetry.run(command)
      } else {
        try command.run()
      }
    } catch {
      exit(with: error)
    }
  }

  /// Reports an error and exits.
  private static func exit(with error: any Error) -> Never {
    // The reader closed standard output; there is nowhere to report to.
    if error is ClosedOutput { Foundation.exit(141) }
    if let failure = error as? Failure {
      Terminal.error(failure.message)
      Foundation.exit(failure.status.rawValue)
    }
    let code = exitCode(for: error)
    var text = fullMessage(for: error)
    if code == .validationFailure { text = namingUnknownOption(in: text) }
    text = hidingPasswords(in: text)
    if code.isSuccess {
      // Help and the version are results.
      do { try Terminal.write(text + "\n") } catch { exit(with: error) }
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

  /// Replaces a message of the parser by that of an unknown option, if there is one. The parser reports what is missing
  /// first: a missing document for `--qury=…`.
  private static func namingUnknownOption(in text: String) -> String {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard !text.hasPrefix("Error: Unknown option"),
      let unknown = (try? CommandInfo.of(self, along: arguments))?.unknownOption(in: arguments)
    else { return text }
    let meant = unknown.suggestion.map { ". Did you mean '\($0)'?" } ?? ""
    let usage = text.firstRange(of: "\nUsage: ").map { String(text[$0.lowerBound...]) } ?? ""
    return "Error: Unknown option '\(unknown.name)'\(meant)\(usage)"
  }

  /// Hides passwords of URLs, also of mistyped ones: the parser repeats arguments that it refuses.
  private static func hidingPasswords(in text: String) -> String {
    CommandLine.arguments.filter {
      // Others with spaces are documents and the like.
      !$0.contains(" ") || $0.contains("://") || $0.contains("password=")
    }.reduce(text) { text, argument in
      var text = text
      if let at = argument.lastIndex(of: "@"),
        let colon = argument[..<at].firstIndex(of: ":"), argument.index(after: colon) < at
      {
        text.replace(argument[argument.index(after: colon)...at], with: "•••@")
      }
      if let start = argument.firstRange(of: "password=")?.upperBound, start < argument.endIndex {
        text.replace("password=" + argument[start...], with: "password=•••")
      }
      return text
    }
  }
}

/// Checks command names before arguments are parsed, to distinguish a misspelled command from a
/// surplus argument.
enum CommandNames {
  static func check(_ arguments: [String], root: any ParsableCommand.Type) throws {
    var command = root
    var path = root._commandName
    for (index, argument) in arguments.enumerated() {
      let subcommands = command.configuration.subcommands
      if argument.hasPrefix("-") || subcommands.isEmpty { return }
      if argument == "help" {
        if index == 0 { continue }
        throw CleanExit.helpRequest(command)
      }
      guard let next = subcommands.first(where: { $0._commandName == argument }) else {
        let names = subcommands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
        let likely =
          names.first { $0.hasPrefix(argument) } ?? suggestion(for: argument, in: names)
        let meant =
          path == root._commandName && ["completion", "completions"].contains(argument)
          ? "; did you mean gqlrun --generate-completion-script SHELL?"
          : likely.map { "; did you mean \($0)?" } ?? ""
        throw Failure(
          .usage,
          "\(path) has no command \(argument)\(meant)\nits commands: \(names.joined(separator: ", "))"
            + (arguments.first == "help" ? "\nits topics: see `gqlrun help topics`" : "")
        )
      }
      command = next
      path += " \(argument)"
    }
  }
}

enum Version {
  static let current = "0.1.0"
}
