import GQLRunSupport

extension Report {
  /// The report as one self-contained page: no script, no font, no network.
  package var html: String {
    let badge = hasPassed.map { isGood in
      " <span class=\"badge \(isGood ? "ok" : "bad")\">\(isGood ? "passed" : "failed")</span>"
    }
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
      <title>\(HTML.escaped(title))</title>
      <style>\(HTML.style)</style>
      </head>
      <body>
      <h1>\(HTML.escaped(heading))\(badge ?? "")</h1>
      \(HTML.paragraph(subtitle, .soft))
      \(notes.map { HTML.paragraph($0, .warning) }.joined())
      \(sections.map(\.html).joined(separator: "\n"))
      <footer>\(HTML.escaped(footer))</footer>
      </body>
      </html>

      """
  }
}

extension Report.Section {
  /// The section; empty without a block for pages.
  fileprivate var html: String {
    let content = blocks.map(\.html).joined(separator: "\n")
    guard !content.isEmpty else { return "" }
    let title = title.prefix(1).uppercased() + title.dropFirst()
    return "<section>\n<h2>\(HTML.escaped(title))</h2>\n\(content)\n</section>"
  }
}

extension Report.Block {
  fileprivate var html: String {
    switch self {
    case .line(let text, let tone): HTML.paragraph(text, tone)
    case .table(let table): table.html
    case .figures(let figures):
      "<div class=\"tiles\">"
        + figures.map { name, value, tone in
          "<div class=\"tile\"><span>\(HTML.escaped(name))</span>"
            + "<strong class=\"\(tone.rawValue)\">\(HTML.escaped(value))</strong></div>"
        }.joined() + "</div>"
    case .list(let texts):
      "<ul>" + texts.map { "<li><code>\(HTML.escaped($0))</code></li>" }.joined() + "</ul>"
    case .chart(let drawing): drawing.map { HTML.wide($0) } ?? HTML.paragraph("Nothing to show.")
    case .only(.page, let block): block.html
    case .only(.text, _): ""
    }
  }
}

extension Report.Table {
  fileprivate var html: String {
    let head = columns.map { "<th>\(HTML.escaped($0.name))</th>" }
    let body = rows.map { row in
      "<tr>" + zip(columns, row).map { HTML.cell($1, $0.kind) }.joined() + "</tr>"
    }
    return HTML.wide(
      "<table><thead><tr>\(head.joined())</tr></thead><tbody>\(body.joined())</tbody></table>")
  }
}

/// Parts of pages.
enum HTML {
  static func escaped(_ text: String) -> String { QuotedText.markup(text) }

  static func paragraph(_ text: String, _ tone: Report.Tone = .plain) -> String {
    "<p class=\"\(tone.rawValue)\">\(escaped(text))</p>"
  }

  static func cell(_ text: String, _ kind: Report.Table.Column.Kind) -> String {
    kind == .code
      ? "<td><code>\(escaped(text))</code></td>"
      : "<td class=\"\(kind.rawValue)\">\(escaped(text))</td>"
  }

  /// A drawing or table that scrolls horizontally if the page is too narrow for it.
  static func wide(_ content: String) -> String { "<div class=\"wide\">\(content)</div>" }

  /// The style sheet. The colors of charts are distinguishable in both color schemes and with most color vision
  /// deficiencies (Okabe and Ito).
  static let style = """
    :root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --page: #f6f7f9; --card: #fff;
      --line: #d1d9e0; --ok: #1a7f45; --bad: #c23a3a; --warn: #9a3412;
      --c0: #7f8c9b; --c1: #e69f00; --c2: #0072b2; --c3: #009e73; --c4: #d55e00; --c5: #a0522d;
      --c6: #56b4e9; --c7: #cc79a7; --c8: #6b8e23; --c9: #8a6fc1; }
    @media (prefers-color-scheme: dark) {
      :root { --ink: #e6edf3; --soft: #9198a1; --page: #0d1117; --card: #151b23; --line: #3d444d;
        --ok: #56c98a; --bad: #ff7a7a; --warn: #f0883e; } }
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 82rem; padding: 2rem 1.5rem; background: var(--page);
      color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
    h1 { margin: 0; font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 0 0 .75rem; }
    p { margin: .25rem 0; font-size: .9rem; } p.sub, footer { color: var(--soft); }
    p.warn { color: var(--warn); } footer { font-size: .9rem; }
    section, .tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
      padding: 1rem 1.25rem; }
    section { margin: 1.25rem 0; } .wide { overflow-x: auto; margin: .75rem 0; }
    .badge { font-size: .9rem; padding: .2rem .6rem; border-radius: 1rem; color: #fff;
      vertical-align: middle; } .badge.ok { background: #1a7f45; } .badge.bad { background: #c23a3a; }
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: .75rem; }
    .tile span { color: var(--soft); display: block; font-size: .8rem; }
    .tile strong { font-size: 1.4rem; font-variant-numeric: tabular-nums; }
    strong.ok { color: var(--ok); } strong.bad { color: var(--bad); } strong.warn { color: var(--warn); }
    svg { display: block; width: 100%; min-width: 46rem; height: auto; overflow: visible; }
    svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
    svg text.soft { fill: var(--soft); font-size: 12px; }
    svg text.ondark { fill: #fff; } svg text.onlight { fill: #16191d; }
    svg .axis { stroke: var(--line); stroke-width: 1; }
    table { border-collapse: collapse; width: 100%; font-size: .85rem; }
    th, td { text-align: left; padding: .25rem .4rem; border-bottom: 1px solid var(--line);
      vertical-align: top; } th { color: var(--soft); font-weight: 500; vertical-align: bottom; }
    td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
    td.e { overflow-wrap: anywhere; } code { font: 13px ui-monospace, monospace; }
    """
}
