/// Something about a store that its user should know, and that is no error: what was asked for goes on.
public struct StoreNotice: Sendable, Hashable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable {
    /// The database was damaged. It was set aside, and an empty one is in its place.
    case rebuilt
    /// A record does not match its checksum. It counts as missing until it is written again.
    case damagedRecord
    /// The file or its directory can only be read, so that nothing is kept.
    case readOnly
    /// The file existed, and every user of the machine can read it. It keeps its permissions.
    case shared
  }

  public var code: Code
  /// What was found, and what was done about it.
  public var message: String
  /// The file.
  public var place: String

  public init(_ code: Code, _ message: String, place: String) {
    self.code = code
    self.message = message
    self.place = place
  }

  public var description: String { message }
}
