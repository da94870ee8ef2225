import Testing

@testable import GQLRunReport

@Suite("Charts")
struct ChartsTests {
  private func bars(_ values: [Double]) -> String {
    Chart.bars("rates", values.map { ("stage", $0, 2) }) { "\(Int($0)) MB/s" } ?? ""
  }

  @Test("every chart has a role, a name and a description")
  func names() throws {
    let text: (Double) -> String = { "\(Int($0))" }
    let charts = [
      Chart.bars("<a>", [("b", 1, 0)], text: text),
      Chart.stackedBars("<a>", [("b", [("c", 1, 0)])], text: text),
      Chart.columns("<a>", [[("b", 1, 0)]], ticks: [], text: text),
      Chart.curves("<a>", [("b", 0, [(0, 1), (1, 2)])], ticks: [], text: text),
      Chart.treemap("<a>", [.init("b", size: 1)], text: text),
      Chart.waterfall(
        "<a>", [(name: "b", range: 0...1, kind: (name: "c", color: 0), detail: "d")], ticks: []),
    ]
    for chart in charts {
      let chart = try #require(chart)
      #expect(chart.contains("<svg role=\"img\" aria-label=\"&lt;a&gt;\""), "\(chart)")
      #expect(chart.contains("<title>&lt;a&gt;</title><desc>"), "\(chart)")
    }
  }

  @Test(
    "a bar much longer than most is broken, and the others are comparable",
    arguments: [
      ([100, 50], ["100.000%", "50.000%"], 0),
      ([24_921, 100, 50, 100, 100], ["100.000%", "75.000%", "37.500%", "75.000%", "75.000%"], 1),
      ([0, 0, 7], ["0.000%", "0.000%", "100.000%"], 0),
    ] as [([Double], [String], Int)])
  func broken(values: [Double], widths: [String], gaps: Int) {
    let chart = bars(values)
    let found = chart.matches(of: /<rect [^>]* width="([^"]+)"/).map { String($0.1) }
    #expect(found == widths)
    #expect(chart.split(separator: "class=\"gap\"").count - 1 == gaps)
    #expect(chart.contains("A bar with a gap") == (gaps > 0))
  }

  @Test(
    "text is shown on the pages where it fits",
    arguments: [(200, 1, ""), (200, 0.5, "medium"), (200, 0.25, "large"), (200, 0.1, nil)]
      as [(Double, Double, String?)])
  func fitting(width: Double, share: Double, kind: String?) {
    #expect(SVG.fitting(width, in: share) == kind)
  }

  @Test(
    "a long text loses its middle",
    arguments: [
      ("short", "short"), ("sqlite:/a/very/long/path.db", "sqlite…ath.db"), ("", ""),
    ])
  func shortened(text: String, short: String) {
    #expect(SVG.shortened(text, to: 104) == short)
  }

  @Test("of ticks that would overlap on a narrow page, one is left out there")
  func ticks() {
    let texts = Axes.texts(of: [(0, "0"), (0.06, "50 %"), (0.2, "90 %"), (1, "all")], y: 0)
    let kinds = texts.map { $0.split(separator: "class=\"")[1].prefix { $0 != "\"" } }
    #expect(kinds == ["soft ", "soft large", "soft ", "soft "], "\(texts)")
  }

  @Test("the fields of a type have its color, and those of the only type have their own")
  func treemap() throws {
    func colors(_ parts: [Chart.Part]) throws -> [String] {
      let chart = try #require(Chart.treemap("sizes", parts) { "\($0)" })
      return chart.matches(of: /<rect [^>]*fill="var\(--(c\d)\)"/).map { String($0.1) }
    }
    let fields = [Chart.Part("a", size: 5), Chart.Part("b", size: 5)]
    #expect(
      try colors([.init("A", size: 10, parts: fields), .init("B", size: 9)]) == [
        "c1", "c1", "c1", "c2",
      ])
    #expect(try colors([.init("A", size: 10, parts: fields)]) == ["c1", "c1", "c2"])
  }

  @Test("many spans are in a box that scrolls, and no span is too narrow to be seen")
  func waterfall() throws {
    let span: Chart.Span = (
      name: "likes P_1", range: 0.5...0.5, kind: (name: "failed", color: 4), detail: "<x>"
    )
    let few = try #require(Chart.waterfall("tasks", [span], ticks: []))
    #expect(few.contains("x=\"50.000%\" y=\"30.0\" width=\"0.300%\""), "\(few)")
    #expect(few.contains("likes P_1: &lt;x&gt;") && few.contains("<desc>1 failed</desc>"))
    #expect(!few.contains("tabindex"))
    let many = try #require(
      Chart.waterfall("tasks", Array(repeating: span, count: 31), ticks: []))
    #expect(
      many.contains("class=\"wide tall\" role=\"region\" aria-label=\"tasks\" tabindex=\"0\""))
    #expect(Chart.waterfall("tasks", [], ticks: []) == nil)
  }
}
