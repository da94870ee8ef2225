import GQLRunReport
import Testing

@Suite("Reports")
struct ReportTests {
  private var report: Report {
    var report = Report(title: "<T>", heading: "heading", subtitle: "subtitle")
    report.hasPassed = false
    report.sections = [
      Report.Section(
        "stages",
        [
          .chart("<svg></svg>"), .line("bottleneck: <parse>", .warning),
          .table(
            Report.Table(
              [.text(""), "time", .text("why", isOnPagesOnly: true)], maxLines: 1,
              rows: [["parse", "1 ms", "large"], ["sync", "2 ms", "slow"]])),
          .only(.text, .line("as text")), .only(.page, .line("as a page")),
        ]),
      Report.Section("page only", [.figures([("Failed", "2", .bad)]), .list(["a < b"])]),
      Report.Section(
        "baselines", [.table(Report.Table([.text(""), "MB/s"], rows: [["a", "1"]]))]),
    ]
    report.notes = ["a note"]
    return report
  }

  @Test("text has no block of pages, and a section of one table has its title in the table")
  func text() {
    #expect(
      report.text == """
        heading
        subtitle

        stages
          bottleneck: <parse>
                 time
          parse  1 ms
          as text

        baselines  MB/s
          a           1

        note: a note

        """)
  }

  @Test("a page has everything but the blocks of text, escaped")
  func page() {
    let html = report.html
    for part in [
      "<title>&lt;T&gt;</title>", "<span class=\"badge bad\">failed</span>", "<h2>Stages</h2>",
      "<svg></svg>", "<p class=\"warn\">bottleneck: &lt;parse&gt;</p>",
      "<tr><th scope=\"row\" class=\"\">sync</th><td class=\"n\">2 ms</td><td class=\"\">slow</td></tr>",
      "as a page", "<dt>Failed</dt><dd class=\"bad\">2</dd>", "<code>a &lt; b</code>",
      "<p class=\"warn\">a note</p>",
    ] {
      #expect(html.contains(part), "\(part)")
    }
    #expect(!html.contains("as text"))
  }

  @Test("charts without values are none")
  func emptyCharts() {
    #expect(Chart.columns("", [[("a", 0, 0)]], ticks: [], text: { "\($0)" }) == nil)
    #expect(Chart.curves("", [], ticks: [], text: { "\($0)" }) == nil)
    #expect(Chart.bars("", [], text: { "\($0)" }) == nil)
    #expect(Chart.stackedBars("", [], text: { "\($0)" }) == nil)
    #expect(Chart.treemap("", [], text: { "\($0)" }) == nil)
  }
}
