import Foundation
import GQLRunTestSupport
import Testing

@testable import gqlrun

/// What `gqlrun complete` prints, and what shells make of it.
@Suite("Completions", .timeLimit(.minutes(10)))
struct CompletionTests {
  private static func words(_ line: String) -> [String] {
    Completion(line: line, program: HelpTextTests.program).offers.map { offer in
      switch offer {
      case .word(let word, _): word
      case .files, .folders: offer.line
      }
    }
  }

  @Test(
    "--generate-completion-script prints the installed scripts",
    arguments: [("bash", "gqlrun.bash"), ("zsh", "_gqlrun"), ("fish", "gqlrun.fish")])
  func scripts(_ shell: String, _ file: String) async throws {
    let folder = try Folder()
    let script = try #require(Repository.text("completions/" + file))
    let option = "--generate-completion-script"
    for arguments in [[option, shell], ["\(option)=\(shell)"], [option]] {
      let result = try await Program.run(
        arguments, in: folder, environment: ["SHELL": "/usr/bin/\(shell)"])
      #expect(result.status == 0 && result.output == script, "\(result)")
    }
    let other = try await Program.run([option, "csh"], in: folder)
    #expect(other.status == 64 && other.errors.contains("one of bash, fish, zsh"), "\(other)")
  }

