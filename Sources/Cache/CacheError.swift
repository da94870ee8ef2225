public import GQLRunLanguage
import GQLRunSupport

/// An error of the cache: an operation that cannot be prepared, a response that cannot be stored,
/// or a store that cannot be used.
public struct CacheError: Error, Sendable, CustomStringConvertible {
  /// The kind of error.
  public enum Code: String, Sendable, Hashable {
    /// A key rule is invalid.
    case invalidKeyRule
    /// A pattern for records cannot match any.
    case invalidPattern
    /// An SQL query is invalid, or would write.
    case invalidQuery
    /// The operation or one of its fragments is invalid.
    case invalidOperation
    /// A variable is missing, undeclared, or of the wrong type.
    case invalidVariables
    /// Data written by a program does not match the operation's selection set.
    case invalidData
    /// The response does not follow the GraphQL specification.
    case malformedResponse
    /// The response does not match the schema; only if that is checked.
    case unexpectedShape
    /// The response ends before its JSON text does.
    case truncatedResponse
    /// The response is not JSON, or exceeds a limit.
    case invalidJSON
    /// The database belongs to another program, or to a newer version of this one.
    case foreignDatabase
    /// The keys of the database were computed by another version of a key resolver.
    case otherKeys
    /// The database is damaged.
    case damagedDatabase
    /// Another writer uses the database for longer than the maximum wait.
    case busy
    /// The database is read-only.
    case readOnly
    /// The task was cancelled while it waited for the store.
    case cancelled
    /// The operating system or SQLite reported an error.
    case storage
  }

  /// The kind of error.
  public var code: Code
  /// What was being done, what was found, and what would work.
  public var message: String
  /// The byte offset in the response, if known.
  public var byteOffset: Int?
  /// The response path (`feed.edges[3].node`) or the path of the file, if known.
  public var path: String?
  /// The source location in the GraphQL document, if known.
  public var location: SourceLocation?
  /// The named type of a required variable that was not given; `nil` for other errors.
  package var missingType: String?
  /// The errors that this one consists of, if several were found at the same time; empty for a single one.
  private var parts: [CacheError] = []
  /// The errors that this one consists of, or this one.
  package var single: [CacheError] { parts.isEmpty ? [self] : parts }

  /// Creates an error.
  public init(
    _ code: Code, _ message: String, byteOffset: Int? = nil, path: String? = nil,
    location: SourceLocation? = nil
  ) {
    self.code = code
    self.message = message
    self.byteOffset = byteOffset
    self.path = path
    self.location = location
  }

  /// Creates one error from errors that were found at the same time; `nil` if there are none.
  ///
  /// Its code, path and location are those of the first one. Its message has all messages on one line.
  package init?(all errors: [CacheError]) {
    let parts = errors.flatMap(\.single)
    guard let first = parts.first else { return nil }
    self = first
    guard parts.count > 1 else { return }
    self.parts = parts
    message = parts.map(\.message).joined(separator: "; ")
  }

  /// The message.
  public var description: String { message }

  /// Whether the store failed, so that the request can continue without a cache.
  public var isStoreFailure: Bool {
    switch code {
    case .storage, .busy, .readOnly, .damagedDatabase: true
    default: false
    }
  }
}

extension CacheError {
  /// The error of a task that was cancelled while it waited for its turn to write.
  ///
  /// - Parameter store: The store, as after "the cache".
  static func cancelled(writingTo store: String, path: String?) -> CacheError {
    CacheError(
      .cancelled,
      "cannot write to the cache \(store): the task was cancelled while it waited for the lock",
      path: path)
  }

  static func damagedRecord(_ key: Bytes) -> CacheError {
    CacheError(
      .damagedDatabase, "the record \(String(key.string.prefix(200))) of the cache is damaged")
  }
}

extension AsyncMutex {
  /// Waits until no other task of the process writes to a store.
  ///
  /// - Throws: ``CacheError`` with the code `cancelled` if the task is cancelled.
  func acquire(toWriteTo store: String, path: String? = nil) async throws(CacheError) {
    do throws(CancellationError) { try await acquire() } catch {
      throw .cancelled(writingTo: store, path: path)
    }
  }
}
