import ArgumentParser
import Testing

@testable import gqlrun

/// Help as it stands in the program, for every command.
@Suite("Help texts")
struct HelpTextTests {
  /// The commands below `command`, with their full names.
  private static func commands(
    _ command: any ParsableCommand.Type = RootCommand.self, _ name: String = "gqlrun"
  ) -> [(name: String, configuration: CommandConfiguration)] {
    [(name, command.configuration)]
      + command.configuration.subcommands.flatMap {
        commands($0, name + " " + ($0.configuration.commandName ?? "\($0)".lowercased()))
      }
  }

  @Test("examples and tables fit into 80 columns, so that they can be copied as they stand")
  func width() {
    let wide = Self.commands().flatMap { command in
      command.configuration.discussion.split(separator: "\n")
        // Text is wrapped; what is indented must not be.
        .filter { $0.hasPrefix("  ") && $0.count > 80 }
        .map { "\(command.name): \($0)" }
    }
    #expect(wide == [])
  }

  @Test(
    "every command says in one sentence what it does, and examples name commands that are there")
  func sentences() {
    let commands = Self.commands()
    let names = Set(commands.map(\.name))
    for command in commands {
      #expect(command.configuration.abstract.hasSuffix("."), "\(command.name)")
      for line in command.configuration.discussion.split(separator: "\n") {
        guard line.hasPrefix("  gqlrun ") else { continue }
        let words = line.split(separator: " ").prefix { !$0.hasPrefix("-") && $0 != "…" }
        #expect(
          words.indices.contains { names.contains(words[...$0].joined(separator: " ")) && $0 > 0 },
          "\(command.name): \(line)")
      }
    }
  }
}
