/// A notice about a store for its user. It is not an error: the operation continues.
public struct StoreNotice: Sendable, Hashable, CustomStringConvertible {
  /// The kind of notice.
  public enum Code: String, Sendable, Hashable {
    /// The database was damaged; it was renamed and replaced by an empty one.
    case rebuilt
    /// A record does not match its checksum. It is treated as missing until it is written again.
    case damagedRecord
    /// The file or its directory is read-only, so nothing is stored.
    case readOnly
    /// The file existed, and every user of the machine can read it. It keeps its permissions.
    case shared
  }

  /// The kind of notice.
  public var code: Code
  /// What was found, and how it was handled.
  public var message: String
  /// The path of the file.
  public var path: String

  /// Creates a notice.
  public init(_ code: Code, _ message: String, path: String) {
    self.code = code
    self.message = message
    self.path = path
  }

  /// The message.
  public var description: String { message }
}
