import Foundation
import GQLRunBatch
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import Testing

@testable import gqlrun

/// The command lines in the documents, beside the commands and options that the program declares.
@Suite("Documented commands and kinds")
struct DocumentedCommandTests {
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

  @Test("the page of the plugins has each one among the jobs, in the usual order and in the topics")
  func plugins() throws {
    let registry = PluginRegistry.builtIn
    let page = try #require(Repository.text("Sources/Plugins/GQLRunPlugins.docc/GQLRunPlugins.md"))
    let jobs = try Self.rows(of: "job", in: page).map(\.text).joined(separator: "\n")
    let parts = page.components(separatedBy: "```\n")
    let order = try #require(parts.count == 3 ? parts[1] : nil, "the page has one diagram")
      .components(separatedBy: CharacterSet(charactersIn: " ,\n▶")).filter { !$0.isEmpty }
    let topics = try #require(page.range(of: "## Topics")).upperBound
    #expect(!registry.names.isEmpty)
    for name in registry.names {
      let type = String(describing: try #require(registry[name]))
      #expect(jobs.contains("`\(name)`"), "the table of jobs has no \(name)")
      #expect(order.contains(name), "the usual order has no \(name)")
      #expect(page[topics...].contains("\n- ``\(type)``"), "the topics have no \(type)")
    }
    let entries = try order.filter { registry.names.contains($0) }.map { name in
      "  - " + (try #require(registry[name])).documentation.example
    }
    let chain = """
      version: 1
      endpoint: { url: "http://localhost/" }
      store: { kind: memory }
      chain:
      \(entries.joined(separator: "\n"))
      """
    let found = PipelineFile.check(
      Array(chain.utf8), file: "usual.pipeline.yaml", registry: registry,
      environment: PipelineFileEnvironment())
    #expect(found.errors.map(\.message) == [])
  }

  @Test("the guide to batches has each kind of sink in its tables, and each kind of rows")
  func kinds() throws {
    let page = try #require(Repository.text("docs/guide-batch.md"))
    let sinks = Manifest.sinkKinds.map(\.name)
    #expect(!sinks.isEmpty && !Manifest.rowKinds.isEmpty)
    for table in ["sink", "output"] {
      let firstCells = try Self.rows(of: table, in: page).map(\.firstCell)
      for name in sinks {
        #expect(
          firstCells.contains { $0.contains("`\(name)`") }, "the table `\(table)` has no \(name)")
      }
    }
    let paragraph = try #require(
      page.components(separatedBy: "\n\n").first { $0.hasPrefix("`foreach` names one source") })
    for name in Manifest.rowKinds.map(\.name) {
      #expect(
        paragraph.contains("`\(name)`") || paragraph.contains("`\(name):"),
        "the paragraph on `foreach` has no \(name)")
    }
  }

  /// The rows of the table whose first column has a heading, without the heading.
  private static func rows(
    of heading: String, in page: String
  ) throws -> [(text: Substring, firstCell: Substring)] {
    let lines = page.lines
    let start = try #require(
      lines.firstIndex { $0.hasPrefix("| \(heading) |") }, "no table has the heading \(heading)")
    let rows = lines[start...].prefix { $0.hasPrefix("|") }.dropFirst(2)
    #expect(!rows.isEmpty)
    return rows.map { ($0, $0.dropFirst().prefix { $0 != "|" }) }
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
    case "gqlrun": return problem(of: words.dropFirst(), in: HelpTextTests.program)
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
