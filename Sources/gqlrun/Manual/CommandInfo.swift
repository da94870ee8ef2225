import ArgumentParser
import Foundation
import GQLRunSupport

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

  /// The subcommands, with those that help does not show.
  var allCommands: [CommandInfo] { subcommands ?? [] }
  /// The arguments, with those that help does not show.
  var allArguments: [Argument] { arguments ?? [] }
  /// The subcommands that help shows.
  var shownCommands: [CommandInfo] { allCommands.filter(\.shouldDisplay) }
  /// The arguments that help shows.
  var shownArguments: [Argument] { allArguments.filter(\.shouldDisplay) }
  /// The subcommands that have a manual page.
  var documentedCommands: [CommandInfo] { shownCommands.filter { $0.commandName != "help" } }
  var positionals: [Argument] { shownArguments.filter { $0.kind == .positional } }
  var options: [Argument] { shownArguments.filter { $0.kind != .positional } }

  func subcommand(_ name: String) -> CommandInfo? {
    shownCommands.first { $0.commandName == name }
  }

  func option(_ spelling: String) -> Argument? {
    options.first { $0.spellings.contains(spelling) }
  }

  /// The first option that the command of a command line does not have, with the one that may be meant.
  ///
  /// - Parameter arguments: The command line without the program.
  func unknownOption(in arguments: [String]) -> (name: String, suggestion: String?)? {
    var command = self
    var isValue = false
    for argument in arguments {
      if isValue {
        isValue = false
      } else if argument == "--" {
        return nil
      } else if !argument.hasPrefix("-") || argument == "-" {
        command = command.allCommands.first { $0.commandName == argument } ?? command
      } else {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let spellings = command.allArguments.flatMap(\.spellings)
        var name = String(parts[0])
        // -sv is two flags, of which the last may be an option with a value.
        if !name.hasPrefix("--"), spellings.contains(String(name.prefix(2))) {
          name = "-\(name.suffix(1))"
        }
        guard let option = command.allArguments.first(where: { $0.spellings.contains(name) })
        else {
          let known = spellings.filter { $0.hasPrefix("--") }
          return (name, suggestion(for: name, in: known))
        }
        isValue = parts.count == 1 && option.kind == .option
      }
    }
    return nil
  }

  /// Decodes the declarations of a program.
  static func of(_ root: any ParsableCommand.Type) throws -> CommandInfo {
    struct Dump: Decodable { var command: CommandInfo }
    return try JSONDecoder().decode(Dump.self, from: Data(root._dumpHelp().utf8)).command
  }

  /// Decodes the declarations of the command of a command line. The commands above it have no arguments here, and no
  /// other subcommands: to describe the whole program takes ten times as long.
  ///
  /// - Parameter words: The command line without the program. All of the program is described if it begins with no command.
  static func of(
    _ root: any ParsableCommand.Type, along words: some Sequence<String>
  ) throws -> CommandInfo {
    var path: [any ParsableCommand.Type] = []
    var command = root
    for word in words {
      let next = command.configuration.subcommands.first { $0._commandName == word }
      guard let next else { break }
      path.append(command)
      command = next
    }
    var info = try of(command)
    guard !path.isEmpty else { return info }
    // What the description of a command has as that of a program, and lacks: the command `help`, and the option
    // --version. The last argument is --help.
    info.subcommands?.removeAll { $0.commandName == "help" }
    info.arguments =
      info.allArguments.dropLast() + (try of(Versioned.self)).allArguments.prefix(1)
      + info.allArguments.suffix(1)
    for parent in path.reversed() {
      info = CommandInfo(
        shouldDisplay: parent.configuration.shouldDisplay, commandName: parent._commandName,
        subcommands: [info])
    }
    return info
  }

  /// A command with `--version` and `--help` alone.
  private struct Versioned: ParsableCommand {
    static let configuration = CommandConfiguration(version: "1")
  }
}

/// The environment variables, exit codes and files of the program, for help, topics and manual pages.
enum ProgramReference {
  struct Entry {
    var name: String
    var text: String
    /// The option that a command must have for the entry to apply; `nil` for all commands.
    var option: String?
  }

