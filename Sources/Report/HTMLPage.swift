import GQLRunSupport

extension Report {
  /// The report as one self-contained page: no program, no font, no network.
  package var html: String {
    let badge = hasPassed.map { isGood in
      " <span class=\"badge \(isGood ? "ok" : "bad")\">\(isGood ? "passed" : "failed")</span>"
    }
    // A data block is not executed, so that the policy does not apply to it:
    // https://html.spec.whatwg.org/multipage/scripting.html#data-block
    let data = json.map {
      "<script type=\"application/json\" id=\"gqlrun-data\">\(QuotedText.dataBlock($0))</script>\n"
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
      <header>
      <h1>\(HTML.escaped(heading))\(badge ?? "")</h1>
      \(HTML.paragraph(subtitle, .soft))
      \(notes.map { HTML.paragraph($0, .warning) }.joined())
      </header>
      <main>
      \(sections.map(\.html).joined(separator: "\n"))
      </main>
      <footer>\(HTML.escaped(footer))</footer>
      \(data ?? "")</body>
      </html>

      """
  }
}

extension Report.Section {
  /// The section; empty without a block for pages.
  fileprivate var html: String {
    let title = title.prefix(1).uppercased() + title.dropFirst()
    let content = blocks.map { $0.html(title) }.joined(separator: "\n")
    guard !content.isEmpty else { return "" }
    return
      "<section aria-label=\"\(HTML.escaped(title))\">\n<h2>\(HTML.escaped(title))</h2>\n\(content)\n</section>"
  }
}

extension Report.Block {
  /// - Parameter title: The title of the section, which is the name of a table without its own.
  fileprivate func html(_ title: String) -> String {
    switch self {
    case .line(let text, let tone): HTML.paragraph(text, tone)
    case .table(let table): table.html(title)
    case .figures(let figures):
      "<dl class=\"tiles\">"
        + figures.map { name, value, tone in
          "<div class=\"tile\"><dt>\(HTML.escaped(name))</dt>"
            + "<dd class=\"\(tone.rawValue)\">\(HTML.escaped(value))</dd></div>"
        }.joined() + "</dl>"
    case .list(let texts):
      "<ul>" + texts.map { "<li><code>\(HTML.unbroken($0))</code></li>" }.joined() + "</ul>"
    case .chart(let drawing): drawing ?? HTML.paragraph("Nothing to show.", .soft)
    case .only(.page, let block): block.html(title)
    case .only(.text, _): ""
    }
  }
}

extension Report.Table {
  /// The first column, unless it has figures, names the rows. With prose, the rows are cards on narrow pages, whose
  /// elements need roles because they are not shown as a table.
  fileprivate func html(_ title: String) -> String {
    let isCards = columns.contains { $0.kind == .prose }
    func role(_ name: String) -> String { isCards ? " role=\"\(name)\"" : "" }
    let head = columns.map { column in
      column.name.isEmpty
        ? "<td\(role("cell"))></td>"
        : "<th scope=\"col\" class=\"\(column.kind.rawValue)\"\(role("columnheader"))>"
          + "\(HTML.escaped(column.name))</th>"
    }
    let body = rows.map { row in
      let cells = zip(columns, row).enumerated().map { index, cell in
        let (column, text) = cell
        let content =
          column.kind == .code ? "<code>\(HTML.escaped(text))</code>" : HTML.escaped(text)
        let name = isCards ? " data-name=\"\(HTML.escaped(column.name))\"" : ""
        return index == 0 && column.kind != .figure
          ? "<th scope=\"row\" class=\"\(column.kind.rawValue)\"\(role("rowheader"))\(name)>\(content)</th>"
          : "<td class=\"\(column.kind.rawValue)\"\(role("cell"))\(name)>\(content)</td>"
      }
      return "<tr\(role("row"))>" + cells.joined() + "</tr>"
    }
    let caption = caption ?? title
    let table =
      "<table\(isCards ? " class=\"cards\"" : "")\(role("table"))>"
      + "<caption\(self.caption == nil ? " class=\"hidden\"" : "")>\(HTML.escaped(caption))</caption>"
      + "<thead\(role("rowgroup"))><tr\(role("row"))>\(head.joined())</tr></thead>"
      + "<tbody\(role("rowgroup"))>\(body.joined())</tbody></table>"
    return HTML.scrolling(table, "\(caption), as a table")
  }
}

/// Parts of pages.
package enum HTML {
  package static func escaped(_ text: String) -> String { QuotedText.markup(text) }

  static func paragraph(_ text: String, _ tone: Report.Tone) -> String {
    "<p class=\"\(tone.rawValue)\">\(escaped(text))</p>"
  }

  /// A command whose options are not broken after their hyphens.
  fileprivate static func unbroken(_ text: String) -> String {
    text.split(separator: " ", omittingEmptySubsequences: false).map { word in
      let word = escaped(String(word))
      return word.hasPrefix("--") ? "<span>\(word)</span>" : word
    }.joined(separator: " ")
  }

  /// A box that scrolls if the page is too narrow for its content, also with the keyboard.
  ///
  /// - Parameters:
  ///   - label: Its name for screen readers.
  ///   - isTall: Whether the height is limited, too.
  static func scrolling(_ content: String, _ label: String, isTall: Bool = false) -> String {
    "<div class=\"wide\(isTall ? " tall" : "")\" role=\"region\" aria-label=\"\(escaped(label))\" "
      + "tabindex=\"0\">\(content)</div>"
  }

  /// The style sheet.
  ///
  /// Every color of charts is readable on a card, and below text of the color `--onfill`, in both color schemes.
  package static let style = """
    :root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --page: #f6f7f9; --card: #fff;
      --line: #d8dee4; --ok: #1a7f45; --bad: #b93232; --warn: #9a3412; --onfill: #fff;
      --c0: #66727f; --c1: #946400; --c2: #0067a8; --c3: #00785a; --c4: #c04800; --c5: #8c4a2f;
      --c6: #0e7490; --c7: #b0407f; --c8: #587514; --c9: #7352b5; }
    @media screen and (prefers-color-scheme: dark) {
      :root { --ink: #e6edf3; --soft: #9aa3ad; --page: #0d1117; --card: #151b23; --line: #313841;
        --ok: #56c98a; --bad: #ff8080; --warn: #f0964e; --onfill: #0d1117;
        --c0: #9aa7b5; --c1: #f0b429; --c2: #5aa9f0; --c3: #3fc79a; --c4: #f28b50; --c5: #c9977f;
        --c6: #5cc8dc; --c7: #e58fbd; --c8: #a9c55a; --c9: #b39ae6; } }
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 76rem; padding: 2.5rem 1.5rem; background: var(--page);
      color: var(--ink); font: 15px/1.55 system-ui, sans-serif; font-variant-numeric: tabular-nums;
      overflow-wrap: anywhere; }
    h1 { margin: 0; font-size: 1.55rem; font-weight: 650; line-height: 1.3; }
    h2 { margin: 0 0 .9rem; font-size: 1.1rem; font-weight: 600; line-height: 1.4; }
    p { margin: .3rem 0; font-size: .9rem; } p.sub, footer { color: var(--soft); }
    p.warn { color: var(--warn); } footer { font-size: .85rem; }
    section { margin: 1.25rem 0; padding: 1.25rem 1.4rem; background: var(--card);
      border: 1px solid var(--line); border-radius: 10px; }
    section > :last-child { margin-bottom: 0; }
    .badge { display: inline-block; padding: .1rem .7rem; border-radius: 1rem; font-size: .85rem;
      font-weight: 500; line-height: 1.6; color: var(--onfill); vertical-align: .2em; }
    .badge.ok { background: var(--ok); } .badge.bad { background: var(--bad); }
    .tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(7.5rem, 1fr));
      gap: 1rem 1.25rem; margin: 0; }
    .tile dt { color: var(--soft); font-size: .8rem; }
    .tile dd { margin: 0; font-size: 1.45rem; font-weight: 600; line-height: 1.3; }
    dd.ok { color: var(--ok); } dd.bad { color: var(--bad); } dd.warn { color: var(--warn); }
    li span { display: inline-block; max-width: 100%; } ul { margin: .4rem 0; padding-left: 1.2rem; } code { font: .86em/1.5 ui-monospace, monospace; }
    .wide { overflow-x: auto; margin: .75rem 0;
      background: linear-gradient(var(--card), var(--card)) right / 1.5rem 100% no-repeat local,
        linear-gradient(to left, var(--line), transparent) right / .75rem 100% no-repeat; }
    .tall { max-height: 34rem; overflow-y: auto; }
    :focus-visible { outline: 2px solid var(--c2); outline-offset: 3px; border-radius: 2px; }
    .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
      white-space: nowrap; }
    figure { margin: .75rem 0 1.25rem; } .name { margin: 0 0 .6rem; font-size: .85rem; font-weight: 600; }
    figcaption { margin-top: .5rem; color: var(--soft);
      font-size: .8rem; }
    .key { display: inline-block; margin-right: .9rem; } .key i { display: inline-block;
      width: .7rem; height: .7rem; margin-right: .35rem; border-radius: 2px; vertical-align: -.05em;
      print-color-adjust: exact; }
    .plot { display: grid; grid-template-columns: 72px minmax(0, 1fr); }
    svg { display: block; print-color-adjust: exact; }
    svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
    svg text.soft { font-size: 12px; fill: var(--soft); }
    svg text.onfill { font-size: 12px; fill: var(--onfill); pointer-events: none; }
    svg rect { stroke: var(--card); stroke-width: 1; }
    svg .axis { stroke: var(--line); } svg .gap { stroke: var(--card); stroke-width: 3; }
    svg .curve { fill: none; stroke-width: 2; stroke-linejoin: round;
      vector-effect: non-scaling-stroke; }
    svg .medium, svg .large { display: none; }
    @media (min-width: 700px) { svg .medium { display: inline; } }
    @media (min-width: 1150px) { svg .large { display: inline; } }
    table { position: relative; width: 100%; border-collapse: collapse; font-size: .85rem; }
    table:not(.cards):not(:has(.n)) { width: auto; }
    caption { padding: .75rem 0 .25rem; text-align: left; font-weight: 600; }
    th, td { padding: .38rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
      vertical-align: top; font-weight: 400; overflow-wrap: normal; }
    th:first-child, td:first-child { padding-left: 0; }
    th:last-child, td:last-child { padding-right: 0; }
    thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; }
    tbody tr:last-child > * { border-bottom: 0; }
    .n { text-align: right; white-space: nowrap; }
    .cards td:not(.n), .cards tbody th { min-width: 6rem; max-width: 16rem; overflow-wrap: anywhere; }
    .cards td.e { min-width: 16rem; max-width: none; }
    @media screen and (min-width: 700px) { table:not(.cards) tbody th { white-space: nowrap; } }
    @media screen and (max-width: 699px) {
      body { padding: 1.5rem 1rem; } section { padding: 1rem .875rem; }
      .tiles { grid-template-columns: repeat(auto-fill, minmax(6rem, 1fr)); }
      table:not(.cards) tbody th { position: sticky; left: 0; max-width: 42vw; min-width: 8.5rem;
        background: var(--card); overflow-wrap: anywhere; }
      table:not(.cards) td:not(.n) { min-width: 11rem; } .tile dd { font-size: 1.25rem; } }
    @media screen and (max-width: 959px) {
      .cards, .cards tbody, .cards caption { display: block; } .cards thead { position: absolute;
        width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      .cards tbody tr { display: flex; flex-wrap: wrap; gap: .1rem 1rem; padding: .7rem 0;
        border-bottom: 1px solid var(--line); }
      .cards tbody tr > * { min-width: 0 !important; max-width: none !important; padding: 0;
        border: 0; text-align: left; white-space: normal; overflow-wrap: anywhere; }
      .cards tbody > tr > .e, .cards tbody th { flex-basis: 100%; }
      .cards tbody th { font-weight: 600; } .cards tbody > tr > :empty { display: none; }
      .cards td[data-name]::before { content: attr(data-name) " "; color: var(--soft); } }
    @media print {
      :root { color-scheme: light; } body { max-width: none; padding: 0; background: none;
        font-size: 10pt; }
      section { padding: 0; border: 0; } h2, figure, tr, .tile { break-inside: avoid; }
      h2, caption { break-after: avoid; } .badge { print-color-adjust: exact; }
      .wide, .tall { overflow: visible; max-height: none; }
      table { font-size: 7.5pt; } th, td { padding: .2rem .3rem; }
      th:not(.n), td:not(.n) { overflow-wrap: anywhere; } .cards td.e { min-width: 9rem; }
      .n { white-space: normal; } code { overflow-wrap: anywhere; } }
    """
}
