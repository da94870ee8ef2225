/// Generates parts of HTML pages.
package enum HTML {
  package static func escaped(_ text: String) -> String { QuotedText.markup(text) }

  package static func section(_ title: String, _ content: String) -> String {
    "<section>\n<h2>\(escaped(title))</h2>\n\(content)\n</section>"
  }

  /// A drawing or table that scrolls horizontally if the page is too narrow for it.
  package static func wide(_ content: String) -> String { "<div class=wide>\(content)</div>" }

  package static func table(_ header: [String], _ rows: [[String]]) -> String {
    let head = header.map { "<th>\(escaped($0))</th>" }.joined()
    let body = rows.map { row in
      "<tr>" + row.map { "<td>\(escaped($0))</td>" }.joined() + "</tr>"
    }
    return wide("<table><thead><tr>\(head)</tr></thead><tbody>\(body.joined())</tbody></table>")
  }

  /// A self-contained page: no script, no font, no network.
  ///
  /// - Parameters:
  ///   - title: Its title, as plain text.
  ///   - style: Its style sheet.
  ///   - body: The markup of its body.
  package static func page(title: String, style: String, body: String) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
    <title>\(escaped(title))</title>
    <style>\(style)</style>
    </head>
    <body>
    \(body)
    </body>
    </html>

    """
  }
}
