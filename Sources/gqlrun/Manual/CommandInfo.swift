import ArgumentParser
import Foundation

/// A command as it is declared: name, help texts and arguments, with its subcommands.
///
/// Decoded from the JSON that swift-argument-parser prints for `--experimental-dump-help`.
struct CommandInfo: Decodable {
  struct Argument: Decodable {
    enum Kind: String, Decodable { case positional, option, flag }

    struct Name: Decodable {
      var kind: String
      var name: String

      /// The name as it is typed, such as `--store` or `-o`.
      var text: String { (kind == "long" ? "--" : "-") + name }
    }

    var kind: Kind
    var shouldDisplay: Bool
    var isOptional: Bool
    var isRepeating: Bool
    var names: [Name]?
    var valueName: String?
    var defaultValue: String?
    /// The values that the argument accepts; `nil` if they are not an enumeration.
    var allValues: [String]?
    var abstract: String?

    /// The names as they are typed, the short one first.
    var spellings: [String] {
      (names ?? []).map(\.text).sorted { $0.count < $1.count }
    }
  }

  var shouldDisplay: Bool
  var commandName: String
  var abstract: String?
  var discussion: String?
  private var subcommands: [CommandInfo]?
  private var arguments: [Argument]?

  /// The subcommands that help shows.
  var shownCommands: [CommandInfo] { (subcommands ?? []).filter(\.shouldDisplay) }
  /// The arguments that help shows.
  var shownArguments: [Argument] { (arguments ?? []).filter(\.shouldDisplay) }
  var positionals: [Argument] { shownArguments.filter { $0.kind == .positional } }
  var options: [Argument] { shownArguments.filter { $0.kind != .positional } }

  func subcommand(_ name: String) -> CommandInfo? {
    shownCommands.first { $0.commandName == name }
  }

  func option(_ spelling: String) -> Argument? {
    options.first { $0.spellings.contains(spelling) }
  }

  /// Decodes the declarations of a program.
  static func of(_ root: any ParsableCommand.Type) throws -> CommandInfo {
    struct Dump: Decodable { var command: CommandInfo }
    return try JSONDecoder().decode(Dump.self, from: Data(root._dumpHelp().utf8)).command
  }
}
