import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// A diagnostic about a user's file: an error or a warning.
struct Finding: Hashable {
  enum Severity: String {
    case error, warning
  }

  struct Location: Hashable {
    var file: String
    /// The source location; `nil` if the finding concerns the whole file.
    var location: SourceLocation?

    var description: String {
      location.map { "\(file):\($0.line):\($0.column)" } ?? file
    }
  }

  var severity: Severity
  /// The rule, such as `FieldsOnCorrectTypeRule`.
  var code: String
  var message: String
  var location: Location
  /// Related source locations.
  var related: [Location] = []
}

/// Diagnostics with their source files, and their output formats.
struct FindingReport {
  var findings: [Finding]
  var sources: SourceFiles

  var hasErrors: Bool { findings.contains { $0.severity == .error } }

  /// The counts, such as `2 errors, 1 warning`; empty without findings.
  var summary: String {
    [Finding.Severity.error, .warning].compactMap { severity in
      let count = findings.count { $0.severity == severity }
      return count == 0 ? nil : Quantity.count(count, severity.rawValue)
    }.joined(separator: ", ")
  }

  /// Text for people: the source location, the message, the source line and a caret.
  func human() -> String {
    findings.map { finding in
      let message = (finding.severity == .warning ? "warning: " : "") + finding.message
      var text: String
      if let location = finding.location.location,
        let file = sources.files.first(where: { $0.name == finding.location.file })
      {
        text = Input.located(message, at: location, in: file.bytes, name: file.name)
      } else {
        text = "\(finding.location.description): \(message)"
      }
      for location in finding.related.prefix(5) { text += "\n  see also \(location.description)" }
      if finding.related.count > 5 {
        text += "\n  and \(finding.related.count - 5) more places"
      }
      return text + "\n"
    }.joined()
  }

  /// A JSON array with an object per finding, for editors and scripts.
  func json() -> String {
    findings.map { finding in
      var object: JSONObject = [
        "severity": .string(finding.severity.rawValue), "code": .string(finding.code),
        "message": .string(finding.message),
      ]
      for member in Self.object(finding.location) { object[member.key] = member.value }
      if !finding.related.isEmpty {
        object["related"] = .array(finding.related.map { .object(Self.object($0)) })
      }
      return .object(object)
    }.linePerElement
  }

  /// Annotations of a GitHub workflow.
  func github() -> String {
    findings.map { finding in
      let location = finding.location.location
      return QuotedText.githubCommand(
        finding.severity.rawValue,
        properties: [("file", finding.location.file)]
          + (location.map { [("line", "\($0.line)"), ("col", "\($0.column)")] } ?? [])
          + [("title", finding.code)],
        text: finding.message)
    }.joined()
  }

  /// Writes the findings to standard error in the format for people, otherwise to standard output.
  func write(as format: FindingFormat) throws {
    switch format {
    case .human:
      let text = human()
      if !text.isEmpty { Terminal.note(Terminal.safe(String(text.dropLast()))) }
    case .json: try Terminal.write(json())
    case .github: try Terminal.write(github())
    }
  }

  private static func object(_ location: Finding.Location) -> JSONObject {
    var object: JSONObject = ["file": .string(location.file)]
    if let location = location.location {
      object["line"] = .number(JSONNumber(location.line))
      object["column"] = .number(JSONNumber(location.column))
    }
    return object
  }
}

extension SourceFiles {
  /// The file and location to report to the user.
  func location(_ location: SourceLocation) -> Finding.Location {
    Finding.Location(file: files[index(of: location)].name, location: local(location))
  }
}
