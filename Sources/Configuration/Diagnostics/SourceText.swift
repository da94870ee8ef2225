import GQLRunSupport

/// The lines of a file, for excerpts in diagnostics.
package struct SourceText: Sendable {
  package let file: String
  /// The lines of the file, without masking.
  package let lines: [[Unicode.Scalar]]
  /// The source locations of literal secrets, which every excerpt masks.
  package var secrets: [FileLocation] = [] {
    didSet { maskSecrets() }
  }
  /// The lines with secrets, masked. Computed once: there may be as many diagnostics as secrets.
  private var maskedLines: [Int: [Unicode.Scalar]] = [:]
  /// The number of characters that were masked.
  package private(set) var maskedCharacters = 0
  /// The kind of file, for messages.
  package var kind = Kind.pipeline

  package struct Kind: Sendable {
    let name: String
    /// A hint about the beginning of a file of this kind.
    let beginning: String
    /// What to do with a file that is too large.
    let division: String

    package static let pipeline = Kind(
      name: "pipeline file", beginning: "a pipeline begins with `version: 1`",
      division: "split it into several pipelines")
    package static let project = Kind(
      name: "project file", beginning: "write `schema: schema.graphql`",
      division: "split it into several files")
    package static let variables = Kind(
      name: "variables file", beginning: "write one variable per line, such as `code: DE`",
      division: "write long values as JSON")
    package static let manifest = Kind(
      name: "batch manifest", beginning: "a manifest begins with `version: 1`",
      division: "long manifests are written as JSON lines")
  }

  package init(file: String, lines: [[Unicode.Scalar]]) {
    self.file = file
    self.lines = lines
  }

  /// Creates a text. Lines end with LF, CR or CRLF; ``YAMLGuard`` refuses the other line breaks of libyaml.
  package init(file: String, text: String) {
    self.file = file
    var lines: [[Unicode.Scalar]] = []
    var line: [Unicode.Scalar] = []
    var previous: Unicode.Scalar?
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n" where previous == "\r":
        break
      case "\n", "\r":
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
    /// The number of characters before the underline.
    var offset: Int
    var length: Int
  }

  /// The line of a source location, cut to a readable width, with the offset of the location in it;
  /// `nil` outside the file.
  func excerpt(at location: FileLocation) -> Excerpt? {
    guard location.file == file, lines.indices.contains(location.line - 1) else { return nil }
    var line = maskedLines[location.line] ?? lines[location.line - 1]
    var start = min(location.column - 1, line.count)
    let width = 160
    if line.count > width {
      let cut = max(0, min(start - 60, line.count - width))
      line = Array(line[cut..<min(cut + width, line.count)])
      if cut > 0 { line[0] = "…" }
      start -= cut
    }
    let length = max(1, min(location.length, line.count - start))
    func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
      Printable.line(String(String.UnicodeScalarView(scalars)))
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
      maskedCharacters += masked.count
      for index in masked { maskedLines[secret.line, default: line][index] = "•" }
    }
  }
}
