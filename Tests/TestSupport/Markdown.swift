/// What can be checked of a document: its command lines, its links, its headings.
package struct Markdown: Sendable {
  package struct CommandLine: Sendable, Equatable {
    package var words: [String]
    /// Counted from 1.
    package var line: Int
  }

  package struct Link: Sendable, Equatable {
    /// Relative to the top of the repository, without the part after `#`.
    package var target: String
    /// The part after `#`, which names a heading; `nil` if there is none.
    package var anchor: String?
    package var line: Int

    package init(target: String, anchor: String? = nil, line: Int) {
      self.target = target
      self.anchor = anchor
      self.line = line
    }
  }

  package let path: String
  /// The commands in `sh` blocks, and those after `$ ` in `console` blocks, one for each program of a
  /// pipe or list; and code spans in the text that begin with `gqlrun` or `make`.
  package private(set) var commandLines: [CommandLine] = []
  /// The relative links outside code.
  package private(set) var links: [Link] = []
  /// The headings of the second level.
  package private(set) var headings: [String] = []
  /// The names by which links reach headings of any level, as GitHub forms them.
  package private(set) var anchors: Set<String> = []

  package init(_ file: Repository.File) {
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
        if text.hasPrefix("#") { addAnchor(text.drop { $0 == "#" }) }
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
      let address = part.prefix { $0 != ")" && $0 != " " }
      let target = address.prefix { $0 != "#" }
      guard !address.isEmpty, !target.contains(":") else { continue }
      let anchor = address.dropFirst(target.count + 1)
      links.append(
        Link(
          target: target.isEmpty ? path : resolve(target),
          anchor: anchor.isEmpty ? nil : String(anchor), line: line))
    }
  }

  /// Letters, digits, `-` and `_` of a heading in lower case, with `-` for each blank; a repeated one gets a number.
  private mutating func addAnchor(_ heading: Substring) {
    let name = heading.trimmed.lowercased().compactMap { character -> Character? in
      if character == " " { return "-" }
      return character.isLetter || character.isNumber || "-_".contains(character)
        ? character : nil
    }
    var anchor = String(name)
    var number = 0
    while !anchors.insert(anchor).inserted {
      number += 1
      anchor = "\(String(name))-\(number)"
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
