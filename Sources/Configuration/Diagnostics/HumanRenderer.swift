import GQLRunSupport

/// Renders diagnostics like a compiler: message, source location, the source line with an
/// underline, and the hint.
struct HumanRenderer {
  let source: SourceText
  let colors: Bool

  func render(_ diagnostic: PipelineDiagnostic) -> String {
    let location = diagnostic.location
    let number = String(location.line)
    let gutter = String(repeating: " ", count: number.count + 2)
    let tone = diagnostic.severity == .error ? Tone.error : .warning
    var lines = [
      paint("\(diagnostic.severity)[\(diagnostic.code.rawValue)]", tone)
        + paint(": \(Printable.line(diagnostic.message))", .bold),
      "\(gutter.dropLast())\(paint("-->", .frame)) \(Printable.line("\(location)"))",
    ]
    if let excerpt = source.excerpt(at: location) {
      let underline = paint(String(repeating: "^", count: excerpt.length), tone)
      let hint = diagnostic.hint.map { " " + paint(Printable.line($0), tone) } ?? ""
      lines += [
        gutter + paint("|", .frame),
        " \(paint("\(number) |", .frame))\(excerpt.text.isEmpty ? "" : " ")\(excerpt.text)",
        gutter + paint("|", .frame) + " " + String(repeating: " ", count: excerpt.offset)
          + underline + hint,
      ]
    } else if let hint = diagnostic.hint {
      lines.append(gutter + paint("=", .frame) + " " + Printable.line(hint))
    }
    for note in diagnostic.notes {
      lines.append(gutter + paint("=", .frame) + " \(note.label): \(Printable.line(note.text))")
    }
    return lines.map { $0 + "\n" }.joined()
  }

  private enum Tone: String {
    case error = "1;31"
    case warning = "1;33"
    case frame = "1;34"
    case bold = "1"
  }

  private func paint(_ text: String, _ tone: Tone) -> String {
    colors ? "\u{1B}[\(tone.rawValue)m\(text)\u{1B}[0m" : text
  }
}
