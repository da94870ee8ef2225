/// Why a document is not a valid schema: up to a hundred issues, in source order.
public struct SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
  /// One problem of a schema, with its source locations.
  public struct Issue: Sendable, Hashable, CustomStringConvertible {
    /// The message, as in the reference implementation: `Unknown type 'Foo'. Did you mean 'Food'?`
    public var message: String
    /// The source locations, in the order of the reference implementation; empty if the issue
    /// concerns the whole document.
    public var locations: [SourceLocation]

    /// The first source location.
    public var location: SourceLocation? { locations.first }

    /// Creates an issue with at most one source location.
    public init(message: String, location: SourceLocation?) {
      self.init(message: message, locations: location.map { [$0] } ?? [])
    }

    /// Creates an issue.
    public init(message: String, locations: [SourceLocation]) {
      self.message = message
      self.locations = locations
    }

    /// `line:column: message`; the message alone without a source location.
    public var description: String {
      location.map { "\($0.line):\($0.column): \(message)" } ?? message
    }
  }

  /// The issues; never empty.
  public var issues: [Issue]

  /// Creates an error.
  public init(issues: [Issue]) {
    self.issues = issues
  }

  /// The issues, one per line.
  public var description: String { issues.map(\.description).joined(separator: "\n") }
}

extension [SchemaError.Issue] {
  /// At most a hundred issues in source order, those without a location last.
  func listed() -> [SchemaError.Issue] {
    let sorted = enumerated().sorted {
      let left = $0.element.location?.offset ?? .max
      let right = $1.element.location?.offset ?? .max
      return (left, $0.offset) < (right, $1.offset)
    }
    return sorted.prefix(100).map(\.element)
  }
}
