public import GQLRunLanguage

/// Why no Swift can be generated from documents: up to a hundred diagnostics.
public struct GeneratorError: Error, Sendable, Hashable, CustomStringConvertible {
  /// One error in a file.
  public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// The path of the file.
    public var file: String
    /// The source location within the file.
    public var location: SourceLocation
    /// What is wrong, and what would work.
    public var message: String

    /// `file:line:column: message`.
    public var description: String { "\(file):\(location.line):\(location.column): \(message)" }
  }

  /// The diagnostics in the order of the files; never empty.
  public var diagnostics: [Diagnostic]

  /// The diagnostics, one per line.
  public var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}
