import Foundation
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins

/// What can follow a command line up to the cursor.
///
/// The scripts in `completions/` print it in bash, zsh and fish. They complete file names themselves, because only
/// the shell knows its quoting and `~`.
struct Completion {
  enum Offer: Equatable {
    /// A whole word, with the first sentence of its help.
    case word(String, about: String = "")
    /// The name of a file, after a prefix of the word such as `sqlite:`.
    case files(after: String = "")
    /// The name of a folder.
    case folders

    /// The offer as a line of `gqlrun complete`.
    var line: String {
      switch self {
      case .word(let word, let about): about.isEmpty ? word : "\(word)\t\(about)"
      case .files(let prefix): ":files \(prefix)"
      case .folders: ":folders"
      }
    }
  }

  private let program: CommandInfo
  private var command: CommandInfo
  private var path: [String] = []
  private var positionals: [String] = []
  /// The values of options by each of their spellings.
  private var values: [String: String] = [:]
  private var used: Set<String> = []
  /// The option whose value is the next word.
  private var pending: CommandInfo.Argument?
  private var hasTerminator = false
  private let current: String

  /// - Parameter line: The command line up to the cursor, as it is typed, with quotes and escapes.
  init(line: String, program: CommandInfo) {
    let words = ShellWords(line).words
    self.program = program
    command = program
    current = words.count > 1 ? words[words.count - 1] : ""
    for word in words.dropFirst().dropLast() { read(word) }
  }

  private mutating func read(_ word: String) {
    if let option = pending {
      for spelling in option.spellings { values[spelling] = word }
      pending = nil
    } else if word == "--" {
      hasTerminator = true
    } else if !hasTerminator, word.hasPrefix("-"), word != "-" {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      guard let option = command.option(parts[0]) else { return }
      if !option.isRepeating { used.formUnion(option.spellings) }
      guard option.kind == .option else { return }
      if parts.count == 1 {
        pending = option
        return
      }
      for spelling in option.spellings { values[spelling] = parts[1] }
    } else if positionals.isEmpty, let next = command.subcommand(word) {
      command = next
      path.append(word)
    } else {
      positionals.append(word)
    }
  }

  /// The offers for the last word of the line. Words that do not begin with it are left out.
  var offers: [Offer] {
    if let pending { return matching(values(of: pending, current)) }
    if !hasTerminator, current.hasPrefix("-"), current != "-" || positionals.isEmpty {
      guard let equals = current.firstIndex(of: "="),
        let option = command.option(String(current[..<equals]))
      else { return matching(options) }
      let prefix = String(current[...equals])
      let value = String(current[current.index(after: equals)...])
      return matching(
        values(of: option, value).map { offer in
          switch offer {
          case .word(let word, let about): .word(prefix + word, about: about)
          case .files(let inner): .files(after: prefix + inner)
          case .folders: .folders
          }
        })
    }
    if command.commandName == "help", path.count == 1 { return matching(helpSubjects) }
    let commands = command.shownCommands.map {
      Offer.word($0.commandName, about: $0.abstract ?? "")
    }
    if !commands.isEmpty { return positionals.isEmpty ? matching(commands) : [] }
    let index = min(positionals.count, command.positionals.count - 1)
    guard index >= 0,
      positionals.count <= index || command.positionals[index].isRepeating
    else { return matching(options) }
    return matching(values(of: command.positionals[index], current))
  }

  private func matching(_ offers: [Offer]) -> [Offer] {
    offers.filter { offer in
      guard case .word(let word, _) = offer else { return true }
      return word.hasPrefix(current)
    }
  }

  private var options: [Offer] {
    command.options.flatMap { option in
      option.spellings.filter { $0.hasPrefix("--") && !used.contains($0) }
        .map { .word($0, about: Self.firstSentence(option.abstract ?? "")) }
    }
  }

  /// Commands, and topics after `gqlrun help`.
  private var helpSubjects: [Offer] {
    let named = positionals.reduce(program) { $0?.subcommand($1) }
    let topics =
      positionals.isEmpty ? HelpTopic.all.map { Offer.word($0.name, about: $0.title) } : []
    return (named?.shownCommands ?? []).map { .word($0.commandName, about: $0.abstract ?? "") }
      + topics
  }

