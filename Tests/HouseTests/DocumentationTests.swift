import Foundation
import GQLRunTestSupport
import Testing

/// Compares the documents with the repository.
@Suite("Documentation")
struct DocumentationTests {
  static let documents = Repository.files(suffix: ".md").map(Markdown.init)
  /// The texts of all other tests.
  private static let tests = Repository.files(in: "Tests", suffix: ".swift").filter {
    $0.path != "Tests/HouseTests/DocumentationTests.swift"
  }.map(\.text)

  /// The code spans of a text: the pieces between backticks, which are every second one.
  private static func codeSpans<Text: StringProtocol>(_ text: Text) -> [Text.SubSequence] {
    let pieces = text.split(separator: "`", omittingEmptySubsequences: false)
    return stride(from: 1, to: pieces.count, by: 2).map { pieces[$0] }
  }

  /// Checks that each name of a row is in a test, or ends one of the paths of scripts.
  private static func expectTests(
    _ names: some Collection<Substring>, orOneOf scripts: [String] = [], row: String
  ) {
    #expect(!names.isEmpty, "\(row)")
    for name in names where !scripts.contains(where: { $0.hasSuffix(name) }) {
      #expect(Self.tests.contains { $0.includes(name) }, "\(row): no test \(name)")
    }
  }

