import GQLRunTestSupport
import Testing

/// Comments, messages and documents use standard terms; see docs/glossary.md.
@Suite("Language")
struct LanguageTests {
  /// Words and phrases that have a standard term, with that term.
  static let forbidden: [(phrase: String, remedy: String)] = [
    ("somebody", "name the subject: caller, user, reader"),
    ("someone", "name the subject: caller, user, reader"),
    ("anybody", "name the subject: caller, user, reader"),
    ("nobody", "no caller, no user, no reader"),
    ("whoever", "the caller that"),
    ("told", "receives, is notified, is reported"),
    ("lookers", "watchers"),
    ("complaint", "error, diagnostic"),
    ("errand", "request, task"),
    ("wins over", "overrides"),
    ("win over", "override"),
    ("stands for", "represents, replaces, overrides"),
    ("stand for", "represent, replace, override"),
    ("stands in", "is in"),
    ("stand in", "are in"),
    ("stands beside", "is next to"),
    ("stand beside", "are next to"),
    ("stands at", "is at"),
    ("stands there", "is present"),
    ("stands above", "is above"),
    ("stands below", "is below"),
    ("in the place of", "instead of"),
    ("come of it", "name the result"),
    ("to come of", "name the result"),
    ("left alone", "unchanged"),
    ("leaves alone", "does not change"),
    ("be left alone", "asked for a delay"),
    ("says so", "name the condition"),
    ("say so", "name the condition"),
    ("gone off", "is stale"),
    ("goes on", "continues, is passed on"),
    ("go on", "continue"),
    ("went on", "continued"),
    ("on its way", "in flight"),
    ("on their way", "in flight"),
    ("on the way", "on the path, in between"),
    ("under way", "in flight, running"),
    ("is there already", "already exists"),
    ("held against", "compared with, checked against"),
    ("of no use", "useless, has no effect"),
    ("own words", "in the terms of"),
    ("the other side", "the peer"),
    ("again and again", "repeatedly"),
    ("anew", "again"),
  ]

  @Test("comments and messages of the sources use standard terms")
  func sources() {
    let violations = Repository.sources.flatMap { file in
      Self.violations(in: Self.texts(of: file.source), path: file.path)
    }
    #expect(violations == [])
  }

  @Test("names, comments and messages of the tests use standard terms")
  func tests() {
    // These files contain the phrases.
    let lists = [
      "Tests/HouseTests/LanguageTests.swift", "Tests/gqlrunTests/Manual/HelpTextTests.swift",
    ]
    let files = Repository.files(suffix: ".swift").filter {
      $0.path.hasPrefix("Tests/") && !lists.contains($0.path)
    }
    let violations = files.flatMap { file in
      let source = SwiftSource(file.text)
      return Self.violations(in: Self.texts(of: source), path: file.path)
        + Self.violations(in: Self.names(of: source), path: file.path)
    }
    #expect(files.count > 200)
    #expect(violations == [])
  }

  @Test("documents and pipeline files use standard terms")
  func documents() {
    let scripts = ["Makefile", ".ci/run", ".ci/docs"].compactMap { path in
      Repository.text(path).map { Repository.File(path: path, text: $0) }
    }
    let files = [".md", ".yaml", ".json"].flatMap { Repository.files(suffix: $0) } + scripts
    // The glossary lists the words that its terms replace.
    let violations = files.filter { $0.path != "docs/glossary.md" && !$0.path.hasPrefix("Tests/") }
      .flatMap { file in
        Self.violations(in: file.text.lines.map(Self.withoutCodeSpans), path: file.path)
      }
    #expect(violations == [])
  }

  @Test(
    "a forbidden phrase is found",
    arguments: [
      ("/// Nobody calls this.", 1),
      ("let text = \"the option wins over the file\"", 1),
      ("/// The option wins\n/// over the file.", 1),
      ("let text = \"it goes \"\n  + \"on\"", 1),
      ("let told = 1", 0),
      ("let text = \"\\(told)\"", 0),
      ("/// Renewed, not new: an ewer.", 0),
      ("/// It understands beside others.", 0),
    ])
  func findsPhrases(text: String, count: Int) {
    let texts = Self.texts(of: SwiftSource(text))
    #expect(Self.violations(in: texts, path: "A.swift").count == count)
  }

  @Test("a forbidden phrase in the name of a test is found")
  func findsNames() {
    let source = SwiftSource("@Test func `an error says so`() {}\nlet `default` = told // `nobody`")
    #expect(Self.violations(in: Self.names(of: source), path: "A.swift").count == 1)
  }

  /// The line without the text between backticks, such as the names of tests.
  private static func withoutCodeSpans(_ line: Substring) -> String {
    line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .map { $0.offset.isMultiple(of: 2) ? $0.element : "`" }.joined(separator: " ")
  }

  /// The comments and the contents of string literals, line by line, with blanks in place of code.
  static func texts(of source: SwiftSource) -> [String] {
    zip(source.written, source.code).map { written, code in
      // `code` has a blank for each byte of a text.
      var bytes = Array(written.utf8)
      for (index, byte) in code.utf8.enumerated() where bytes[index] == byte {
        bytes[index] = UInt8(ascii: " ")
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// The names between backticks, line by line: those of tests.
  static func names(of source: SwiftSource) -> [String] {
    source.code.map { line in
      line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        .map { $0.offset.isMultiple(of: 2) ? "." : $0.element }.joined()
    }
  }

  /// The forbidden phrases, as `file:line: message`. A phrase may continue on the next line.
  static func violations(in lines: [String], path: String) -> [String] {
    var words: [(text: String, line: Int)] = []
    for (index, line) in lines.enumerated() {
      for word in line.lowercased().split(whereSeparator: { !$0.isLetter && $0 != "'" }) {
        words.append((String(word), index + 1))
      }
    }
    var violations: [String] = []
    for index in words.indices {
      for rule in rules[words[index].text] ?? [] {
        let end = index + rule.words.count
        guard end <= words.count, words[index..<end].map(\.text) == rule.words else { continue }
        violations.append(
          "\(path):\(words[index].line): \"\(rule.words.joined(separator: " "))\": write "
            + "\(rule.remedy)")
      }
    }
    return violations
  }

  /// The forbidden phrases by their first word.
  private static let rules = Dictionary(
    grouping: forbidden.map { rule in
      (words: rule.phrase.split(separator: " ").map(String.init), remedy: rule.remedy)
    }, by: { $0.words[0] })
}
