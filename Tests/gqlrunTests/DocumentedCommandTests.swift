import GQLRunBatch
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import Testing

@testable import gqlrun

/// The command lines in the documents, beside the commands and options that the program declares.
@Suite("Documented commands and kinds")
struct DocumentedCommandTests {
  private static let program: CommandInfo = {
    do { return try CommandInfo.of(RootCommand.self) } catch { fatalError("\(error)") }
  }()

  @Test("every command line in a document names a command and options that exist")
  func commandLines() {
    let documents = Repository.files(suffix: ".md").map(Markdown.init)
    #expect(documents.contains { !$0.commandLines.isEmpty })
    let violations = documents.flatMap { document in
      document.commandLines.compactMap { command in
        Self.problem(of: command.words).map { "\(document.path):\(command.line): \($0)" }
      }
    }
    #expect(violations == [])
  }

  @Test("the table of plugins and that of sinks name each one that is registered")
  func tables() throws {
    for (path, names) in [
      (
        "Sources/Plugins/GQLRunPlugins.docc/GQLRunPlugins.md",
        PluginRegistry.builtIn.names
      ),
      ("docs/guide-batch.md", Manifest.sinkKinds.map(\.name)),
    ] {
      let rows = try #require(Repository.text(path)).lines.filter { $0.hasPrefix("| ") }
      #expect(!names.isEmpty)
      for name in names {
        #expect(rows.contains { $0.contains("`\(name)`") }, "\(path): no table names \(name)")
      }
    }
  }

  @Test(
    "a wrong command line is found",
    arguments: [
      ("gqlrun run feed.graphql", true),
      ("gqlrun --version", true),
      ("gqlrun cache dump --store memory", true),
      ("gqlrun cache dump --stoer memory", false),
      ("gqlrun batch run m.yaml --resume", true),
      ("gqlrun cache", true),
      ("gqlrun help environment", true),
      ("gqlrun cahce dump", false),
      ("gqlrun cache --store memory", false),
      ("gqlrun cache eat", false),
      ("make demo", true),
      ("make PREFIX=/usr install", true),
      ("make coffee", false),
      ("ls", true),
    ])
  func findsCommands(line: String, isRight: Bool) {
    #expect((Self.problem(of: line.split(separator: " ").map(String.init)) == nil) == isRight)
  }

  /// What is wrong with a command line of ours; `nil` for right ones and those of other programs.
  static func problem(of words: [String]) -> String? {
    switch words.first {
    case "gqlrun": return problem(of: words.dropFirst(), in: program)
    case "make":
      let makefile = Repository.text("Makefile") ?? ""
      let missing = words.dropFirst().filter { !$0.contains("=") && !$0.hasPrefix("-") }
        .filter { target in !makefile.lines.contains { $0.hasPrefix("\(target):") } }
      return missing.isEmpty ? nil : "the Makefile has no target \(missing.joined(separator: ", "))"
    default: return nil
    }
  }

  /// What is wrong with the words after a command's name.
  private static func problem(of words: ArraySlice<String>, in command: CommandInfo) -> String? {
    if let word = words.first, !word.hasPrefix("-"), command.commandName != "help",
      !command.allCommands.isEmpty
    {
      guard let subcommand = command.allCommands.first(where: { $0.commandName == word }) else {
        return "\(command.commandName) has no command \(word)"
      }
      return problem(of: words.dropFirst(), in: subcommand)
    }
    let spellings = Set(
      command.allArguments.flatMap(\.spellings) + ["--generate-completion-script", "--help"])
    // Alternatives are written as `--done|--retry`.
    for word in words.flatMap({ $0.split(separator: "|") }).map(String.init)
    where word.hasPrefix("--") && word.count > 2 {
      let option = String(word.prefix { $0 != "=" && $0 != "`" })
      if !spellings.contains(option) { return "\(command.commandName) has no option \(option)" }
    }
    return nil
  }
}