  static let environment = [
    Entry(name: "GQL_URL", text: "endpoint URL; --endpoint overrides it", option: "--endpoint"),
    Entry(
      name: "GQL_TOKEN", text: "bearer token of auth, and without a pipeline", option: "--token-env"
    ),
    Entry(
      name: "GQL_CACHE", text: "cache of the pipelines offline, fresh, live", option: "--pipeline"),
    Entry(
      name: "GQL_RECORD", text: "mode of the pipeline ci: replay, record, auto",
      option: "--pipeline"),
    Entry(name: "GQL_RECORDING", text: "recording of the pipeline ci", option: "--pipeline"),
    Entry(name: "GQLRUN_ALLOW_EXEC", text: "1 is the same as --allow-exec", option: "--allow-exec"),
    Entry(
      name: "https_proxy, http_proxy", text: "proxy for the URL's scheme", option: "--endpoint"),
    Entry(name: "all_proxy", text: "proxy for both schemes", option: "--endpoint"),
    Entry(name: "no_proxy", text: "hosts to reach without a proxy", option: "--endpoint"),
    Entry(name: "NETRC", text: "file of --netrc; default: ~/.netrc", option: "--netrc"),
    Entry(name: "NO_COLOR", text: "if not empty, no colors"),
    Entry(name: "FORCE_COLOR", text: "if not empty or 0, colors"),
    Entry(name: "CLICOLOR_FORCE", text: "the same"),
    Entry(name: "TERM", text: "dumb: no colors"),
    Entry(name: "XDG_STATE_HOME", text: "folder of the trusted files", option: "--allow-exec"),
    Entry(
      name: "XDG_CACHE_HOME", text: "folder of caches; default: ~/.cache",
      option: "--allow-exec"),
    Entry(name: "HOME", text: "trusted files without XDG_STATE_HOME", option: "--allow-exec"),
    Entry(
      name: "JOB_COMPLETION_INDEX", text: "--shard auto: shard in a Kubernetes job",
      option: "--shard"),
    Entry(name: "JOB_COMPLETIONS", text: "--shard auto: number of shards", option: "--shard"),
    Entry(
      name: "SLURM_ARRAY_TASK_ID", text: "--shard auto: shard in a Slurm array",
      option: "--shard"),
    Entry(
      name: "OTEL_EXPORTER_OTLP_…", text: "collector of traces and metrics: ENDPOINT, HEADERS",
      option: "--metrics-port"),
    Entry(
      name: "OTEL_…", text: "others of OpenTelemetry: docs/guide-telemetry.md",
      option: "--metrics-port"),
    Entry(
      name: "TRACEPARENT, TRACESTATE", text: "trace that the run belongs to",
      option: "--metrics-port"),
    Entry(
      name: "GQLRUN_OTEL_DOCUMENT", text: "1: traces have documents", option: "--metrics-port"),
    Entry(name: "SHELL", text: "shell of --generate-completion-script without a name"),
    Entry(name: "TMPDIR", text: "folder for temporary files; default: /tmp"),
  ]

  static let exitCodes = [
    Entry(name: "0", text: "success"),
    Entry(name: "1", text: "an operation, a check or a comparison failed"),
    Entry(name: "3", text: "the cache has no complete result"),
    Entry(name: "4", text: "the response has GraphQL errors"),
    Entry(
      name: "5", text: "the expression of --jq failed on a result without errors", option: "--jq"),
    Entry(name: "64", text: "the command line is invalid"),
    Entry(name: "65", text: "a document, variable, response or database is invalid"),
    Entry(name: "69", text: "the endpoint is unreachable"),
    Entry(name: "75", text: "stopped by a rate limit or a deadline; try again later"),
    Entry(name: "77", text: "the endpoint refused the credentials"),
    Entry(name: "78", text: "the pipeline file is invalid"),
    Entry(name: "130", text: "interrupted"),
    Entry(name: "141", text: "the reader of standard output closed it, such as head"),
  ]

  static let files = [
    Entry(name: "*.pipeline.yaml", text: "pipeline files", option: "--pipeline"),
    Entry(
      name: "graphql.config.*, .graphqlrc*",
      text: "project file, also of a parent folder"),
    Entry(
      name: "gqlrun-cache.db", text: "default cache of offline, fresh, live", option: "--pipeline"),
    Entry(name: "gqlrun.recording.ndjson", text: "default recording of ci", option: "--pipeline"),
    Entry(
      name: "~/.local/state/gqlrun/trusted", text: "trusted files, with their hashes",
      option: "--allow-exec"),
  ]

  /// The entries as an indented table of two columns.
  static func table(_ entries: [Entry]) -> String {
    var table = TextTable()
    for entry in entries { table.add("  " + entry.name, entry.text) }
    return table.lines.joined(separator: "\n")
  }
}

extension CommandInfo {
  /// The entries that apply to this command. To a command with subcommands, all apply.
  func relevant(_ entries: [ProgramReference.Entry]) -> [ProgramReference.Entry] {
    entries.filter { entry in
      guard let option = entry.option, shownCommands.isEmpty else { return true }
      return self.option(option) != nil
    }
  }
}
