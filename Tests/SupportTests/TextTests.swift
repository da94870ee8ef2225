import GQLRunSupport
import Testing

@Suite("Quoted and printable text")
struct TextTests {
  @Test("quotes end where the text ends, whatever it contains")
  func quotes() {
    #expect(QuotedText.shellWord("it's $HOME") == #"'it'\''s $HOME'"#)
    #expect(QuotedText.sqlIdentifier(#"a"b"#) == #""a""b""#)
    #expect(QuotedText.sqlLiteral("a'b") == "'a''b'")
    #expect(QuotedText.url("a b+;/é~") == "a%20b%2B%3B%2F%C3%A9~")
  }

  @Test("a field of CSV is quoted for readers of CSV, and not changed for spreadsheets")
  func csv() {
    for (text, field) in [
      ("", "\"\""), ("a,b", "\"a,b\""), ("a\r\nb", "\"a\r\nb\""), ("a\"b", "\"a\"\"b\""),
      ("=1+1", "=1+1"), ("@SUM(A1)", "@SUM(A1)"), ("-1", "-1"),
    ] {
      #expect(QuotedText.csvField(text) == Array(field.utf8), "\(text)")
    }
  }

  @Test("a quote that combines with the next scalar is a quote")
  func combining() {
    #expect(utf8(QuotedText.shellWord("'\u{301}")) == utf8(#"''\''"# + "\u{301}'"))
    #expect(utf8(QuotedText.sqlIdentifier("\"\u{301}")) == utf8("\"\"\"\u{301}\""))
    #expect(utf8(QuotedText.sqlLiteral("'\u{301}")) == utf8("''" + "'\u{301}'"))
    #expect(utf8(QuotedText.markup("<\u{301}")) == utf8("&lt;\u{301}"))
    #expect(QuotedText.githubProperty("a:b,c%\r\n") == "a%3Ab%2Cc%25%0D%0A")
    #expect(QuotedText.githubProperty("a\u{1b}[31m\t\u{202e}") == "a\\u{1b}[31m\t\\u{202e}")
  }

  private func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test(
    "a path has quotes only if a shell needs them",
    arguments: [
      ("jobs/nightly_1.batch.yaml", "jobs/nightly_1.batch.yaml"), ("a b", "'a b'"), ("é", "'é'"),
      ("$(x)", "'$(x)'"),
    ])
  func paths(path: String, word: String) { #expect(QuotedText.shellPath(path) == word) }

  @Test("JSON of a page has no character that HTML reads, and the same meaning")
  func dataBlock() {
    #expect(
      QuotedText.dataBlock("[\"</script>&\u{2028}\u{2029}é\"]")
        == #"["\u003c/script\u003e\u0026\u2028\u2029é"]"#)
  }

  @Test("markup has no tags, quotes or characters that XML does not have")
  func markup() {
    let text = "<a href=\"x\">'&\n\t\u{1}\u{FFFF}"
    #expect(
      QuotedText.markup(text)
        == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;\n\t\u{FFFD}\u{FFFD}")
    #expect(QuotedText.markup("\n\t", keepsLineBreaks: false) == "&#10;&#9;")
  }

  @Test(
    "scalars that a terminal obeys or hides are replaced",
    arguments: [
      "\u{1b}", "\u{7f}", "\u{9b}", "\u{200e}", "\u{202e}", "\u{2028}", "\u{2069}", "\u{feff}",
    ])
  func printable(scalar: String) throws {
    #expect(Printable.line("a\(scalar)b") == "a\u{FFFD}b")
    let value = try #require(scalar.unicodeScalars.first).value
    #expect(Printable.lines("a\(scalar)b") == "a\\u{\(String(value, radix: 16))}b")
  }

  @Test("other text stays as it is, in one line or in several")
  func plain() {
    #expect(Printable.line("é\tü") == "é ü")
    #expect(Printable.line("a\nb") == "a\u{FFFD}b")
    #expect(Printable.lines("a\n\tb") == "a\n\tb")
  }

  @Test("a folder is what precedes the last slash")
  func folders() {
    #expect(FilePath.folder(of: "a/b/c") == "a/b")
    #expect(FilePath.folder(of: "/a") == "/")
    #expect(FilePath.folder(of: "a") == ".")
    #expect(FilePath.normalized("/a/./b//../c") == "/a/c")
    for path in ["a/b", "a/b.yaml", "a/b.yml", "a/b.x", "a/b.x.yml", "a/b.x.yaml"] {
      #expect(FilePath.yamlFile(path, kind: "x") == "a/b.x.yaml", "\(path)")
    }
    #expect(FilePath.yamlFile("v1.2", kind: "x") == "v1.2.x.yaml")
  }

  private enum Fault: Error {
    case invalidHeaderToken
    case unknown(host: String)
  }

  private enum DescribedFault: Error, CustomDebugStringConvertible {
    case invalidVersion, oldVersion, unknown

    var debugDescription: String {
      switch self {
      case .invalidVersion: "invalid HTTP version"
      case .oldVersion: "HTTP/1.1 required"
      case .unknown: "unknown (parser error)"
      }
    }
  }

  private struct ExcessiveFrames: Error, CustomStringConvertible {
    var description: String { "Library.ExcessiveFrames(secret: 1)" }
  }

  @Test("errors of libraries are words, without names of types and without values")
  func errors() {
    #expect(ErrorWords.text(Fault.invalidHeaderToken) == "invalid header token")
    #expect(ErrorWords.text(Fault.unknown(host: "a")) == "unknown")
    #expect(ErrorWords.text(DescribedFault.invalidVersion) == "invalid HTTP version")
    #expect(ErrorWords.text(DescribedFault.oldVersion) == "HTTP/1.1 required")
    #expect(ErrorWords.text(DescribedFault.unknown) == "unknown")
    #expect(ErrorWords.text(ExcessiveFrames()) == "excessive frames")
  }

  @Test("durations have a unit that fits")
  func numbers() {
    #expect(Duration.milliseconds(9).shown == "9.0 ms" && Duration.seconds(2.2).shown == "2.2 s")
  }
}