  /// The offers for the value of an argument, which its value name in the help determines.
  private func values(of argument: CommandInfo.Argument, _ text: String) -> [Offer] {
    if let values = argument.allValues { return values.map { .word($0) } }
    switch argument.valueName {
    case "file" where argument.spellings.contains("--pipeline"):
      return ReadyMade.names.map { .word($0, about: "Ready-made pipeline.") } + [.files()]
    case let name? where Self.fileNames.contains(name):
      return [.files()]
    case "folder":
      return [.folders]
    case let name? where name.hasPrefix("memory|sqlite"):
      return text.hasPrefix("sqlite:")
        ? [.files(after: "sqlite:")]
        : [.word("memory", about: "Memory."), .word("sqlite:", about: "SQLite file."), .files()]
    case let name? where name.hasPrefix("sqlite:"):
      return text.hasPrefix("sqlite:")
        ? [.files(after: "sqlite:")]
        : [
          .word("sqlite:", about: "SQLite file."), .word("postgres://", about: "PostgreSQL."),
          .folders,
        ]
    case "name=file", "name=value":
      guard let equals = text.firstIndex(of: "=") else { return variables }
      return argument.valueName == "name=file" ? [.files(after: String(text[...equals]))] : []
    case "name" where argument.spellings.contains("--operation"):
      return (document?.operations ?? []).compactMap { operation in
        operation.name.map { .word($0.value, about: operation.type.rawValue) }
      }
    case "name" where argument.spellings.contains("--from"):
      return ReadyMade.names.map { .word($0) }
    case "name" where path == ["plugins"]:
      return PluginRegistry.builtIn.descriptions.map { .word($0.name, about: $0.summary) }
    default:
      return []
    }
  }

  /// The value names of files.
  private static let fileNames: Set = [
    "file", "files", "document", "manifest", "manifests", "response", "old", "new", "path",
  ]

  private var variables: [Offer] {
    let name = values["--operation"]
    let operation = document?.operations.first { name == nil || $0.name?.value == name }
    return (operation?.variables ?? []).map { .word("\($0.name.value)=", about: $0.type.printed()) }
  }

  /// The document of the command line; `nil` if there is none, or it cannot be parsed.
  private var document: Document? {
    let index = command.positionals.firstIndex { $0.valueName == "document" }
    let named = index.flatMap { positionals.indices.contains($0) ? positionals[$0] : nil }
    guard var file = named ?? values["--document"] else { return nil }
    if file.hasPrefix("~/"), let home = Services.environment("HOME") {
      file = home + file.dropFirst()
    }
    var status = stat()
    guard stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      return try? Document(parsing: file)
    }
    return (try? Input.bytes(file, "the document")).flatMap { try? Document(parsingUTF8: $0) }
  }

  /// The text up to the first period that ends a sentence.
  private static func firstSentence(_ text: String) -> String {
    String((text.components(separatedBy: ". ").first ?? text).prefix { $0 != ";" })
  }
}

/// A command line split into words as a shell does, without expansions.
struct ShellWords {
  /// The words without quotes and escapes. The last one is empty if the line ends with a space.
  private(set) var words: [String] = [""]

  init(_ line: String) {
    var quote: Character?
    var isEscaped = false
    var isWord = false
    for character in line {
      if isEscaped {
        // In double quotes, a backslash before other characters is a literal.
        if quote == "\"", !"\"\\$`".contains(character) { words[words.count - 1].append("\\") }
        words[words.count - 1].append(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
        isWord = true
      } else if let open = quote {
        if character == open { quote = nil } else { words[words.count - 1].append(character) }
      } else if character == "'" || character == "\"" {
        quote = character
        isWord = true
      } else if character.isWhitespace {
        if isWord { words.append("") }
        isWord = false
      } else {
        words[words.count - 1].append(character)
        isWord = true
      }
    }
  }
}
