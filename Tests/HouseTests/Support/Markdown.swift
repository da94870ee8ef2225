/// What can be checked of a document: its command lines, its links, its headings.
struct Markdown: Sendable {
  struct CommandLine: Sendable, Equatable {
    var words: [String]
    /// Counted from 1.
    var line: Int
  }

  struct Link: Sendable, Equatable {
    /// Relative to the top of the repository, without the part after `#`.
    var target: String
    var line: Int
  }

  let path: String
  /// The commands in `sh` blocks, and those after `$ ` in `console` blocks, one for each program of a
  /// pipe or list; and code spans in the text that begin with `gqlrun` or `make`.
  private(set) var commandLines: [CommandLine] = []
  /// The relative links outside code.
  private(set) var links: [Link] = []
  /// The headings of the second level.
  private(set) var headings: [String] = []

  init(_ file: Repository.File) {
    path = file.path
    /// What follows the fence of the block we are in.
    var language: String?
    var continued: (words: String, line: Int)?
    for (index, text) in file.text.lines.enumerated() {
      let line = index + 1
      if text.trimmed.hasPrefix("```") {
        language = language == nil ? String(text.trimmed.dropFirst(3)) : nil
      } else if let block = language {
        // The lines of a console without a prompt are output.
        guard
          block == "sh" || (block == "console" && (continued != nil || text.hasPrefix("$ ")))
        else { continue }
        var command = (continued?.words ?? "") + text.trimmed
        let start = continued?.line ?? line
        continued = nil
        if command.hasSuffix("\\") {
          command.removeLast()
          continued = (command, start)
        } else {
          addCommands(command, line: start)
        }
      } else {
        if text.hasPrefix("## ") { headings.append(String(text.dropFirst(3))) }
        addText(text, line: line)
      }
    }
  }

  private mutating func addCommands(_ text: String, line: Int) {
    let words = text.split(separator: " ").map(String.init).prefix { !$0.hasPrefix("#") }
    for command in words.split(whereSeparator: { ["|", "&&", "||", ";", "&"].contains($0) }) {
      // A prompt and settings of the environment come before the program.
      let program = command.drop { $0 == "$" || Self.isSetting($0) }
      if !program.isEmpty { commandLines.append(CommandLine(words: Array(program), line: line)) }
    }
  }

  private static func isSetting(_ word: String) -> Bool {
    guard let equals = word.firstIndex(of: "=") else { return false }
    return word[..<equals].allSatisfy { $0.isUppercase || $0 == "_" || $0.isNumber }
  }

  private mutating func addText(_ text: Substring, line: Int) {
    // Every second piece is between backticks.
    for (index, piece) in text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
    {
      if index % 2 == 0 {
        addLinks(piece, line: line)
      } else if piece.hasPrefix("gqlrun ") || piece.hasPrefix("make ") {
        addCommands(String(piece), line: line)
      }
    }
  }

  private mutating func addLinks(_ text: Substring, line: Int) {
    for part in text.split(separator: "](", omittingEmptySubsequences: false).dropFirst() {
      let target = part.prefix { $0 != ")" && $0 != " " && $0 != "#" }
      guard !target.isEmpty, !target.contains(":") else { continue }
      links.append(Link(target: resolve(target), line: line))
    }
  }

  /// `../README.md` in `docs/a.md` is `README.md`.
  private func resolve(_ target: Substring) -> String {
    var folders = path.split(separator: "/").dropLast()
    for step in target.split(separator: "/") where step != "." {
      if step == ".." { _ = folders.popLast() } else { folders.append(step) }
    }
    return folders.joined(separator: "/")
  }
}
