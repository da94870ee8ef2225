import Foundation
import GQLRunSupport

/// A manual page of one command, in the macros of `man(7)`.
struct ManualPage {
  private let command: CommandInfo
  /// The words of the command: `gqlrun`, `cache`, `import`.
  private let path: [String]
  private let date: String
  private var lines: [String] = []

  /// The pages of a command and its subcommands.
  static func pages(of command: CommandInfo, below path: [String] = [], date: String)
    -> [ManualPage]
  {
    let page = ManualPage(command: command, path: path + [command.commandName], date: date)
    return [page]
      + command.documentedCommands.flatMap { pages(of: $0, below: page.path, date: date) }
  }

  private init(command: CommandInfo, path: [String], date: String) {
    self.command = command
    self.path = path
    self.date = date
    write()
  }

  /// `gqlrun-cache-import`.
  var name: String { path.joined(separator: "-") }
  var text: String { lines.map { $0 + "\n" }.joined() }

  // MARK: Sections

  private mutating func write() {
    let title = Self.escaped(name.uppercased())
    lines.append(#".TH "\#(title)" 1 "\#(date)" "gqlrun \#(Version.current)" "gqlrun manual""#)
    section("NAME")
    lines += Self.filled("\(name) \u{2212} \(Self.clause(command.abstract))")
    section("SYNOPSIS")
    synopsis()
    let sections = DiscussionSection.sections(of: command.discussion ?? "")
    section("DESCRIPTION")
    let introduction = sections.first { $0.title == nil }
    lines += Self.body(introduction?.text ?? [command.abstract ?? ""])
    commands()
    options()
    // ENVIRONMENT and EXIT STATUS follow from the tables, unless the command has its own.
    let own = sections.filter { $0.title != nil && $0.title != "ENVIRONMENT" }
    for part in own where part.title != "EXIT STATUS" {
      section(part.title ?? "")
      lines += Self.body(part.text)
    }
    table("ENVIRONMENT", command.relevant(ProgramReference.environment))
    if path.count > 1, let codes = own.first(where: { $0.title == "EXIT STATUS" }) {
      section("EXIT STATUS")
      lines += Self.body(codes.text)
    } else {
      table("EXIT STATUS", ProgramReference.exitCodes)
    }
    table("FILES", command.relevant(ProgramReference.files))
    seeAlso()
  }

  private mutating func section(_ title: String) { lines.append(".SH \(title)") }

  private mutating func synopsis() {
    var words = ["\\fB" + Self.escaped(path.joined(separator: " ")) + "\\fR"]
    if !command.shownCommands.isEmpty { words += ["\\fIcommand\\fR", "\\&..."] }
    for option in command.options where option.kind == .option && !option.isOptional {
      words.append(Self.label(option.spellings.last.map { [$0] } ?? [], option.valueName))
    }
    if command.options.contains(where: { $0.isOptional || $0.kind == .flag }) {
      words.append("[\\fIoptions\\fR]")
    }
    for argument in command.positionals {
      let value = Self.value(argument.valueName) + (argument.isRepeating ? "\\~..." : "")
      words.append(argument.isOptional ? "[\(value)]" : value)
    }
    lines.append(words.joined(separator: " "))
  }

  private mutating func commands() {
    guard !command.shownCommands.isEmpty else { return }
    section("COMMANDS")
    for subcommand in command.documentedCommands {
      lines.append(".TP")
      lines.append(reference(name + "-" + subcommand.commandName, ""))
      lines += Self.filled(subcommand.abstract ?? "")
    }
    guard path.count == 1 else { return }
    lines += [".TP", "\\fBgqlrun help\\fR \\fItopic\\fR", "Print a text about a topic:"]
    lines += Self.filled(HelpTopic.all.map(\.name).joined(separator: ", ") + ".")
  }

  private mutating func options() {
    section("OPTIONS")
    for argument in command.positionals where argument.abstract != nil {
      lines += [".TP", Self.value(argument.valueName)]
      lines += Self.filled(Self.help(argument))
    }
    for option in command.options {
      let value = option.kind == .option ? option.valueName : nil
      lines += [".TP", Self.label(option.spellings, value)]
      lines += Self.filled(Self.help(option))
    }
  }

  private mutating func table(_ title: String, _ entries: [ProgramReference.Entry]) {
    guard !entries.isEmpty else { return }
    section(title)
    for entry in entries {
      lines += [".TP", "\\fB\(Self.escaped(entry.name))\\fR"]
      lines += Self.filled(entry.text)
    }
  }

  private mutating func seeAlso() {
    section("SEE ALSO")
    var names = (1..<path.count).map { path.prefix($0).joined(separator: "-") }
    names += command.documentedCommands.map { "\(name)-\($0.commandName)" }
    for (index, other) in names.enumerated() {
      lines.append(reference(other, index == names.count - 1 ? "" : ","))
    }
  }

  private func reference(_ name: String, _ end: String) -> String {
    ".BR \(Self.escaped(name)) (1)\(end)"
  }

  // MARK: Text

  private static func help(_ argument: CommandInfo.Argument) -> String {
    var text = argument.abstract ?? ""
    if let values = argument.allValues {
      text += " Values: \(values.joined(separator: ", "))."
    }
    if let value = argument.defaultValue, argument.kind == .option {
      text += " Default: \(value)."
    }
    return text
  }

  /// `\fB-o\fR, \fB--output\fR \fIfile\fR`
  private static func label(_ spellings: [String], _ value: String?) -> String {
    spellings.map { "\\fB\(escaped($0))\\fR" }.joined(separator: ", ")
      + (value.map { " " + Self.value($0) } ?? "")
  }

  private static func value(_ name: String?) -> String { "\\fI\(escaped(name ?? ""))\\fR" }

  /// A sentence as the clause after a dash.
  private static func clause(_ sentence: String?) -> String {
    let text = sentence ?? ""
    return text.prefix(1).lowercased()
      + (text.hasSuffix(".") ? text.dropFirst().dropLast() : text.dropFirst())
  }

  /// Paragraphs, and indented lines as they are.
  private static func body(_ text: [String]) -> [String] {
    var result: [String] = []
    var isLiteral = false
    var needsParagraph = false
    for line in text {
      let startsLiteral = line.hasPrefix("  ")
      if startsLiteral != isLiteral, !line.isEmpty {
        if startsLiteral {
          if !result.isEmpty { result.append(".PP") }
          result += [".RS 4", ".nf"]
        } else {
          result += [".fi", ".RE"]
          needsParagraph = true
        }
        isLiteral = startsLiteral
      }
      if line.isEmpty {
        needsParagraph = true
      } else {
        if needsParagraph, !result.isEmpty, result.last != ".nf", !isLiteral {
          result.append(".PP")
        }
        needsParagraph = false
        result += isLiteral ? [escaped(line.dropFirst(2))] : filled(line)
      }
    }
    return result + (isLiteral ? [".fi", ".RE"] : [])
  }

  /// A paragraph as lines of at most 80 bytes, which roff fills again.
  private static func filled(_ text: String) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ").map({ escaped($0) }) {
      if let line = lines.last, line.count + 1 + word.count <= 80 {
        lines[lines.count - 1] += " " + word
      } else {
        lines.append(word)
      }
    }
    return lines
  }

  /// Text without special meaning for roff, in ASCII. The minus sign U+2212 becomes the dash of a NAME section.
  static func escaped(_ text: some StringProtocol) -> String {
    let result = QuotedText.replacing(String(text)) { scalar in
      switch scalar {
      case "\u{2212}", "-": "\\-"
      case "\\": "\\e"
      case "'": "\\(aq"
      case "`": "\\(ga"
      case "^": "\\(ha"
      case "~": "\\(ti"
      case "\"": "\\(dq"
      default: scalar.isASCII ? nil : "\\[u" + String(format: "%04X", scalar.value) + "]"
      }
    }
    return result.hasPrefix(".") ? "\\&" + result : result
  }
}

/// A part of a discussion: the lines below a heading in capital letters.
struct DiscussionSection {
  /// The heading as manual pages spell it; `nil` for the text before the first one.
  var title: String?
  var text: [String]

  static func sections(of discussion: String) -> [DiscussionSection] {
    var result: [DiscussionSection] = []
    for line in discussion.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    {
      let isHeading =
        !line.isEmpty && line.allSatisfy { $0.isUppercase || $0 == " " }
        && !line.hasPrefix(" ")
      if isHeading {
        result.append(DiscussionSection(title: standard[line] ?? line, text: []))
      } else if result.isEmpty {
        result.append(DiscussionSection(title: nil, text: [line]))
      } else {
        result[result.count - 1].text.append(line)
      }
    }
    return result
  }

  private static let standard = ["EXAMPLE": "EXAMPLES", "EXIT CODES": "EXIT STATUS"]
}
