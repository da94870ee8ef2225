import Foundation
import Testing

@testable import gqlrun

/// The manual pages, and the programs that format them.
@Suite("Manual pages", .timeLimit(.minutes(10)))
struct ManualPageTests {
  private static let pages = ManualPage.pages(of: HelpTextTests.program, date: "2026-01-31")

  @Test("every command has a page, with all its options and arguments")
  func options() throws {
    let commands = HelpTextTests.commands
    #expect(Self.pages.map(\.name) == commands.map { $0.name.replacing(" ", with: "-") })
    for (page, command) in zip(Self.pages, commands) {
      for argument in command.info.shownArguments {
        for name in argument.spellings {
          #expect(page.text.contains("\\fB\(ManualPage.escaped(name))\\fR"), "\(page.name) \(name)")
        }
        let value = ManualPage.escaped(argument.valueName ?? "")
        #expect(argument.kind != .positional || page.text.contains("\\fI\(value)\\fR"))
      }
    }
  }

  @Test("pages have the standard sections in their order")
  func sections() {
    for page in Self.pages {
      let found = page.text.split(separator: "\n").filter { $0.hasPrefix(".SH ") }
        .map { String($0.dropFirst(4)) }
      let standard = [
        "NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "EXAMPLES", "ENVIRONMENT",
        "EXIT STATUS", "FILES", "SEE ALSO",
      ]
      #expect(found.filter(standard.contains) == standard.filter(found.contains), "\(page.name)")
      #expect(Set(standard).subtracting(["COMMANDS"]).isSubset(of: found), "\(page.name): \(found)")
    }
  }

  @Test(
    "man, groff and mandoc format all pages without a warning",
    arguments: [
      ("man", "man --warnings -E UTF-8 -l \"$page\" 2>&1 >formatted"),
      ("groff", "groff -ww -man -Tutf8 \"$page\" 2>&1 >formatted"),
      ("mandoc", "mandoc -T lint -W style \"$page\"; mandoc \"$page\" >formatted"),
    ].filter { Program.isInstalled($0.0) })
  func formatters(_ name: String, _ line: String) async throws {
    let folder = try Folder()
    let made = try await Program.run(["manual", "pages"], in: folder)
    try #require(made.status == 0, "\(made)")
    let result = try await Program.shell(
      "export MANWIDTH=80 LC_ALL=C.UTF-8; count=0; for page in pages/*.1; do \(line); "
        + "grep -q 'EXIT STATUS' formatted; count=$((count + 1)); done; echo \"$count pages\"",
      in: folder)
    #expect(result.status == 0 && result.errors == "", "\(result)")
    #expect(result.output == "\(Self.pages.count) pages\n", "\(result)")
  }

  @Test(
    "text with special meaning for roff is printed as it is",
    .enabled(if: Program.isInstalled("mandoc")))
  func escapes() async throws {
    let folder = try Folder()
    let text = #".a 'quoted' \n `x` ~/y ^z --option "double" ${exec:…} •"#
    try folder.write(".TH X 1 2026-01-31\n.SH NAME\n\(ManualPage.escaped(text))\n", to: "x.1")
    let result = try await Program.shell("mandoc -T utf8 x.1", in: folder)
    #expect(result.output.contains(text), "\(result)")
  }
}
