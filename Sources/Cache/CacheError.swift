public import GQLRunLanguage

/// What went wrong in the cache: an operation that cannot be prepared, a response that cannot be
/// stored, a store that cannot be used.
public struct CacheError: Error, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable {
    /// A key rule cannot be read.
    case invalidKeyRule
    /// A pattern that shall name records can name none.
    case invalidPattern
    /// An SQL query cannot be read, or would do more than read.
    case invalidQuery
    /// The operation or one of its fragments cannot be resolved.
    case invalidOperation
    /// A variable is missing, undeclared, or of the wrong shape.
    case invalidVariables
    /// Data written by hand is not what the operation selects.
    case invalidData
    /// The response is not what GraphQL says a response is.
    case malformedResponse
    /// The response is not of the shape that the schema promises; only where that is checked.
    case unexpectedShape
    /// The response ends before its JSON text does.
    case truncatedResponse
    /// The response is not JSON, or exceeds a limit.
    case invalidJSON
    /// The database belongs to something else, or to a newer version of this program.
    case foreignDatabase
    /// The database is damaged.
    case damagedDatabase
    /// The database is in use by another writer for longer than the bounded wait.
    case busy
    /// The database can only be read.
    case readOnly
    /// The task was cancelled while it waited for the store.
    case cancelled
    /// The operating system or SQLite refused.
    case storage
  }

  public var code: Code
  /// What was being done, what was found, and what would work.
  public var message: String
  /// The offset in the response, in bytes, where the error has one.
  public var byteOffset: Int?
  /// The response path (`feed.edges[3].node`) or the file, where the error has one.
  public var place: String?
  /// The place in the GraphQL document, where the error has one.
  public var location: SourceLocation?

  public init(
    _ code: Code, _ message: String, byteOffset: Int? = nil, place: String? = nil,
    location: SourceLocation? = nil
  ) {
    self.code = code
    self.message = message
    self.byteOffset = byteOffset
    self.place = place
    self.location = location
  }

  public var description: String { message }

  /// Whether the store could not do its work: what was asked for may go on without it.
  public var isStoreFailure: Bool {
    switch code {
    case .storage, .busy, .readOnly, .damagedDatabase: true
    default: false
    }
  }
}
