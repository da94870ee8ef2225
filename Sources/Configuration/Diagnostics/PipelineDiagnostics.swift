/// All diagnostics of a file and those it extends, in the order of the files.
public struct PipelineDiagnostics: Error, Sendable {
  /// The errors and warnings.
  public internal(set) var all: [PipelineDiagnostic]
  /// The lines of the files, for excerpts, with literal secrets masked.
  package let sources: [SourceText]

  package init(_ all: [PipelineDiagnostic], source: SourceText) {
    self.init(all, sources: [source])
  }

  package init(_ all: [PipelineDiagnostic], sources: [SourceText]) {
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
      .map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }
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

  /// The diagnostics in a format, each line with its line end. Empty without diagnostics, except
  /// for JSON.
  public func rendered(as format: Format) -> String {
    switch format {
    case .human(let colors):
      all.map { HumanRenderer(source: source(of: $0), colors: colors).render($0) }
        .joined(separator: "\n")
    case .json: JSONRenderer().render(all)
    case .github: all.map { GitHubRenderer().render($0) }.joined()
    }
  }
}
