import GQLRunLanguage
import Testing

@testable import gqlrun

@Suite("Validating documents")
struct ValidateTests {
  static let schema = SourceFiles.File(
    name: "s.graphql",
    bytes: Array(
      "type Query { user: User old: Int @deprecated(reason: \"no\") } type User { id: ID name: String }"
        .utf8))

  private func report(
    _ files: [(String, String)], withSchema: Bool = true
  ) throws -> FindingReport {
    let schema = withSchema ? try SchemaFile.load([Self.schema]) : nil
    return DocumentSet(files.map { SourceFiles.File(name: $0.0, bytes: Array($0.1.utf8)) })
      .report(against: schema)
  }

  @Test("documents of an older edition have no newer constructs", arguments: Edition.allCases)
  func editions(edition: Edition) throws {
    let files = [
      ("a.graphql", "query A { user { id } }"), ("b.graphql", "query B { user { } }"),
      ("c.graphql", "\"new\" query C { user { id } }"),
    ].map { SourceFiles.File(name: $0.0, bytes: Array($0.1.utf8)) }
    let report = DocumentSet(files, edition: edition)
      .report(against: try SchemaFile.load([Self.schema], edition: edition))
    let expected =
      (edition < .september2026 ? ["b.graphql:1:18"] : [])
      + (edition < .september2025 ? ["c.graphql:1:1"] : [])
    #expect(report.findings.map(\.location.description) == expected)
    #expect(report.findings.allSatisfy { $0.message.hasSuffix("this is checked as \(edition).") })
  }

  @Test("an error has file, line, column, the source line and a caret")
  func humanErrors() throws {
    let report = try report([("a.graphql", "query A {\n  user { nme }\n}")])
    #expect(report.hasErrors)
    #expect(
      report.human() == """
        a.graphql:2:10: Cannot query field 'nme' on type 'User'. Did you mean 'name'?
            user { nme }
                   ^

        """)
  }

  @Test("a place in the second file is counted from the start of that file, whatever its line ends")
  func placesInLaterFiles() throws {
    for end in ["\n", "\r\n", "\r"] {
      let report = try report([
        ("a.graphql", "query A {\(end)  user { id }\(end)}\(end)"),
        (
          "b.graphql",
          "\u{FEFF}query B {\(end)  user {\(end) é: oops }\(end)}".replacing("é", with: "e")
        ),
      ])
      #expect(report.findings.map(\.location.description) == ["b.graphql:3:2"])
    }
  }

  @Test("fragments are shared by the files, and are in use when any file uses them")
  func sharedFragments() throws {
    let files = [
      ("q.graphql", "query Q { user { ...Name } }"),
      ("f.graphql", "fragment Name on User { name ...Id }"),
      ("g.graphql", "fragment Id on User { id }"),
    ]
    #expect(try report(files).findings == [])
    #expect(try report(files, withSchema: false).findings == [])
    let alone = try report([files[1]])
    #expect(Set(alone.findings.map(\.code)) == ["NoUnusedFragmentsRule", "KnownFragmentNamesRule"])
  }

  @Test("a fragment that no file uses is an error in its own file, once")
  func unusedFragment() throws {
    let report = try report([
      ("q.graphql", "query Q { user { ...Name } }"),
      ("f.graphql", "fragment Name on User { name }"),
      ("g.graphql", "fragment Lost on User { ...Name }"),
    ])
    #expect(report.findings.map(\.message) == ["Fragment 'Lost' is never used."])
    #expect(report.findings.map(\.location.file) == ["g.graphql"])
  }

  @Test("what is wrong with a shared fragment is said once")
  func errorsOfSharedFragments() throws {
    let report = try report([
      ("a.graphql", "query A { user { ...F } }"), ("b.graphql", "query B { user { ...F } }"),
      ("f.graphql", "fragment F on User { nope }"),
    ])
    #expect(report.findings.map(\.location.description) == ["f.graphql:1:22"])
  }

  @Test("two files may have operations of one name, and each an anonymous one")
  func filesAreSeparate() throws {
    let text = "{ user { id } }"
    let report = try report([("a.graphql", text), ("b.graphql", text)])
    #expect(!report.hasErrors)
    #expect(report.findings.map(\.code) == ["NamedOperationsRule", "NamedOperationsRule"])
  }

  @Test("deprecated fields are warnings")
  func deprecation() throws {
    let report = try report([("a.graphql", "query A { old }")])
    #expect(!report.hasErrors)
    #expect(report.summary == "1 warning")
    #expect(report.human().hasPrefix("a.graphql:1:11: warning: "))
  }

  @Test("a file that cannot be parsed is an error at its place, and the others are checked")
  func syntaxErrors() throws {
    let report = try report([
      ("a.graphql", "query A {"), ("b.graphql", "query B { nope }"),
    ])
    #expect(report.findings.map(\.location.file) == ["a.graphql", "b.graphql"])
    #expect(report.findings.map(\.code) == ["SyntaxError", "FieldsOnCorrectTypeRule"])
  }

  @Test("findings are written for scripts and for GitHub")
  func formats() throws {
    let report = try report([("a,b.graphql", "query A { nope }")])
    #expect(
      report.json() == """
        [
          {"severity":"error","code":"FieldsOnCorrectTypeRule","message":"Cannot query field 'nope' on type 'Query'.","file":"a,b.graphql","line":1,"column":11}
        ]

        """)
    #expect(
      report.github()
        == "::error file=a%2Cb.graphql,line=1,col=11,title=FieldsOnCorrectTypeRule::"
        + "Cannot query field 'nope' on type 'Query'.\n")
    #expect(FindingReport(findings: [], sources: SourceFiles([])).json() == "[]\n")
  }
}
