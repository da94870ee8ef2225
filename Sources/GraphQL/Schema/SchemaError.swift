/// Why a document is not a schema: everything that was found, in source order, at most a hundred.
public struct SchemaError: Error, Sendable, Hashable, CustomStringConvertible {
  public struct Issue: Sendable, Hashable, CustomStringConvertible {
    /// As the reference implementation words it: `Unknown type 'Foo'. Did you mean 'Food'?`
    public var message: String
    /// The places involved, in the order of the reference implementation; none for what is missing
    /// from the document as a whole.
    public var locations: [SourceLocation]

    /// The first of the places.
    public var location: SourceLocation? { locations.first }

    public init(message: String, location: SourceLocation?) {
      self.init(message: message, locations: location.map { [$0] } ?? [])
    }

    public init(message: String, locations: [SourceLocation]) {
      self.message = message
      self.locations = locations
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

extension [SchemaError.Issue] {
  /// In source order, what concerns the whole document last; at most a hundred.
  func listed() -> [SchemaError.Issue] {
    let sorted = enumerated().sorted {
      let left = $0.element.location?.offset ?? .max
      let right = $1.element.location?.offset ?? .max
      return (left, $0.offset) < (right, $1.offset)
    }
    return sorted.prefix(100).map(\.element)
  }
}
