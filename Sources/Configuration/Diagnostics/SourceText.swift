import GQLRunSupport

/// The text of a pipeline file, by lines, for excerpts in diagnostics.
package struct SourceText: Sendable {
  package let file: String
  /// The lines as they are in the file; secrets are masked in excerpts only.
  package let lines: [[Unicode.Scalar]]
  /// Stretches that hold literal secrets and are masked in every excerpt.
  package var secrets: [SourcePlace] = [] {
    didSet { maskSecrets() }
  }
  /// The lines with secrets, masked. Made once: there may be as many diagnostics as secrets.
  private var maskedLines: [Int: [Unicode.Scalar]] = [:]
  /// What messages call files of this kind.
  package var kind = Kind.pipeline

  package enum Kind: Sendable {
    case pipeline, project, variables, manifest

    var name: String {
      switch self {
      case .pipeline: "pipeline file"
      case .project: "project file"
      case .variables: "variables file"
      case .manifest: "batch manifest"
      }
    }

    /// What the first thing in such a file may be.
    var beginning: String {
      switch self {
      case .pipeline: "a pipeline begins with `version: 1`"
      case .project: "write `schema: schema.graphql`"
      case .variables: "write one variable per line, such as `code: DE`"
      case .manifest: "a manifest begins with `version: 1`"
      }
    }
  }

  package init(file: String, lines: [[Unicode.Scalar]]) {
    self.file = file
    self.lines = lines
  }

  /// Lines are counted as libyaml does: LF, CR, CRLF, NEL, LS and PS end one.
  package init(file: String, text: String) {
    self.file = file
    var lines: [[Unicode.Scalar]] = []
    var line: [Unicode.Scalar] = []
    var previous: Unicode.Scalar?
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n" where previous == "\r":
        break
      case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}":
        lines.append(line)
        line = []
      default:
        line.append(scalar)
      }
      previous = scalar
    }
    lines.append(line)
    self.lines = lines
  }

  struct Excerpt {
    var text: String
    /// How many characters stand before the underline.
    var offset: Int
    var length: Int
  }

  /// The line of a place with the place's offset in it, cut to a readable width; `nil` outside the
  /// file.
  func excerpt(at place: SourcePlace) -> Excerpt? {
    guard place.file == file, lines.indices.contains(place.line - 1) else { return nil }
    var line = maskedLines[place.line] ?? lines[place.line - 1]
    var start = min(place.column - 1, line.count)
    let width = 160
    if line.count > width {
      let cut = max(0, min(start - 60, line.count - width))
      line = Array(line[cut..<min(cut + width, line.count)])
      if cut > 0 { line[0] = "…" }
      start -= cut
    }
    let length = max(1, min(place.length, line.count - start))
    func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
      var view = String.UnicodeScalarView()
      view.append(contentsOf: scalars)
      return Printable.line(String(view))
    }
    return Excerpt(
      text: text(line[...]), offset: text(line[..<start]).count,
      length: max(1, text(line[start..<min(start + length, line.count)]).count))
  }

  private mutating func maskSecrets() {
    maskedLines = [:]
    for secret in secrets where lines.indices.contains(secret.line - 1) {
      let line = lines[secret.line - 1]
      let masked = (secret.column - 1..<secret.column - 1 + secret.length).clamped(to: line.indices)
      for index in masked { maskedLines[secret.line, default: line][index] = "•" }
    }
  }
}
