import GQLRunSupport
import Testing

@Suite("Tables of text")
struct TextTableTests {
  @Test("columns are as wide as their widest text, and figures are at the right")
  func columns() {
    var table = TextTable()
    table.add("stage", figures: ["time", "share"])
    table.add("parse", figures: ["1.18 ms", "9 %"])
    table.add("store write", figures: ["310 µs", ""])
    #expect(
      table.lines == [
        "stage           time  share", "parse        1.18 ms    9 %", "store write   310 µs",
      ])
  }

  @Test("wide characters take two columns, and combining ones none")
  func wide() {
    var table = TextTable()
    table.add("東京", "x")
    table.add("e\u{301}a", "y")
    #expect(table.text == "東京  x\ne\u{301}a    y\n")
  }

  @Test(
    "a text of ASCII is as wide as its characters",
    arguments: [("", 0), ("stage", 5), ("a\tb", 3), ("a\r\nb", 3), ("a\rb", 3), ("a\nb", 3)])
  func ascii(text: String, width: Int) {
    #expect(text.width == width)
  }

  @Test("a column has a smallest width, which longer texts exceed")
  func minWidths() {
    var table = TextTable(minWidths: [9])
    table.add("state", "ended")
    #expect(table.lines == ["state      ended"])
    table.add("a long state", "2")
    #expect(table.lines == ["state         ended", "a long state  2"])
  }
}
