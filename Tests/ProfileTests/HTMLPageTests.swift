import Foundation
import GQLRunJSON
import Testing

@testable import GQLRunReport

@Suite("Pages")
struct HTMLPageTests {
  private static let table = Report.Table(
    [Report.Table.Column("Key", .code), "Tasks", Report.Table.Column("Reason", .prose)],
    rows: [["a", "1", "x < y"]])

  private func page(_ blocks: [Report.Block], json: String? = nil) -> String {
    var report = Report(title: "t", heading: "h", subtitle: "s")
    report.sections = [Report.Section("tables", blocks)]
    report.json = json
    return report.html
  }

  @Test("tables have a name, scopes, and a box that scrolls with the keyboard")
  func tables() {
    var own = Self.table
    own.caption = "Own & name"
    let html = page([.table(Self.table), .table(own)])
    for part in [
      "<caption class=\"hidden\">Tables</caption>", "<caption>Own &amp; name</caption>",
      "role=\"region\" aria-label=\"Tables, as a table\" tabindex=\"0\"",
      "<th scope=\"col\" class=\"n\" role=\"columnheader\">Tasks</th>",
      "<th scope=\"row\" class=\"code\" role=\"rowheader\" data-name=\"Key\"><code>a</code></th>",
      "<td class=\"e\" role=\"cell\" data-name=\"Reason\">x &lt; y</td>",
    ] {
      #expect(html.contains(part), "\(part)")
    }
  }

  @Test("only tables with prose become cards, and a column without a name has no header")
  func cards() {
    let html = page([.table(Report.Table([.text(""), "time"], rows: [["parse", "1 ms"]]))])
    #expect(html.contains("<tr><td></td><th scope=\"col\" class=\"n\">time</th></tr>"))
    #expect(!html.contains("class=\"cards\"") && !html.contains("role=\"cell\""))
    #expect(page([.table(Self.table)]).contains("<table class=\"cards\" role=\"table\">"))
  }

  @Test(
    "text in the data of a page cannot end their element",
    arguments: [
      "</script><script>alert(1)</script>", "<!-- <script>", "&lt;", "a\u{2028}b\u{2029}", "]]>",
      "\"\\",
    ])
  func data(text: String) throws {
    let value = JSONValue.object(["text": .string(text)])
    let html = page([], json: value.jsonText())
    let block = try #require(html.split(separator: "id=\"gqlrun-data\">").last)
    let json = block.prefix { $0 != "<" }
    #expect(block.dropFirst(json.count).hasPrefix("</script>\n</body>"))
    for character in ["&", ">", "\u{2028}", "\u{2029}"] { #expect(!json.contains(character)) }
    #expect(try JSONValue(parsing: String(json)) == value)
  }

  @Test("a page without data has no script element")
  func noData() { #expect(!page([]).contains("<script")) }

  @Test("the options of a command are not broken after their hyphens")
  func options() {
    #expect(
      page([.list(["gqlrun run a --only <b>"])])
        .contains("<code>gqlrun run a <span>--only</span> &lt;b&gt;</code>"))
  }

  // MARK: Contrast

  /// The colors of the style sheet by name, of one scheme.
  private static func colors(isDark: Bool) throws -> [String: String] {
    var colors: [String: String] = [:]
    let dark = try #require(HTML.style.range(of: "(prefers-color-scheme: dark)"))
    let end = try #require(HTML.style.range(of: "* {"))
    for part in [HTML.style[..<dark.lowerBound]]
      + (isDark ? [HTML.style[dark.upperBound..<end.lowerBound]] : [])
    {
      for match in part.matches(of: /--(\w+): #([0-9a-f]+)/) {
        colors[String(match.1)] = String(match.2)
      }
    }
    return colors
  }

  /// https://www.w3.org/TR/WCAG22/#dfn-relative-luminance
  private static func luminance(_ color: String) throws -> Double {
    let digits =
      color.count == 3
      ? color.map { "\($0)\($0)" }
      : color.enumerated().compactMap {
        $0.offset % 2 == 0 ? String(color.dropFirst($0.offset).prefix(2)) : nil
      }
    let values = try digits.map { digits in
      let value = Double(try #require(Int(digits, radix: 16))) / 255
      return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }
    try #require(values.count == 3)
    return 0.2126 * values[0] + 0.7152 * values[1] + 0.0722 * values[2]
  }

  @Test(
    "every color of text is readable on its background, in both schemes", arguments: [false, true])
  func contrast(isDark: Bool) throws {
    let colors = try Self.colors(isDark: isDark)
    #expect(colors.count == 19)
    let texts = ["ink", "soft", "ok", "bad", "warn"]
    let fills = (0...9).map { "c\($0)" }
    let pairs =
      texts.flatMap { [($0, "page"), ($0, "card")] }
      + (fills + ["ok", "bad"]).map { ("onfill", $0) } + fills.map { ($0, "card") }
    for (text, background) in pairs {
      let values = try [text, background].map { name in
        try Self.luminance(try #require(colors[name], "\(name)"))
      }
      let (low, high) = (min(values[0], values[1]), max(values[0], values[1]))
      let ratio = (high + 0.05) / (low + 0.05)
      // Text needs 4.5, a drawing needs 3: https://www.w3.org/TR/WCAG22/#contrast-minimum
      #expect(ratio >= 4.5, "\(text) on \(background): \(ratio)")
    }
  }
}
