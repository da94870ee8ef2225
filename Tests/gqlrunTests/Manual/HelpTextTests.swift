import ArgumentParser
import Foundation
import GQLRunTestSupport
import Testing

@testable import gqlrun

/// The help texts of the program, for every command.
@Suite("Help texts")
struct HelpTextTests {
  /// A command with its full name, such as `gqlrun cache import`.
  struct Command: Sendable, CustomTestStringConvertible {
    var name: String
    var info: CommandInfo

    var testDescription: String { name }
    var discussion: [String] {
      (info.discussion ?? "").split(separator: "\n", omittingEmptySubsequences: false).map(
        String.init)
    }

    /// The command lines below the heading EXAMPLES, without their line breaks.
    var examples: [String] {
      DiscussionSection.sections(of: info.discussion ?? "").first { $0.title == "EXAMPLES" }
        .map { section in
          section.text.joined(separator: "\n").replacing("\\\n", with: "")
            .split(separator: "\n").map { $0.drop { $0 == " " }.description }
        } ?? []
    }
  }

  static let program: CommandInfo = {
    do { return try CommandInfo.of(RootCommand.self) } catch { fatalError("\(error)") }
  }()

  static let commands: [Command] = {
    func below(_ info: CommandInfo, _ path: String) -> [Command] {
      let name = path + info.commandName
      return [Command(name: name, info: info)]
        + info.shownCommands.filter { $0.commandName != "help" }.flatMap { below($0, name + " ") }
    }
    return below(program, "")
  }()

  /// All texts with the name of the command or topic.
  private static var texts: [(name: String, text: String)] {
    commands.flatMap { command in
      [(command.name, command.info.abstract ?? ""), (command.name, command.info.discussion ?? "")]
        + command.info.shownArguments.map { argument in
          ("\(command.name) \(argument.spellings.joined(separator: " "))", argument.abstract ?? "")
        }
    } + HelpTopic.all.map { ($0.name, "\($0.title). \($0.text)") }
  }

  @Test("examples, tables and topics fit into 80 columns, so that they can be copied as they are")
  func width() {
    let indented = Self.commands.flatMap { command in
      // Other text is wrapped.
      command.discussion.filter { $0.hasPrefix("  ") && $0.count > 80 }
        .map { "\(command.name): \($0)" }
    }
    let topics = HelpTopic.all.flatMap { topic in
      topic.text.split(separator: "\n").filter { $0.count > 80 }.map { "\(topic.name): \($0)" }
    }
    #expect(indented + topics == [])
  }

  @Test("every command, option and argument has a help text that is a sentence")
  func sentences() {
    for command in Self.commands {
      #expect(command.info.abstract?.hasSuffix(".") == true, "\(command.name)")
      for argument in command.info.shownArguments {
        let label = "\(command.name) \(argument.spellings.last ?? argument.valueName ?? "")"
        #expect(argument.abstract?.hasSuffix(".") == true, "\(label): \(argument.abstract ?? "")")
      }
    }
  }

