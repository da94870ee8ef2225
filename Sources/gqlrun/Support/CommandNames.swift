import ArgumentParser
import GQLRunLanguage
import GQLRunSupport

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