  @Test("there are documents to check")
  func documents() {
    let paths = Self.documents.map(\.path)
    for path in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/guide-cache.md"] {
      #expect(paths.contains(path))
    }
  }

  @Test("README shows the commands of the main jobs")
  func mainJobs() throws {
    let readme = try #require(Self.documents.first { $0.path == "README.md" })
    let shown = Set(readme.commandLines.map { $0.words.prefix(3).joined(separator: " ") })
    for start in [
      "make demo", "make test", "gqlrun run", "gqlrun cache dump", "gqlrun batch run",
      "gqlrun extract", "gqlrun profile",
    ] {
      #expect(shown.contains { $0.hasPrefix(start) }, "README shows no \(start)")
    }
  }

  @Test("every relative link leads to a file, and to a heading of it")
  func links() {
    let anchors = Dictionary(uniqueKeysWithValues: Self.documents.map { ($0.path, $0.anchors) })
    let violations = Self.documents.flatMap { document in
      document.links.compactMap { link -> String? in
        let place = "\(document.path):\(link.line)"
        guard Repository.exists(link.target) else {
          return "\(place): nothing is at \(link.target)"
        }
        guard let anchor = link.anchor, let headings = anchors[link.target],
          !headings.contains(anchor)
        else { return nil }
        return "\(place): \(link.target) has no heading #\(anchor)"
      }
    }
    #expect(violations == [])
  }

  @Test("every document that a comment in the sources names exists")
  func namedDocuments() {
    var violations: [String] = []
    for file in Repository.files(in: "Sources", suffix: ".swift")
      + Repository.files(in: "Tests", suffix: ".swift")
    where !file.path.hasPrefix("Tests/HouseTests/") && !file.path.hasPrefix("Tests/TestSupport/") {
      for (index, line) in file.text.lines.enumerated() where line.includes(".md") {
        let words = line.split { !$0.isLetter && !$0.isNumber && !"-_./".contains($0) }
        for word in words
        where word.count > 3 && word.hasSuffix(".md") && !word.hasPrefix("//")
          && !Repository.exists(String(word))
          && !Repository.exists("docs/\(word)")
        {
          violations.append("\(file.path):\(index + 1): nothing is at \(word)")
        }
      }
    }
    #expect(violations == [])
  }

  @Test("no document has a section twice")
  func sections() {
    for document in Self.documents where document.path.hasPrefix("docs/") {
      let repeated = Dictionary(grouping: document.headings) { $0 }.filter { $0.value.count > 1 }
      #expect(repeated.keys.sorted() == [], "\(document.path)")
    }
  }

  @Test("every test that the tables of faults name exists")
  func faults() throws {
    let table = try #require(Repository.text("docs/faults.md")).lines.filter { $0.hasPrefix("| ") }
    let scripts = ["Tests/Torture", "Tests/Transcripts"].flatMap { Repository.files(in: $0) }.map(
      \.path)
    /// The numbers of the rows with so many cells, whose third one names tests.
    func numbers(cellCount: Int) -> Set<Int> {
      var numbers: Set<Int> = []
      for row in table {
        let cells = row.split(separator: "|").filter { $0.contains { $0 != " " } }
        guard cells.count == cellCount, let number = Int(cells[0].split(separator: " ").first ?? "")
        else { continue }
        numbers.insert(number)
        Self.expectTests(Self.codeSpans(cells[2]), orOneOf: scripts, row: "fault \(number)")
      }
      return numbers
    }
    #expect(numbers(cellCount: 3) == Set(1...40).union(57...76))
    #expect(numbers(cellCount: 4) == Set(1...26).union([34]))
  }

  @Test("every test that the table for clients names exists")
  func clientAudit() throws {
    // The tables on servers have no tests.
    let rows = try #require(Repository.text("docs/client-audit.md")).lines
      .prefix { $0 != "## Audit a server" }
      .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| rule") }
    #expect(rows.count > 20)
    for row in rows { Self.expectTests(Self.codeSpans(row).suffix(1), row: "\(row)") }
  }

  @Test("every test that the threat model names exists, and every adversary has a table")
  func security() throws {
    let lines = try #require(Repository.text("docs/security.md")).lines
    let rows = lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| threat |") }
    let transcripts = Repository.files(in: "Tests/Transcripts").map(\.path)
    #expect(rows.count > 40)
    #expect(lines.filter { $0.hasPrefix("| threat |") }.count > 5)
    for row in rows {
      let cells = row.split(separator: "|").filter { $0.contains { $0 != " " } }
      #expect(cells.count == 4, "\(row)")
      Self.expectTests(
        Self.codeSpans(cells.last ?? ""), orOneOf: transcripts, row: "\(row)")
    }
  }

  @Test(
    "every test that the tables of editions name exists, and every addition to the language is in them"
  )
  func editions() throws {
    let rows = try #require(Repository.text("docs/editions.md")).lines.filter {
      $0.hasPrefix("| ") && $0.hasSuffix("` |")
    }
    #expect(rows.count > 25)
    for row in rows { Self.expectTests(Self.codeSpans(row).suffix(1), row: "\(row)") }
    // Their names in messages are the raw values of an enumeration.
    let source = try #require(Repository.text("Sources/GraphQL/Language/Edition.swift"))
    let additions = source.lines.filter { $0.hasPrefix("  case ") && $0.includes(" = \"") }
      .compactMap { $0.split(separator: "\"").dropFirst().first }
    #expect(additions.count > 7)
    for addition in additions {
      let name = addition.replacingOccurrences(of: "\\\\", with: "\\")
      #expect(rows.contains { $0.hasPrefix("| \(name) |") }, "no row for \(name)")
    }
  }

  @Test("the article on plugins has the code of the guide, which a test executes")
  func pluginArticle() throws {
    let article = try #require(
      Repository.text("Sources/Plugins/GQLRunPlugins.docc/WritingAPlugin.md"))
    let guide = try #require(Repository.text("docs/guide-own-plugins.md"))
    let blocks = article.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
    #expect(blocks.count > 1)
    for block in blocks { #expect(guide.contains(block), "\(block)") }
  }

  @Test("every name in the diagrams and checklists of the architecture is declared in Sources")
  func architecture() throws {
    var declared: Set<String> = []
    for (_, source) in Repository.sources {
      for line in source.code {
        let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        for (keyword, name) in zip(words, words.dropFirst())
        where Self.declarations.contains(String(keyword)) { declared.insert(String(name)) }
      }
    }
    // Names are in code spans and diagrams.
    let code = Self.codeSpans(try #require(Repository.text("docs/architecture.md")))
    let folders = Set(Module.all.map(\.folder))
    var names: [String] = []
    for word in code.flatMap({ $0.split(whereSeparator: \.isWhitespace) })
    where !word.contains("/") {
      let identifiers = word.split { !$0.isLetter }.map(String.init)
      guard let first = identifiers.first, first.first?.isUppercase == true,
        first.contains(where: \.isLowercase)
      else { continue }
      names += identifiers
    }
    let unknown = Set(names).subtracting(declared).subtracting(folders)
      .subtracting([
        "CommandConfiguration", "ParsableArguments", "PostgreSQL", "Sources", "WebSocket",
      ])
    #expect(names.count > 40)
    #expect(unknown.sorted() == [])
  }

  private static let declarations: Set = [
    "struct", "class", "actor", "enum", "protocol", "func", "var", "let", "case",
  ]

  @Test("every decision says context, choice, cost, and how we would notice that it was wrong")
  func decisions() {
    let decisions = Self.documents.filter { $0.path.hasPrefix("docs/decisions/") }
    #expect(!decisions.isEmpty)
    for decision in decisions {
      #expect(
        decision.headings == [
          "Context", "Choice", "Cost", "How we would notice that it was wrong",
        ], "\(decision.path)")
    }
  }

  @Test(
    "the page on reliability has the last figures of each check, whose output still has the lines that are read"
  )
  func reliability() throws {
    let result = try ChildProcess(
      "/usr/bin/env", ["python3", Repository.root + "/Tests/Reliability/reliability.py", "--check"]
    ).finish()
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test("no file names a folder of somebody's machine")
  func machinePaths() {
    let violations = Repository.files().flatMap { Self.machinePaths(in: $0.text, path: $0.path) }
    #expect(violations == [])
  }

  // MARK: That the checks find something

  @Test("command lines and links are found where they stand")
  func readsMarkdown() {
    let document = Markdown(
      Repository.File(
        path: "docs/a.md",
        text: """
          # Title
          ## Part
          ### A `b`, c-d (e_1)
          ### Part
          See [b](b.md#part), [web](https://example.com/x.md) and `gqlrun demo`.
          ```sh
          # gqlrun comment
          $ gqlrun run a.graphql \\
              --pretty | jq .
          make test && gqlrun pipeline check x.yaml
          NO_COLOR=1 gqlrun serve [not](a-link.md)
          ```
          ```yaml
          gqlrun: no
          ```
          ```console
          $ gqlrun cache dump \\
              --store memory
          gqlrun printed this
          ```
          ![up](../README.md "title")
          """))
    #expect(document.headings == ["Part"])
    #expect(document.anchors == ["title", "part", "a-b-c-d-e_1", "part-1"])
    #expect(
      document.links == [
        .init(target: "docs/b.md", anchor: "part", line: 5), .init(target: "README.md", line: 21),
      ])
    #expect(
      document.commandLines.map { $0.words.prefix(3).joined(separator: " ") } == [
        "gqlrun demo", "gqlrun run a.graphql", "jq .", "make test", "gqlrun pipeline check",
        "gqlrun serve [not](a-link.md)", "gqlrun cache dump",
      ])
    #expect(document.commandLines.map(\.line) == [5, 8, 8, 10, 10, 11, 17])
  }

  @Test(
    "a machine path is found",
    arguments: [
      ("see \(machineFolders[0])main", 1), ("\"\(machineFolders[1])usr", 1),
      ("net\(machineFolders[0])", 0), ("/workshop", 0),
    ])
  func findsMachinePaths(text: String, count: Int) {
    #expect(Self.machinePaths(in: text, path: "a").count == count)
  }

  // MARK: The checks

  /// In pieces, so that this file does not contain what it looks for.
  static let machineFolders = ["work", "opt/swift", "root", "home"].map { "/" + $0 + "/" }

  static func machinePaths(in text: String, path: String) -> [String] {
    let folders = machineFolders.filter { text.includes($0) }
    if folders.isEmpty { return [] }
    return text.lines.enumerated().flatMap { index, line in
      folders.filter { folder in
        line.ranges(of: folder).contains { range in
          guard range.lowerBound > line.startIndex else { return true }
          let before = line[line.index(before: range.lowerBound)]
          return !before.isLetter && !before.isNumber && !"._-/*}~)".contains(before)
        }
      }.map { "\(path):\(index + 1): \($0)" }
    }
  }
}