  @Test("the description of one command has the arguments that that of the program has")
  func along() throws {
    func check(_ command: CommandInfo, _ path: [String]) throws {
      let alone = try path.reduce(CommandInfo.of(RootCommand.self, along: path)) { info, name in
        try #require(info.allCommands.first { $0.commandName == name }, "\(path)")
      }
      #expect(
        alone.allArguments.map(\.spellings) == command.allArguments.map(\.spellings), "\(path)")
      #expect(alone.allArguments.map(\.abstract) == command.allArguments.map(\.abstract), "\(path)")
      #expect(alone.allCommands.map(\.commandName) == command.allCommands.map(\.commandName))
      for next in command.allCommands where next.commandName != "help" {
        try check(next, path + [next.commandName])
      }
    }
    try check(HelpTextTests.program, [])
  }

  @Test(
    "a line is split into words as a shell does",
    arguments: [
      ("gqlrun run ", ["gqlrun", "run", ""]),
      (#"a my\ file 'x y'z "q \" \n"#, ["a", "my file", "x yz", #"q " \n"#]),
      ("a '' \"\" ", ["a", "", "", ""]),
      ("", [""]),
    ])
  func split(_ line: String, _ words: [String]) {
    #expect(ShellWords(line).words == words)
  }

  @Test(
    "commands, options, values, files and folders",
    arguments: [
      ("gqlrun ru", ["run"]),
      ("gqlrun cache im", ["import"]),
      ("gqlrun nothing ", []),
      ("gqlrun run ", [":files "]),
      ("gqlrun run x.graphql --poli", ["--policy"]),
      ("gqlrun run --policy cache-only x --poli", []),
      ("gqlrun run --header a --hea", ["--header"]),
      ("gqlrun run --policy n", ["network-only", "no-cache", "network-first"]),
      ("gqlrun run --policy=net", ["--policy=network-only", "--policy=network-first"]),
      ("gqlrun run -- --poli", [":files "]),
      ("gqlrun run --store ", ["memory", "sqlite:", ":files "]),
      ("gqlrun run --store sqlite:x", [":files sqlite:"]),
      ("gqlrun run --store=sqlite:x", [":files --store=sqlite:"]),
      ("gqlrun run --var-file body=po", [":files body="]),
      ("gqlrun run --endpoint ", []),
      ("gqlrun run --pipeline off", ["offline", ":files "]),
      ("gqlrun pipeline new x --from a", ["apollo-1x-reference", "apq", "auth"]),
      ("gqlrun plugins max-", ["max-retry"]),
      ("gqlrun plugins max-retry --mark", ["--markdown"]),
      ("gqlrun profile --keep ", [":folders"]),
      ("gqlrun serve --manifest ", [":files "]),
      ("gqlrun run --unix-socket ", [":files "]),
      ("gqlrun cache import a.graphql ", [":files "]),
      ("gqlrun validate a.graphql b.graphql ", [":files "]),
      ("gqlrun help cache ex", ["explain", "export"]),
      ("gqlrun help pol", ["policies"]),
    ])
  func offers(_ line: String, _ expected: [String]) {
    #expect(Self.words(line) == expected)
  }

  @Test("operations and variables are those of the document")
  func document() throws {
    let folder = try Folder()
    let path = try folder.write(
      "query A($code: ID!) { a } query B($first: Int, $after: String) { b }", to: "my document")
    let run = "gqlrun run '\(path)'"
    #expect(Self.words("\(run) --operation ") == ["A", "B"])
    #expect(Self.words("\(run) --operation B --var ") == ["first=", "after="])
    #expect(Self.words("\(run) --var co") == ["code="])
    #expect(Self.words("gqlrun profile --document '\(path)' --operation ") == ["A", "B"])
    #expect(Self.words("gqlrun run '\(folder.file("open.graphql"))' --operation ") == [])
    #expect(Self.words("gqlrun run '\(folder.path)' --operation ") == [])
  }

  @Test("every option of every command is offered", arguments: HelpTextTests.commands)
  func everyOption(_ command: HelpTextTests.Command) {
    let offered = Self.words("\(command.name) --")
    let long = command.info.options.flatMap(\.spellings).filter { $0.hasPrefix("--") }
    #expect(Set(offered).isSuperset(of: long))
    for option in command.info.options where option.kind == .option {
      let values = Self.words("\(command.name) \(option.spellings.last ?? "") ")
      let name = option.valueName ?? ""
      if ["file", "document"].contains(name) {
        #expect(values.contains(":files "), "\(command.name) \(option.spellings)")
      } else if let known = option.allValues {
        #expect(values == known, "\(command.name) \(option.spellings)")
      }
    }
  }

  // MARK: Shells

  /// Whether lines can be typed into a shell, which a Python program does.
  private static func isThere(_ shell: String) -> Bool {
    Program.isInstalled("python3") && Program.isInstalled(shell)
  }

  /// A folder with files whose names need quotes.
  private static func folder() throws -> Folder {
    let folder = try Folder()
    for (name, _) in Samples.files { try FileManager.default.removeItem(atPath: folder.file(name)) }
    try FileManager.default.removeItem(atPath: folder.file("latin1.graphql"))
    try FileManager.default.removeItem(atPath: folder.file("folder"))
    let document = "query A($code: ID!) { a } query Country($first: Int) { b }"
    for name in ["my document.graphql", "country.graphql", "it's $x.graphql", "cache.db"] {
      try folder.write(document, to: name)
    }
    try FileManager.default.createDirectory(
      atPath: folder.file("my folder"), withIntermediateDirectories: true)
    try folder.write("", to: "my folder/inner.graphql")
    // A folder with the name of a command must not change the command.
    try FileManager.default.createDirectory(
      atPath: folder.file("cache"), withIntermediateDirectories: true)
    return folder
  }

  /// Types lines into an interactive shell; a line that begins with `*` asks for all completions.
  private static func type(
    _ lines: [String], into shell: String, scripts: String = Repository.root + "/completions",
    setting: String = ""
  ) async throws -> [String] {
    let folder = try folder()
    try folder.write(lines.map { $0 + "\n" }.joined(), to: "lines")
    let program = (Program.path as NSString).deletingLastPathComponent
    let result = try await Program.shell(
      "mkdir home; mv lines home; PATH='\(program)':$PATH HOME=$PWD \(setting) "
        + "PYTHONDONTWRITEBYTECODE=1 python3 '\(Repository.root)/Tests/Completion/complete.py' "
        + "\(shell) '\(scripts)' < home/lines", in: folder)
    try #require(result.status == 0, "\(result)")
    return result.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      .map(String.init)
  }

  /// Lines as typed, and as they are after Tab, in bash and zsh.
  private static let typed = [
    ("gqlrun r", "gqlrun run "),
    ("gqlrun cach", "gqlrun cache "),
    ("gqlrun cache imp", "gqlrun cache import "),
    (#"gqlrun run my\ d"#, #"gqlrun run my\ document.graphql "#),
    (#"gqlrun run "my d"#, #"gqlrun run "my document.graphql" "#),
    ("gqlrun run it", #"gqlrun run it\'s\ \$x.graphql "#),
    ("gqlrun run ~/cou", "gqlrun run ~/country.graphql "),
    (#"gqlrun run my\ f"#, #"gqlrun run my\ folder/"#),
    (#"gqlrun run my\ folder/"#, #"gqlrun run my\ folder/inner.graphql "#),
    (
      "gqlrun run country.graphql --operation Co", "gqlrun run country.graphql --operation Country "
    ),
    (
      #"gqlrun run my\ document.graphql --operation Country --var "#,
      #"gqlrun run my\ document.graphql --operation Country --var first="#
    ),
    ("gqlrun run x --store sq", "gqlrun run x --store sqlite:"),
    ("gqlrun run x --store sqlite:cache.", "gqlrun run x --store sqlite:cache.db "),
    ("gqlrun run x --store=sqlite:cache.", "gqlrun run x --store=sqlite:cache.db "),
    (#"gqlrun run x --store sqlite:my\ fo"#, #"gqlrun run x --store sqlite:my\ folder/"#),
    ("gqlrun run x --var-file body=cou", "gqlrun run x --var-file body=country.graphql "),
    ("gqlrun run x --policy=no-", "gqlrun run x --policy=no-cache "),
    ("gqlrun run x --pipeline off", "gqlrun run x --pipeline offline "),
    (#"gqlrun run x --pipeline my\ fo"#, #"gqlrun run x --pipeline my\ folder/"#),
    ("gqlrun plugins max-", "gqlrun plugins max-retry "),
    ("gqlrun pipeline new x --from off", "gqlrun pipeline new x --from offline "),
    ("gqlrun profile --keep my", #"gqlrun profile --keep my\ folder/"#),
    ("GQL_URL=x gqlrun plu", "GQL_URL=x gqlrun plugins "),
    ("gqlrun run x --endpoint ", "gqlrun run x --endpoint "),
    ("gqlrun run $(touch run) --pol", "gqlrun run $(touch run) --policy "),
    ("gqlrun nothing x", "gqlrun nothing x"),
  ]

  @Test("bash and zsh complete a line on Tab", arguments: ["bash", "zsh"].filter { isThere($0) })
  func tab(_ shell: String) async throws {
    let lines = try await Self.type(Self.typed.map(\.0), into: shell)
    try #require(lines.count == Self.typed.count)
    for (line, (typed, expected)) in zip(lines, Self.typed) {
      #expect(line == expected, "\(shell): \(typed)")
    }
  }

  @Test("bash and zsh list all completions", arguments: ["bash", "zsh"].filter { isThere($0) })
  func list(_ shell: String) async throws {
    let cases = [
      ("gqlrun run x --policy c", ["cache-first", "cache-only", "cache-and-network"]),
      (#"gqlrun run my\ document.graphql --operation "#, ["A", "Country"]),
      ("gqlrun cache e", ["export", "evict", "explain"]),
      ("gqlrun cache sql x --format ", ["table", "csv", "json"]),
      ("gqlrun run c", ["cache", "cache.db", "country.graphql"]),
    ]
    let lines = try await Self.type(cases.map { "*" + $0.0 }, into: shell)
    try #require(lines.count == cases.count)
    for (line, (typed, expected)) in zip(lines, cases) {
      let start = try #require(typed.lastIndex(of: " "))
      let words = line.dropFirst(typed[...start].count).split(separator: " ")
        .map { $0.hasSuffix("/") ? String($0.dropLast()) : String($0) }
      #expect(words.sorted() == expected.sorted(), "\(shell): \(typed)")
    }
  }

  @Test("bash completes with the package bash-completion, too", .enabled(if: isThere("bash")))
  func package() async throws {
    let lines = try await Self.type(
      [#"gqlrun run my\ d"#, "gqlrun run x --store=sqlite:cache."], into: "bash",
      setting: "WITH_PACKAGE=$(ls /usr/share/bash-completion/bash_completion || true)")
    #expect(
      lines == [#"gqlrun run my\ document.graphql "#, "gqlrun run x --store=sqlite:cache.db "])
  }

  @Test(
    "fish completes words, files and folders", .enabled(if: isThere("fish")),
    arguments: [
      ("gqlrun ru", ["run"]),
      ("gqlrun run my", ["my document.graphql", "my folder/"]),
      (#"gqlrun run "my d"#, ["my document.graphql"]),
      (#"gqlrun run my\ folder/"#, ["my folder/inner.graphql"]),
      ("gqlrun run ~/cou", ["~/country.graphql"]),
      (#"gqlrun run my\ document.graphql --operation "#, ["A", "Country"]),
      ("gqlrun run country.graphql --var ", ["code="]),
      ("gqlrun run x --policy no", ["no-cache"]),
      ("gqlrun run x --policy=no", ["--policy=no-cache"]),
      ("gqlrun run x --store sq", ["sqlite:"]),
      ("gqlrun run x --store sqlite:cache.", ["sqlite:cache.db"]),
      ("gqlrun run x --pipeline off", ["offline"]),
      ("gqlrun plugins max-", ["max-retry"]),
      ("gqlrun profile --keep my", ["my folder/"]),
      ("gqlrun cache sql x --format ", ["csv", "json", "table"]),
      ("gqlrun run x --endpoint ", []),
    ])
  func fish(_ line: String, _ expected: [String]) async throws {
    let folder = try Self.folder()
    let program = (Program.path as NSString).deletingLastPathComponent
    let quoted = line.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    try folder.write(
      "source '\(Repository.root)/completions/gqlrun.fish'\ncomplete -C '\(quoted)'\n",
      to: ".script")
    let result = try await Program.shell(
      "PATH='\(program)':$PATH HOME=$PWD fish --no-config .script", in: folder)
    let words = result.output.split(separator: "\n").map {
      String($0.prefix { $0 != "\t" })
    }
    #expect(words.filter { !$0.hasPrefix("sh-") }.sorted() == expected, "\(result)")
  }
}
