import GQLRunPipeline
import Testing

@Suite("Formats of diagnostics")
struct FormatTests {
  private let found = check(
    file(chain: "  - cache-read\n  - fetch: { timeuot: 100% }\n  - parse: { a\u{201C}b: 1 }"),
    file: "a,b:c.yaml")

  @Test("JSON is one array")
  func json() {
    #expect(
      found.rendered(as: .json) == #"""
        [
          {"severity":"warning","code":"P013","message":"no plugin fills the store that `cache-read` reads","file":"a,b:c.yaml","line":6,"column":5,"end_column":15,"hint":"add `- cache-write` below the parser"},
          {"severity":"error","code":"P001","message":"`fetch` has no option `timeuot`","file":"a,b:c.yaml","line":7,"column":14,"end_column":21,"hint":"did you mean `timeout`?","notes":{"options":"timeout, max_body, http2, proxy, ca_file"}},
          {"severity":"error","code":"P001","message":"`parse` has no option `a“b`","file":"a,b:c.yaml","line":8,"column":14,"end_column":17,"notes":{"options":"none"}}
        ]

        """#)
    #expect(check(file(chain: "  - fetch\n  - parse")).rendered(as: .json) == "[]\n")
  }

  @Test("GitHub gets one command per line")
  func github() {
    #expect(
      found.rendered(as: .github) == """
        ::warning file=a%2Cb%3Ac.yaml,line=6,col=5,endColumn=15,title=P013::no plugin fills the store that `cache-read` reads; add `- cache-write` below the parser
        ::error file=a%2Cb%3Ac.yaml,line=7,col=14,endColumn=21,title=P001::`fetch` has no option `timeuot`; did you mean `timeout`?
        ::error file=a%2Cb%3Ac.yaml,line=8,col=14,endColumn=17,title=P001::`parse` has no option `a“b`

        """)
  }

  @Test("people get 200 diagnostics, first errors, and the number of the others")
  func many() {
    let keys = (1...300).map { "\nk\($0): 1" }.joined()
    let found = check(file(chain: "  - cache-read\n  - fetch\n  - parse") + keys)
    let text = found.rendered(as: .human())
    #expect(text.hasSuffix("\n\nand 101 more\n") && text.ranges(of: "error[P001]").count == 200)
    #expect(found.rendered(as: .github).hasSuffix("\nand 101 more\n"))
    #expect(found.rendered(as: .json).split(separator: "\n").count == 303)
  }

  @Test("people get colours when they ask for them")
  func colors() {
    let text = check("chain: [parse]\nversion: 1").rendered(as: .human(colors: true))
    #expect(text.hasPrefix("\u{1B}[1;31merror[P010]\u{1B}[0m"))
    #expect(!check("chain: [parse]\nversion: 1").rendered(as: .human()).contains("\u{1B}"))
  }

  @Test("long lines are cut around the place")
  func longLines() {
    let padding = String(repeating: "x", count: 500)
    let text = check(
      file(chain: "  - fetch: { proxy: \(padding), timeuot: 1, ca_file: \(padding) }\n  - parse")
    )
    .rendered(as: .human())
    let lines = text.split(separator: "\n")
    #expect(lines.count == 6)
    #expect(lines[3].count == 165)
    let caret = lines[4].firstIndex(of: "^")!
    let column = lines[4].distance(from: lines[4].startIndex, to: caret)
    #expect(lines[3].dropFirst(column).hasPrefix("timeuot"))
  }

  @Test("control characters of the file do not reach the terminal")
  func controlCharacters() {
    let text = check("version: 1\u{1B}[31m\nchain: [x]\n").rendered(as: .human())
    #expect(!text.contains("\u{1B}"))
    for mark in ["\u{202E}", "\u{61C}"] {
      let bidirectional = check("\(mark)a: 1\n").rendered(as: .human())
      #expect(!bidirectional.contains(mark))
    }
  }
}
