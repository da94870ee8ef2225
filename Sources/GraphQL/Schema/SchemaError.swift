/// Why a document is not a schema: everything that was found, in source order, at most a hundred.
public struct SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
  public struct Issue: Sendable, Hashable, CustomStringConvertible {
    /// As the reference implementation words it: `Unknown type 'Foo'. Did you mean 'Food'?`
    public var message: String
    /// `nil` for what is missing from the document as a whole.
    public var location: SourceLocation?

    public init(message: String, location: SourceLocation?) {
      self.message = message
      self.location = location
    }

    public var description: String {
      location.map { "\($0.line):\($0.column): \(message)" } ?? message
    }
  }

  /// Never empty.
  public var issues: [Issue]

  public init(issues: [Issue]) {
    self.issues = issues
  }

  public var description: String { issues.map(\.description).joined(separator: "\n") }
}
