package import GQLRunJSON
import GQLRunSupport

/// All diagnostics of a file and those it extends, in the order of the files.
public struct PipelineDiagnostics: Error, Sendable {
  /// The errors and warnings.
  public internal(set) var all: [PipelineDiagnostic]
  /// The lines of the files, for excerpts, with literal secrets masked.
  package let sources: [SourceText]

  package init(_ all: [PipelineDiagnostic], sources: [SourceText] = []) {
    self.all = all.enumerated()
      .sorted { ($0.element.location, $0.offset) < ($1.element.location, $1.offset) }
      .map(\.element)
    self.sources = sources
  }

  private func source(of diagnostic: PipelineDiagnostic) -> SourceText {
    sources.first { $0.file == diagnostic.location.file }
      ?? SourceText(file: diagnostic.location.file, lines: [])
  }

  /// The errors only.
  public var errors: [PipelineDiagnostic] { all.filter { $0.severity == .error } }
  /// The warnings only.
  public var warnings: [PipelineDiagnostic] { all.filter { $0.severity == .warning } }

  /// "2 errors, 1 warning"; empty without diagnostics.
  public var summary: String {
    [(errors.count, "error"), (warnings.count, "warning")]
      .filter { $0.0 > 0 }
      .map { Quantity.count($0.0, $0.1) }
      .joined(separator: ", ")
  }
}

extension PipelineDiagnostics: CustomStringConvertible {
  /// The diagnostics for people, without colors.
  public var description: String { rendered(as: .human()) }
}

extension PipelineDiagnostics {
  /// An output format of diagnostics.
  public enum Format: Sendable, Hashable {
    /// Like a compiler, for people; colors are ANSI escapes.
    case human(colors: Bool = false)
    /// One JSON array.
    case json
    /// Annotations of a GitHub workflow.
    case github
  }

  /// The largest number of diagnostics that are shown to people.
  private static let maxShown = 200

  /// The diagnostics in a format, each line with its line end. Empty without diagnostics, except
  /// for JSON.
  ///
  /// JSON has all of them. The other formats have at most 200, first errors, and the number of those that they lack.
  public func rendered(as format: Format) -> String {
    switch format {
    case .human(let colors):
      shown { HumanRenderer(source: source(of: $0), colors: colors).render($0) }
        .joined(separator: "\n")
    case .json: all.map(\.json).linePerElement
    case .github: shown { $0.githubCommand() }.joined()
    }
  }

  private func shown(_ text: (PipelineDiagnostic) -> String) -> [String] {
    guard all.count > Self.maxShown else { return all.map(text) }
    return (errors + warnings).prefix(Self.maxShown).map(text)
      + ["and \(all.count - Self.maxShown) more\n"]
  }
}

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

extension PipelineDiagnostic {
  /// The diagnostic as an object, for editors and scripts.
  package var json: JSONValue {
    var object: JSONObject = [
      "severity": .string(severity.rawValue),
      "code": .string(code.rawValue),
      "message": .string(message),
      "file": .string(location.file),
      "line": .number(JSONNumber(location.line)),
      "column": .number(JSONNumber(location.column)),
      "end_column": .number(JSONNumber(location.column + location.length)),
    ]
    if let hint { object["hint"] = .string(hint) }
    var notes = JSONObject()
    for note in self.notes { notes[note.label] = .string(note.text) }
    if !notes.isEmpty { object["notes"] = .object(notes) }
    return .object(object)
  }
}

extension PipelineDiagnostic {
  /// The diagnostic as a workflow command, which GitHub shows at the source line.
  ///
  /// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
  ///
  /// - Parameter title: A title other than the code.
  public func githubCommand(title: String? = nil) -> String {
    QuotedText.githubCommand(
      severity.rawValue,
      properties: [
        ("file", location.file), ("line", "\(location.line)"), ("col", "\(location.column)"),
        ("endColumn", "\(location.column + location.length)"),
        ("title", title ?? code.rawValue),
      ],
      text: ([message] + [hint].compactMap { $0 }).joined(separator: "; "))
  }
}

extension [PipelineDiagnostic] {
  package mutating func report(
    _ code: PipelineDiagnostic.Code, message: String, location: FileLocation, hint: String? = nil,
    severity: PipelineDiagnostic.Severity = .error
  ) {
    append(PipelineDiagnostic(code, message, severity: severity, at: location, hint: hint))
  }

  /// Reports a wrong value, with what to write instead.
  package mutating func refuse(
    _ message: String, at location: FileLocation, hint: String? = nil
  ) {
    report(.wrongValue, message: message, location: location, hint: hint)
  }

  /// Reports a name that is not one of `names`, with the name that was meant.
  ///
  /// - Parameter noun: What `names` are, in the plural.
  package mutating func reportUnknown(
    _ name: String, among names: [String], _ noun: String, message: String,
    location: FileLocation, severity: PipelineDiagnostic.Severity = .error
  ) {
    append(
      PipelineDiagnostic(
        .unknownName, message, severity: severity, at: location,
        hint: suggestion(for: name, in: names).map { "did you mean `\($0)`?" },
        notes: [.init(noun, names.isEmpty ? "none" : names.joined(separator: ", "))]))
  }
}