  @Test("every command has an example of itself", arguments: commands)
  func examples(_ command: Command) {
    #expect(!command.examples.isEmpty)
    #expect(
      command.name == "gqlrun"
        || command.examples.contains { "\($0) ".contains(command.name + " ") })
  }

  /// Words that docs/glossary.md and the style guide replace.
  private static let forbidden =
    #"\b(places?|accounts?|passage|reception|somebody|nobody|whoever|asker|findings?|knobs?|errand|"#
    + #"complaints?|cassette|portions?|sweep\w*|is told|are told|stands?|stand for|says? so|"#
    + #"wins? over|as it stands|where to send|asked for|to be asked|mended|"#
    + #"what (is|was) wrong|everything that is wrong|all is well|so (much|many)|for ever)\b"#

  @Test("no help text uses the words that the glossary replaces")
  func words() throws {
    let expression = try Regex(Self.forbidden).ignoresCase()
    for (name, text) in Self.texts {
      for match in text.matches(of: expression) {
        Issue.record("\(name): \"\(text[match.range])\" in \(text)")
      }
    }
  }

  @Test("every environment variable that the sources read is in the help")
  func environment() throws {
    let pattern = try Regex(
      #"(?:getenv\(|environment\[|environment\(|variable\(|value\(of: |\$\{env:)"?([A-Z][A-Z_]+|[a-z]+_proxy)\b"#,
      as: (Substring, Substring).self)
    var names: Set<String> = []
    for folder in ["Sources", "pipelines"] {
      let files = FileManager.default.enumerator(atPath: "\(Repository.root)/\(folder)")
      while let file = files?.nextObject() as? String {
        guard file.hasSuffix(".swift") || file.hasSuffix(".yaml") else { continue }
        let text = try String(
          contentsOfFile: "\(Repository.root)/\(folder)/\(file)", encoding: .utf8)
        // Comments of the sources have examples of variables.
        for line in text.split(separator: "\n") where !line.includes("///") {
          // What the pattern begins with; a search for it is much faster.
          guard line.includes("env") || line.includes("variable(") || line.includes("value(of: ")
          else {
            continue
          }
          names.formUnion(line.matches(of: pattern).map { String($0.output.1) })
        }
      }
    }
    #expect(names.isSuperset(of: ["GQL_URL", "GQL_RECORD", "TMPDIR", "XDG_STATE_HOME"]))
    let topic = try #require(HelpTopic.page(for: ["help", "environment"]))
    let examples: Set = ["API_TOKEN", "CI_SECRET", "NAME", "TOKEN", "HOST"]
    // Only the build sets it.
    names.remove("SOURCE_DATE_EPOCH")
    for name in names.subtracting(examples) {
      #expect(topic.contains(name), "gqlrun help environment lacks \(name)")
    }
  }

  @Test("the help names all ready-made pipelines that a variable is for")
  func pipelinesOfVariables() throws {
    let (folder, suffix) = ("\(Repository.root)/pipelines", ".pipeline.yaml")
    for file in try FileManager.default.contentsOfDirectory(atPath: folder)
    where file.hasSuffix(suffix) {
      let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
      let pipeline = String(file.dropLast(suffix.count))
      for name in ["GQL_CACHE", "GQL_RECORD", "GQL_RECORDING"]
      where text.contains("${env:\(name):") {
        let entry = try #require(ProgramReference.environment.first { $0.name == name })
        #expect(entry.text.contains(pipeline), "\(name) of \(pipeline)")
      }
    }
  }

  @Test("the program's help shows how to complete commands in a shell")
  func completion() async throws {
    let option = "gqlrun --generate-completion-script bash"
    let help = try await Program.run(["--help"], in: Folder())
    let sections = DiscussionSection.sections(
      of: try #require(Self.commands.first?.info.discussion))
    let section = try #require(sections.first { $0.title == "SHELL COMPLETION" })
    #expect(section.text.joined().contains(option) && help.output.contains(option))
    let topic = try #require(HelpTopic.page(for: ["help", "completion"]))
    for shell in ["bash", "zsh", "fish"] {
      #expect(topic.contains("--generate-completion-script \(shell)"))
    }
    let guessed = try await Program.run(["completion"], in: Folder())
    #expect(guessed.status == 64 && guessed.errors.contains("--generate-completion-script SHELL"))
  }

  @Test("the help of run and a topic name the transports of subscriptions")
  func transports() throws {
    let run = try #require(Self.commands.first { $0.name == "gqlrun run" }?.info.discussion)
    for text in ["ws://", "transport", "gqlrun help subscriptions"] { #expect(run.contains(text)) }
    let topic = try #require(HelpTopic.page(for: ["help", "subscriptions"]))
    let transports = ["auto", "graphql-transport-ws", "graphql-ws", "sse", "multipart"]
    for text in transports + ["ws://", "wss://"] { #expect(topic.contains(text)) }
  }

  @Test("gqlrun help topics lists the topics, and each of them is printed")
  func topics() async throws {
    let list = try await Program.run(["help", "topics"], in: Folder())
    #expect(list.status == 0 && list.errors == "", "\(list)")
    for topic in HelpTopic.all {
      #expect(list.output.contains("\n  \(topic.name) "), "\(list)")
      let page = try await Program.run(["help", topic.name], in: Folder())
      #expect(page.status == 0 && page.output == "\(topic.title)\n\n\(topic.text)\n", "\(page)")
    }
    #expect(Set(HelpTopic.all.map(\.name)).count == HelpTopic.all.count)
    let wrong = try await Program.run(["help", "topicz"], in: Folder())
    #expect(wrong.status == 64 && wrong.errors.contains("gqlrun help topics"), "\(wrong)")
  }

  @Test("the manifest and the pipeline of the topics are valid")
  func topicFiles() async throws {
    let folder = try Folder()
    try folder.write("code\nDE\n", to: "codes.csv")
    for (topic, name, command) in [
      ("pipelines", "x.pipeline.yaml", "pipeline"), ("manifests", "x.batch.yaml", "batch"),
    ] {
      let text = try #require(HelpTopic.all.first { $0.name == topic }).text
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        .drop { $0 != "  version: 1" }.prefix { !$0.isEmpty }.map { $0.dropFirst(2) }
      try folder.write(lines.joined(separator: "\n") + "\n", to: name)
      let result = try await Program.run([command, "check", name], in: folder)
      #expect(result.status == 0 && result.errors.contains("ok"), "\(result)")
    }
  }
}
